// The kernels' buffer (docs/format.md): codes in columns, columns in planes of a byte per kernel, all in one zlib
// stream. Only what it takes to put kernels on other triangles is understood here.

/** Bits of the angles that are written: those that were turned get no coarser. */
const ANGLE_BITS = 14;

/** Kinds of channels that are known here: numbers, and vectors in the frame of a kernel's triangle. */
const KINDS = new Set([undefined, 'plain', 'tangent']);

function columnsOf(object) {
  const { bits } = object.kernels;
  const columns = [
    { name: 'triangle', bits: bits.triangle, planes: Math.ceil(bits.triangle / 8) },
    ...['b0', 'b1'].map((name) => ({ name, bits: bits.barycentric })),
    ...['angle', 'anisotropy', 'threshold', 'sharpness', 'length'].map((name) => ({ name, bits: bits[name] })),
  ];
  for (const group of object.channels)
    for (let c = 0; c < group.count; ++c) columns.push({ name: `${group.name}.${c}`, bits: group.bits });
  return columns.map((column) => ({ planes: column.bits > 8 ? 2 : 1, ...column }));
}

/** Codes by column; throws where this program does not know the format. */
export function unpack(object, bytes, zlib) {
  if (!/^2\.\d+$/.test(object.version)) throw new Error(`version ${object.version} is not known`);
  if (object.evaluator.method !== 'local') throw new Error(`kernels of method ${object.evaluator.method} need the very same mesh`);
  const other = object.channels.find((group) => !KINDS.has(group.kind));
  if (other) throw new Error(`channels of kind ${other.kind} are not known`);
  const count = object.kernels.count;
  const columns = columnsOf(object);
  const planes = zlib.inflate(bytes);
  if (planes.length !== count * columns.reduce((sum, column) => sum + column.planes, 0))
    throw new Error('the columns of the kernels are not known');
  const codes = {};
  let plane = 0;
  for (const column of columns) {
    const out = (codes[column.name] = new Uint32Array(count));
    for (let p = 0; p < column.planes; ++p, ++plane) {
      for (let i = 0; i < count; ++i) {
        const byte = planes[plane * count + i];
        if (column.name === 'triangle') out[i] += byte * 2 ** (8 * p);
        else out[i] = p === 0 ? byte : out[i] * 2 ** (column.bits - 8) + byte;
      }
    }
  }
  for (let i = 1; i < count; ++i) {
    if (codes.triangle[i] === 0) codes.b0[i] += codes.b0[i - 1];
    codes.triangle[i] += codes.triangle[i - 1];
  }
  return codes;
}

/** The bytes of codes that are sorted by triangle and b0; `object` gets the bits. */
function pack(object, codes, zlib) {
  const count = object.kernels.count;
  const stored = { ...codes, triangle: new Uint32Array(count), b0: new Uint32Array(count) };
  let largest = 0;
  for (let i = 0; i < count; ++i) {
    stored.triangle[i] = i === 0 ? codes.triangle[0] : codes.triangle[i] - codes.triangle[i - 1];
    stored.b0[i] = i > 0 && stored.triangle[i] === 0 ? codes.b0[i] - codes.b0[i - 1] : codes.b0[i];
    largest = Math.max(largest, stored.triangle[i]);
  }
  object.kernels.bits.triangle = Math.max(1, 32 - Math.clz32(largest));
  object.kernels.bits.angle = ANGLE_BITS;
  const columns = columnsOf(object);
  const planes = new Uint8Array(count * columns.reduce((sum, column) => sum + column.planes, 0));
  let plane = 0;
  for (const column of columns) {
    for (let p = 0; p < column.planes; ++p, ++plane) {
      for (let i = 0; i < count; ++i) {
        const code = stored[column.name][i];
        let byte = code;
        if (column.name === 'triangle') byte = Math.floor(code / 2 ** (8 * p)) % 256;
        else if (column.planes === 2) byte = p === 0 ? code >>> (column.bits - 8) : code % 2 ** (column.bits - 8);
        planes[plane * count + i] = byte;
      }
    }
  }
  return zlib.deflate(planes);
}

const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];

/** Unit vectors of a triangle's plane: from corner 0 to corner 1, and across towards corner 2. */
function axes(corners, t) {
  const edge = (c) => [0, 1, 2].map((k) => corners[9 * t + 3 * c + k] - corners[9 * t + k]);
  const scaled = (v) => {
    const length = Math.hypot(...v) || 1;
    return v.map((x) => x / length);
  };
  const x = scaled(edge(1)), side = edge(2), along = dot(x, side);
  return [x, scaled(side.map((v, k) => v - along * x[k]))];
}

/**
 * Kernels on other triangles.
 * @param object the extension's object; not changed
 * @param match what matchTriangles() says, `orders` its table of corner orders
 * @param before, after normalised corners of the triangles before and after
 * @returns the new object and the bytes of its kernels
 */
export function moveKernels(object, bytes, match, orders, before, after, zlib) {
  const codes = unpack(object, bytes, zlib);
  const out = structuredClone(object);
  const count = object.kernels.count, whole = 2 ** object.kernels.bits.barycentric - 1;
  const angleStep = Math.PI / 2 ** object.kernels.bits.angle;
  const tangents = object.channels.filter((group) => group.kind === 'tangent');
  const moved = { ...codes, triangle: new Uint32Array(count), b0: new Uint32Array(count), b1: new Uint32Array(count), angle: new Uint32Array(count) };
  for (const group of tangents) for (let c = 0; c < 2; ++c) moved[`${group.name}.${c}`] = codes[`${group.name}.${c}`].slice();
  for (let i = 0; i < count; ++i) {
    const old = codes.triangle[i], to = match.to[old], order = orders[match.order[old]];
    if (to === undefined || to < 0) throw new Error('a triangle with kernels has lost its area');
    const weights = [codes.b0[i], codes.b1[i], whole - codes.b0[i] - codes.b1[i]], turned = [0, 0, 0];
    for (let c = 0; c < 3; ++c) turned[order[c]] = weights[c];
    moved.triangle[i] = to;
    [moved.b0[i], moved.b1[i]] = turned;
    let angle = codes.angle[i] * angleStep;
    if (match.order[old] !== 0) {
      const [x, y] = axes(before, old), [u, v] = axes(after, to);
      const axis = x.map((value, k) => Math.cos(angle) * value + Math.sin(angle) * y[k]);
      angle = Math.atan2(dot(axis, v), dot(axis, u));
      for (const group of tangents) {
        // Residuals are c / M - 1.
        const most = 2 ** (group.bits - 1) - 1, names = [`${group.name}.0`, `${group.name}.1`];
        const [p, q] = names.map((name) => codes[name][i] / most - 1);
        const vector = x.map((value, k) => p * value + q * y[k]);
        const inside = Math.min(1, 1 / (Math.hypot(p, q) || 1));
        [dot(vector, u), dot(vector, v)].forEach((value, c) => {
          moved[names[c]][i] = Math.min(2 * most, Math.max(0, Math.round((value * inside + 1) * most)));
        });
      }
    }
    const steps = 2 ** ANGLE_BITS;
    moved.angle[i] = ((Math.round((angle / Math.PI) * steps) % steps) + steps) % steps;
  }
  const sorted = Array.from({ length: count }, (_, i) => i).sort(
    (i, j) => moved.triangle[i] - moved.triangle[j] || moved.b0[i] - moved.b0[j] || i - j);
  for (const name of Object.keys(moved)) moved[name] = Uint32Array.from(sorted, (i) => moved[name][i]);
  return { object: out, bytes: pack(out, moved, zlib) };
}

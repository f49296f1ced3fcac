#!/usr/bin/env node
// Values of a heatskin product in one file, written from docs/format.md; no dependencies, for browsers and Node 18 or later.
//
//   node read_product.js model_fit.glb points.csv [VARIANT] > values.csv
//
// points.csv has a line face,b0,b1,b2 for each point (a header line is allowed), as for `heatskin query`. Vectors have three
// columns, x, y and z in the axes of the scene; `normal` is the shading normal on the outside of the surface, `clearcoat_normal`
// that of the clearcoat, `anisotropy` a direction in the plane of shading. In programs, with
// `const {Product} = require('./read_product.js')`, or `const {Product} = heatskin` after <script src="read_product.js"> or import:
//
//   const product = await Product.open(await (await fetch('model_fit.glb')).arrayBuffer());
//   // or, for a material variant: Product.open(..., 'midnight')
//   product.evaluate(7, [0.2, 0.3, 0.5]);     // {base_color: [r, g, b], ..., coverage}
//   product.faceTable(64);                    // flat arrays for a fragment shader, see there
//
// Only files with charts are read (`fit` writes them unless told otherwise), with uncompressed geometry.

const NAME = 'HSK_kernel_texture';
const VARIANTS = 'KHR_materials_variants';
const NONE = 0xffffffff;
const KEPT = 30;  // kernels that contribute to a point

/** The file is not what the specification describes, or needs what this reader does not have. */
class FormatError extends Error {}

/** Triangles of a scene that this reader takes: instances make many of few bytes. */
const MOST_TRIANGLES = 1 << 22;

function require_(condition, message) {
  if (!condition) throw new FormatError(message);
}

// ------------------------------------------------------------------------------------------------------------- glTF

const COMPONENTS = {
  5120: [1, (v, o) => v.getInt8(o), 127], 5121: [1, (v, o) => v.getUint8(o), 255],
  5122: [2, (v, o) => v.getInt16(o, true), 32767], 5123: [2, (v, o) => v.getUint16(o, true), 65535],
  5125: [4, (v, o) => v.getUint32(o, true), 4294967295], 5126: [4, (v, o) => v.getFloat32(o, true), 1],
};
const WIDTHS = {SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4};

function multiply(a, b) {  // 4 x 4, column by column
  const out = new Float64Array(16);
  for (let c = 0; c < 4; ++c)
    for (let r = 0; r < 4; ++r)
      for (let k = 0; k < 4; ++k) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

function localMatrix(node) {
  if (node.matrix) return Float64Array.from(node.matrix);
  let [x, y, z, w] = node.rotation || [0, 0, 0, 1];
  const length = Math.sqrt(x * x + y * y + z * z + w * w);
  if (length > 0) { x /= length; y /= length; z /= length; w /= length; } else { x = y = z = 0; w = 1; }
  const [sx, sy, sz] = node.scale || [1, 1, 1], [tx, ty, tz] = node.translation || [0, 0, 0];
  return Float64Array.of(
      sx * (1 - 2 * (y * y + z * z)), sx * 2 * (x * y + w * z), sx * 2 * (x * z - w * y), 0,
      sy * 2 * (x * y - w * z), sy * (1 - 2 * (x * x + z * z)), sy * 2 * (y * z + w * x), 0,
      sz * 2 * (x * z + w * y), sz * 2 * (y * z - w * x), sz * (1 - 2 * (x * x + y * y)), 0,
      tx, ty, tz, 1);
}

/** As much of glTF 2.0 as geometry needs. */
class Gltf {
  constructor(buffer) {
    const view = new DataView(buffer.byteLength >= 20 ? buffer : new ArrayBuffer(20));
    require_(view.getUint32(0, true) === 0x46546c67, 'is not a GLB file');
    const length = view.getUint32(12, true);
    require_(view.getUint32(16, true) === 0x4e4f534a && 20 + length <= buffer.byteLength, 'has no JSON');
    this.root = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 20, length)));
    this.binary = new Uint8Array(0);
    const rest = 20 + length;
    if (rest + 8 <= buffer.byteLength) {
      const size = view.getUint32(rest, true);
      require_(view.getUint32(rest + 4, true) === 0x004e4942 && rest + 8 + size <= buffer.byteLength,
               'has a broken binary chunk');
      this.binary = new Uint8Array(buffer, rest + 8, size);
    }
  }

  view(index) {
    const view = this.root.bufferViews[index];
    require_((view.buffer || 0) === 0 && !this.root.buffers[0].uri, 'has buffers outside of the file');
    require_(!(view.extensions && view.extensions.EXT_meshopt_compression), 'has compressed geometry');
    const start = view.byteOffset || 0;
    require_(start >= 0 && view.byteLength >= 0 && start + view.byteLength <= this.binary.length, 'a buffer view leaves the file');
    return this.binary.subarray(start, start + view.byteLength);
  }

  /** count * width numbers; integers that are normalised become numbers in [-1, 1]. */
  accessor(index) {
    const accessor = this.root.accessors[index];
    require_(!accessor.sparse && accessor.bufferView !== undefined, 'has sparse accessors');
    const [size, get, most] = COMPONENTS[accessor.componentType], width = WIDTHS[accessor.type];
    const bytes = this.view(accessor.bufferView), data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const stride = this.root.bufferViews[accessor.bufferView].byteStride || size * width;
    const end = (accessor.byteOffset || 0) + (accessor.count - 1) * stride + size * width;
    require_(accessor.count > 0 && stride > 0 && end <= bytes.length, 'an accessor leaves its buffer view');
    const out = new Float64Array(accessor.count * width);
    for (let i = 0; i < accessor.count; ++i)
      for (let c = 0; c < width; ++c) {
        const value = get(data, (accessor.byteOffset || 0) + i * stride + c * size);
        out[i * width + c] = accessor.normalized ? Math.max(value / most, -1) : value;
      }
    return out;
  }

  /** Vertices of a primitive's triangles, three for each; nothing for points and lines. */
  triangles(primitive) {
    require_(!(primitive.extensions && primitive.extensions.KHR_draco_mesh_compression), 'has compressed geometry');
    const mode = primitive.mode === undefined ? 4 : primitive.mode;
    if (mode < 4 || mode > 6) return null;
    const v = primitive.indices !== undefined ?
        this.accessor(primitive.indices) :
        Float64Array.from({length: this.accessor(primitive.attributes.POSITION).length / 3}, (_, i) => i);
    if (mode === 4) return v.subarray(0, v.length - v.length % 3);
    const out = [];
    for (let i = 0; i + 2 < v.length; ++i) {
      // In strips every other one is turned. They jump by repeating vertices; these triangles do not count.
      const [a, b, c] = mode === 5 ? [v[i], v[i + 1 + i % 2], v[i + 2 - i % 2]] : [v[i + 1], v[i + 2], v[0]];
      if (a !== b && b !== c && c !== a) out.push(a, b, c);
    }
    return out;
  }

  /** Positions and normals of a primitive's vertices, three numbers each, and its triangles; nothing for points and lines. */
  geometry(primitive) {
    const triangles = this.triangles(primitive), {POSITION, NORMAL} = primitive.attributes;
    if (!triangles) return null;
    return {triangles, positions: this.accessor(POSITION), normals: NORMAL === undefined ? null : this.accessor(NORMAL)};
  }

  /** The global transforms under which a node shows its mesh: its own, or one for each instance. */
  placements(node, world) {
    const {EXT_mesh_gpu_instancing: instancing} = node.extensions || {};
    if (!instancing) return [world];
    const {TRANSLATION: t, ROTATION: r, SCALE: s} = instancing.attributes;
    const [translation, rotation, scale] = [t, r, s].map(index => index === undefined ? null : this.accessor(index));
    const count = Math.max(translation ? translation.length / 3 : 0, rotation ? rotation.length / 4 : 0,
                           scale ? scale.length / 3 : 0);
    const part = (values, i, n) => values ? values.subarray(n * i, n * i + n) : undefined;
    return Array.from({length: count}, (_, i) => multiply(world, localMatrix({
      translation: part(translation, i, 3), rotation: part(rotation, i, 4), scale: part(scale, i, 3)})));
  }

  /** The primitive's material in a variant (a number, or undefined for the default); -1: none. */
  material(primitive, variant) {
    const mappings = ((primitive.extensions || {})[VARIANTS] || {}).mappings || [];
    const mapping = mappings.find(m => variant !== undefined && m.variants.includes(variant));
    const material = mapping ? mapping.material : primitive.material;
    return material === undefined ? -1 : material;
  }

  /**
   * Of all triangles in the scene: positions of their corners (9 numbers each), their materials, normals of their corners
   * (9 numbers, 0 where the file has none) and whether their nodes mirror. `parts` says what they come from: node, number of
   * the placement and of the primitive, the first triangle. `variant` is the number of a material variant.
   */
  corners(variant) {
    const positions = [], materials = [], normals = [], mirrored = [], parts = [], nodes = this.root.nodes || [];
    const add = (primitive, m) => {
      const {triangles, positions: p, normals: n} = this.geometry(primitive) || {triangles: []};
      require_(materials.length + triangles.length / 3 <= MOST_TRIANGLES, `has more than ${MOST_TRIANGLES} triangles`);
      require_(triangles.every(v => 3 * v + 2 < p.length), 'a triangle has a vertex that does not exist');
      const [x, y, z] = [0, 4, 8].map(c => [m[c], m[c + 1], m[c + 2]]), mirrors = dot(x, cross(y, z)) < 0;
      const cofactors = [cross(y, z), cross(z, x), cross(x, y)];  // the inverse transpose up to a factor
      for (const v of triangles) {
        for (let r = 0; r < 3; ++r)
          positions.push(m[r] * p[3 * v] + m[4 + r] * p[3 * v + 1] + m[8 + r] * p[3 * v + 2] + m[12 + r]);
        const normal = n ? [0, 1, 2].map(r => cofactors[0][r] * n[3 * v] + cofactors[1][r] * n[3 * v + 1] +
                                              cofactors[2][r] * n[3 * v + 2]) : [0, 0, 0];
        normals.push(...unit(mirrors ? times(-1, normal) : normal));
      }
      for (let t = 0; t < triangles.length / 3; ++t) {
        materials.push(this.material(primitive, variant));
        mirrored.push(mirrors);
      }
    };
    const visited = new Set();
    const visit = (index, parent) => {
      require_(nodes[index] && !visited.has(index), 'nodes do not form trees');
      visited.add(index);
      const node = nodes[index], world = multiply(parent, localMatrix(node));
      if (node.mesh !== undefined) {
        this.placements(node, world).forEach((matrix, placement) => {
          this.root.meshes[node.mesh].primitives.forEach((primitive, number) => {
            parts.push({node: index, placement, primitive: number, first: materials.length});
            add(primitive, matrix);
          });
        });
      }
      for (const child of node.children || []) visit(child, world);
    };
    const scenes = this.root.scenes || [];
    const roots = scenes.length > 0 ? scenes[this.root.scene || 0].nodes || [] : nodes.keys();
    const identity = Float64Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    for (const root of roots) visit(root, identity);
    require_(positions.length > 0, 'has no triangles');
    require_(positions.every(Number.isFinite), 'a position is not a number');
    return {corners: Float64Array.from(positions), materials, normals: Float64Array.from(normals), mirrored, parts};
  }
}

/** The `size` bytes of a zlib stream that is all of `bytes`; `more` bytes of it are justified by other parts of the file. */
async function inflate(bytes, size, what, more = 0) {
  require_(Math.floor(size / 64) < bytes.length + more, `the ${what}' buffer is too small`);
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate')).getReader();
  const data = new Uint8Array(size), wrong = `the ${what}' buffer is no zlib stream of ${size} bytes`;
  let at = 0;
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      throw new FormatError(wrong);
    }
    if (part.done) break;
    if (at + part.value.length > size) await reader.cancel().catch(() => {});
    require_(at + part.value.length <= size, wrong);
    data.set(part.value, at);
    at += part.value.length;
  }
  // Not every platform notices bytes after the stream: its check sum must be the last four.
  let a = 1, b = 0;
  for (const byte of data) b = (b + (a = (a + byte) % 65521)) % 65521;
  const last = bytes.length - 4;
  require_(at === size && last >= 2 && bytes[last] * 256 + bytes[last + 1] === b && bytes[last + 2] * 256 + bytes[last + 3] === a, wrong);
  return data;
}

// -------------------------------------------------------------------------------------------- the extension's object

function check(parent, name, low, high, whole = true) {
  const value = parent[name];
  require_(typeof value === 'number' && value >= low && value <= high && (!whole || Number.isInteger(value)),
           `${name} is not a number from ${low} to ${high}`);
}

function checkEnds(parent, name, low, high) {
  require_(Array.isArray(parent[name]) && parent[name].length === 2, `${name} is not two numbers`);
  for (const i of [0, 1]) check(parent[name], i, low, high, false);
  require_(parent[name][0] < parent[name][1], `${name} does not increase`);
}

function checkMeans(group, {count}) {
  require_(Array.isArray(group.mean) && group.mean.length === count, 'mean does not fit its group');
  group.mean.forEach((_, i) => check(group.mean, i, 0, 1, false));
}

/** What the rest relies on. Specification: "The extension's object". */
function checkExtension(extension) {
  const {kernels, evaluator: options, channels, variants = [], charts, proxyCharts} = extension;
  check(extension, 'triangles', 1, 2 ** 32 - 2);
  check(kernels, 'count', 1, 52428800);
  for (const name of ['triangle', 'barycentric', 'angle', 'anisotropy', 'threshold', 'sharpness', 'length'])
    check(kernels.bits, name, 1, name === 'triangle' ? 32 : 16);
  checkEnds(kernels, 'anisotropy', 1, 200);
  checkEnds(kernels, 'threshold', 0.3, 1 - 2 ** -24);
  checkEnds(kernels, 'sharpness', 10, 200);
  checkEnds(kernels, 'length', 2 ** -10, 16);
  check(options, 'diffusionTime', 1e-6, 1e3, false);
  check(options, 'windowSigma', 0, 10, false);
  check(options, 'maxRadius', 1e-4, 10, false);
  check(options, 'supportTail', 1e-4, 0.5, false);
  check(options, 'candidates', 1, 256);
  require_(['perQuery', 'perFace', 'byReach'].includes(options.candidateRule), 'candidateRule is none');
  for (const name of ['isotropic', 'euclidean', 'joinCorners'])
    require_(typeof options[name] === 'boolean', `${name} is not a boolean`);
  for (const group of channels) {
    check(group, 'count', 1, 32);
    check(group, 'bits', 2, 16);
    checkEnds(group, 'range', -1e6, 1e6);
    checkMeans(group, group);
    require_(!isTangent(group) || group.count === 2, 'a vector does not have two channels');
  }
  require_(channels[0].name === 'base_color' && channels[0].count === 3 && channels.reduce((sum, g) => sum + g.count, 0) <= 32,
           'channels do not begin with base_color, or are too many');
  for (const variant of variants)
    for (const group of variant.channels) {
      const described = channels.find(({name}) => name === group.name);
      require_(described, 'a variant has a group that does not exist');
      checkMeans(group, described);
    }
  const trees = ['steps', 'orders', 'neighbours'], proxy = ['vertices', 'faces', 'faceNeighbours', 'listed'];
  for (const name of charts ? trees : []) check(charts, name, 0, 2 ** 32 - 1);
  for (const name of proxyCharts ? [...trees, ...proxy] : []) check(proxyCharts, name, 0, 2 ** 32 - 1);
  require_(!charts || !proxyCharts, 'has charts and proxyCharts');
}

// ----------------------------------------------------------------------------------------------- the kernels' buffer

/** The codes of a column of n bits, from planes that `plane` gives one after the other. */
function readCodes(plane, n) {
  const upper = plane(), lower = n > 8 ? plane() : null;
  require_(upper.every(byte => byte < 2 ** Math.min(n, 8)) && (!lower || lower.every(byte => byte < 2 ** (n - 8))),
           'a code has too many bits');
  return Float64Array.from(upper, (byte, i) => lower ? byte * 2 ** (n - 8) + lower[i] : byte);
}

/** Puts the codes of a variant in the place of those of the kernels. Specification: "Variants". */
async function readValues(groups, codes, variant, view) {
  const listed = variant.channels.map(group => group.name), count = codes[0].length;
  const all = groups.flatMap(group => Array(group.count).fill(group));
  const channels = all.map((_, c) => c).filter(c => listed.includes(all[c].name));
  const planes = channels.reduce((sum, c) => sum + (all[c].bits > 8 ? 2 : 1), 0);
  const data = await inflate(view, count * planes, 'variants');
  let at = 0;
  const plane = () => data.subarray(at, at += count), read = {};
  for (const c of channels) read[c] = readCodes(plane, all[c].bits);
  for (const c of channels) {
    const predicted = c === 0 || c === 2;
    for (let i = 0; i < count; ++i) {
      const code = read[c][i] + (predicted ? read[1][i] : 0) + (variant.differences ? codes[c][i] : 0);
      codes[c][i] = code % 2 ** all[c].bits;
    }
  }
}

async function readKernels(extension, view, variant, variantView) {
  const about = extension.kernels, bits = about.bits, count = about.count;
  const channels = extension.channels.flatMap(group => Array(group.count).fill(group.bits));
  const columns = [bits.barycentric, bits.barycentric, bits.angle, bits.anisotropy, bits.threshold, bits.sharpness,
                   bits.length, ...channels];
  const trianglePlanes = (bits.triangle + 7) >> 3;
  const planes = trianglePlanes + columns.reduce((sum, n) => sum + (n > 8 ? 2 : 1), 0);
  const data = await inflate(view, count * planes, 'kernels');
  let at = 0;
  const plane = () => data.subarray(at, at += count);
  const difference = new Float64Array(count);
  for (let p = 0; p < trianglePlanes; ++p) plane().forEach((byte, i) => { difference[i] += byte * 256 ** p; });
  const codes = columns.map(n => readCodes(plane, n));
  const values = codes.slice(7);
  for (const c of [0, 2]) values[c].forEach((code, i) => { values[c][i] = (code + values[1][i]) % 2 ** channels[c]; });
  if (variant) await readValues(extension.channels, values, variant, variantView);
  channels.forEach((n, c) => require_(values[c].every(code => code < 2 ** n - 1), 'a residual has a code that is not used'));
  const kernels = [], most = 2 ** bits.barycentric - 1;
  const geometric = ([low, high], code, n) => low * (high / low) ** (code / (2 ** n - 1));
  for (let i = 0; i < count; ++i) {
    const k = {triangle: (i > 0 ? kernels[i - 1].triangle : 0) + difference[i]};
    if (i > 0 && difference[i] === 0) codes[0][i] += codes[0][i - 1];
    const b0 = codes[0][i], b1 = codes[1][i];
    require_(b0 + b1 <= most, 'barycentric coordinates are out of range');
    k.barycentric = [b0 / most, b1 / most, (most - b0 - b1) / most];
    k.angle = Math.PI * codes[2][i] / 2 ** bits.angle;
    k.anisotropy = geometric(about.anisotropy, codes[3][i], bits.anisotropy);
    const [e0, e1] = about.threshold;
    k.threshold = 1 - (1 - e0) * ((1 - e1) / (1 - e0)) ** (codes[4][i] / (2 ** bits.threshold - 1));
    k.sharpness = geometric(about.sharpness, codes[5][i], bits.sharpness);
    k.length = geometric(about.length, codes[6][i], bits.length);
    k.residual = channels.map((n, c) => values[c][i] / (2 ** (n - 1) - 1) - 1);
    kernels.push(k);
  }
  return kernels;
}

// -------------------------------------------------------------------------------------------------------- neighbours

const nextHalfEdge = h => h % 3 === 2 ? h - 2 : h + 1;

/** Triangles side by side: `corners` are normalised, `neighbour` has the half-edge behind each half-edge or NONE. */
class Triangles {
  /** `vertex`: of each corner; `partOf`: whether a triangle takes part; `changes`: pairs of half-edges. */
  findNeighbours(vertex, partOf, changes) {
    const edges = new Map();
    for (let h = 0; h < vertex.length; ++h) {
      if (!partOf(Math.floor(h / 3))) continue;
      const a = vertex[h], b = vertex[nextHalfEdge(h)], key = a < b ? `${a},${b}` : `${b},${a}`;
      if (edges.has(key)) edges.get(key).push(h);
      else edges.set(key, [h]);
    }
    const neighbour = this.neighbour = new Uint32Array(vertex.length).fill(NONE);
    for (const group of edges.values()) {
      if (group.length !== 2) continue;
      neighbour[group[0]] = group[1];
      neighbour[group[1]] = group[0];
    }
    for (let i = 0; i < changes.length; i += 2) {
      require_(changes[i] < neighbour.length && (changes[i + 1] === NONE || changes[i + 1] < neighbour.length),
               'neighbours are not edges of the file');
      neighbour[changes[i]] = changes[i + 1];
    }
    require_(neighbour.every((g, h) => g === NONE || neighbour[g] === h), 'neighbours are not mutual');
  }

  /** Triangles in their planes, and where the third corner lies beside each half-edge, in edge lengths. */
  findShapes() {
    this.flat = new Float64Array(6 * this.count);
    this.along = new Float64Array(3 * this.count);
    this.beside = new Float64Array(3 * this.count);
    this.sliver = new Array(this.count);
    for (let t = 0; t < this.count; ++t) {
      const x = [0, 1, 2].map(c => this.corner(t, c));
      for (let e = 0; e < 3; ++e) {
        const edge = minus(x[(e + 1) % 3], x[e]), to = minus(x[(e + 2) % 3], x[e]), squared = dot(edge, edge) || 1;
        this.along[3 * t + e] = dot(edge, to) / squared;
        this.beside[3 * t + e] = norm(cross(edge, to)) / squared;
      }
      const e = minus(x[1], x[0]), f = minus(x[2], x[0]), length = norm(e);
      this.flat.set([0, 0, length, 0, this.along[3 * t] * length, this.beside[3 * t] * length], 6 * t);
      this.sliver[t] = norm(cross(e, f)) <= 1e-5 * (dot(e, e) + dot(f, f));
    }
  }

  corner(t, c) { return this.corners.subarray(9 * t + 3 * c, 9 * t + 3 * c + 3); }

  /** Corners at which neighbours meet are one vertex. */
  findVertices() {
    const parent = Uint32Array.from({length: 3 * this.count}, (_, i) => i);
    const find = x => {
      while (parent[x] !== x) x = parent[x] = parent[parent[x]];
      return x;
    };
    const position = h => this.corners.subarray(3 * h, 3 * h + 3);
    this.same = new Uint8Array(3 * this.count);  // whether neighbours run along their edge in the same direction
    for (let h = 0; h < this.neighbour.length; ++h) {
      const g = this.neighbour[h];
      if (g === NONE) continue;
      const near = minus(position(h), position(g)), far = minus(position(nextHalfEdge(h)), position(g));
      this.same[h] = dot(near, near) < dot(far, far) ? 1 : 0;
      parent[find(this.same[h] ? h : nextHalfEdge(h))] = find(g);
      parent[find(this.same[h] ? nextHalfEdge(h) : h)] = find(nextHalfEdge(g));
    }
    this.vertex = parent.map((_, i) => find(i));
  }

  /** The first and second axis of a triangle in space. */
  axes(t) {
    const x = unit(minus(this.corner(t, 1), this.corner(t, 0))), to = minus(this.corner(t, 2), this.corner(t, 0));
    return [x, unit(minus(to, times(dot(to, x), x)))];
  }

  /**
   * Cosine and sine of the turn that takes vectors from a kernel's plane to that of a triangle with the given corners there,
   * and -1 if the second number is then to be negated. Specification: "Tangent groups".
   */
  turn(t, c, own) {
    const [, , length, , x, y] = this.flat.subarray(6 * t, 6 * t + 6);
    const ex = (c[2] - c[0]) / length, ey = (c[3] - c[1]) / length;
    const fx = (c[4] - c[0] - x * ex) / y, fy = (c[5] - c[1] - x * ey) / y;
    // A triangle that is wound against the kernel's is laid out mirrored.
    const area = (own[2] - own[0]) * (own[5] - own[1]) - (own[3] - own[1]) * (own[4] - own[0]), mirror = area < 0 ? -1 : 1;
    return [...nearestTurn(ex + mirror * fy, ey - mirror * fx), mirror];
  }
}

/** The triangles of a scene. Specification: "Neighbours". */
class Mesh extends Triangles {
  constructor(corners, changes) {
    super();
    this.count = corners.length / 9;
    const welded = this.weld(corners), proper = this.findProper(corners, welded);
    this.findRepeated(welded, proper);
    const partOf = t => proper[t] && this.repeats[t] === t;
    this.part = partOf;
    this.findNeighbours(welded, partOf, changes);
    // Scene units to normalised ones.
    let any = false;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let t = 0; t < this.count; ++t) {
      if (!partOf(t)) continue;
      any = true;
      for (let i = 0; i < 9; ++i) {
        low[i % 3] = Math.min(low[i % 3], corners[9 * t + i]);
        high[i % 3] = Math.max(high[i % 3], corners[9 * t + i]);
      }
    }
    require_(any, 'no triangle has area');
    this.scale = 2 / Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
    this.corners = corners.map(x => x * this.scale);
    this.origin = low.map((x, i) => 0.5 * (x + high[i]) * this.scale);
    this.findShapes();
    this.findVertices();
  }

  weld(corners) {
    const numbers = new Map(), key = new Float32Array(3), out = new Uint32Array(3 * this.count);
    for (let i = 0; i < out.length; ++i) {
      for (let c = 0; c < 3; ++c) key[c] = corners[3 * i + c] + 0;
      const text = `${key[0]},${key[1]},${key[2]}`;  // 0 and -0 are written alike
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      out[i] = numbers.get(text);
    }
    return out;
  }

  findProper(corners, welded) {
    const out = new Array(this.count);
    for (let t = 0; t < this.count; ++t) {
      const [a, b, c] = [0, 1, 2].map(i => corners.subarray(9 * t + 3 * i, 9 * t + 3 * i + 3));
      const [u, v, w] = welded.subarray(3 * t, 3 * t + 3);
      const ab = minus(b, a), ac = minus(c, a), bc = minus(c, b);
      const longest = Math.max(dot(ab, ab), dot(ac, ac), dot(bc, bc));
      out[t] = u !== v && v !== w && w !== u && norm(cross(ab, ac)) >= 1e-9 * longest;
    }
    return out;
  }

  /**
   * `repeats`: for each triangle the earlier one with the same corners in the same cyclic order, or itself. `turns`: which of
   * its corners is corner 0 of that one.
   */
  findRepeated(welded, proper) {
    const seen = new Map(), first = t => {
      const v = welded.subarray(3 * t, 3 * t + 3);
      return v.indexOf(Math.min(...v));
    };
    this.repeats = Uint32Array.from({length: this.count}, (_, t) => t);
    this.turns = new Uint8Array(this.count);
    for (let t = 0; t < this.count; ++t) {
      if (!proper[t]) continue;
      const v = welded.subarray(3 * t, 3 * t + 3), f = first(t);
      const key = `${v[f]},${v[(f + 1) % 3]},${v[(f + 2) % 3]}`;
      if (!seen.has(key)) seen.set(key, t);
      this.repeats[t] = seen.get(key);
      this.turns[t] = (f - first(this.repeats[t]) + 3) % 3;
    }
  }

  /**
   * 1 where the outside of a triangle is the side from which its corners are counter-clockwise, else -1. Specification:
   * "Normals".
   */
  findOutside(mirrored) {
    const side = new Int8Array(this.count), front = t => mirrored[t] ? -1 : 1;
    const area = t => norm(cross(minus(this.corner(t, 1), this.corner(t, 0)), minus(this.corner(t, 2), this.corner(t, 0))));
    for (let seed = 0; seed < this.count; ++seed) {
      if (!this.part(seed) || side[seed] !== 0) continue;
      side[seed] = front(seed);
      const component = [seed];
      let agreeing = 0;
      for (let i = 0; i < component.length; ++i) {
        const t = component[i];
        agreeing += side[t] === front(t) ? area(t) : -area(t);
        for (let h = 3 * t; h < 3 * t + 3; ++h) {
          const g = this.neighbour[h], other = Math.floor(g / 3);
          if (g === NONE || side[other] !== 0) continue;
          side[other] = this.same[h] ? -side[t] : side[t];
          component.push(other);
        }
      }
      if (agreeing < 0)
        for (const t of component) side[t] = -side[t];
    }
    return side.map((x, t) => x || front(t));
  }
}

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const times = (x, a) => [x * a[0], x * a[1], x * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.sqrt(dot(a, a));
const unit = a => times(1 / (norm(a) || 1), a);

/** Cosine and sine of the rotation nearest to the map (a b; c d), from a + d and c - b. */
function nearestTurn(cosine, sine) {
  const size = Math.hypot(cosine, sine);
  return size > 1e-6 ? [cosine / size, sine / size] : [1, 0];
}

// ------------------------------------------------------------------------------------------------------- the proxy

/** Squared distances below this are less than that of a place by 1e-6, clearly more than rounding. */
const clearlyNearer = ({squared}) => squared - 2e-6 * Math.sqrt(squared);

/** A simplified copy of the surface. Specification: "Charts on a proxy". */
class ProxyMesh extends Triangles {
  /** `data`: what follows the trees. */
  constructor(about, data, mesh, kernels) {
    super();
    let at = 0;
    const bytes = size => data.subarray(at, at += size);
    const column = count => {
      const planes = bytes(4 * count);
      return Float64Array.from({length: count}, (_, i) => planes[i] + 256 * planes[count + i] +
          65536 * planes[2 * count + i] + 16777216 * planes[3 * count + i]);
    };
    const differences = (count, end) => {
      let last = 0;
      return column(count).map(code => {
        last += code % 2 === 1 ? -(code + 1) / 2 : code / 2;
        require_(last >= 0 && last < end, 'the proxy names something that does not exist');
        return last;
      });
    };
    this.count = about.faces;
    const vertices = differences(about.vertices, 3 * mesh.count);
    let met = 0;
    this.vertices = column(3 * this.count).map(code => {
      require_(code <= met && (code > 0 || met < vertices.length), 'a face of the proxy has a corner that does not exist');
      return code === 0 ? met++ : met - code;
    });
    this.corners = new Float64Array(9 * this.count);
    this.vertices.forEach((v, i) => this.corners.set(mesh.corners.subarray(3 * vertices[v], 3 * vertices[v] + 3), 3 * i));
    const pairs = bytes(8 * about.faceNeighbours), words = new DataView(pairs.buffer, pairs.byteOffset, pairs.length);
    const changes = Array.from({length: 2 * about.faceNeighbours}, (_, i) => words.getUint32(4 * i, true));
    this.findNeighbours(this.vertices, () => true, changes);
    const counts = bytes(mesh.count);
    /** Faces that serve triangle t are listed[begin[t]] .. listed[begin[t + 1] - 1]. */
    this.begin = new Uint32Array(mesh.count + 1);
    require_(counts.every(count => count >> 1 <= 13), 'a list of faces of the proxy is too long');
    counts.forEach((count, t) => { this.begin[t + 1] = this.begin[t] + (count >> 1); });
    /** -1 where the surface has the corners of a triangle in the other direction. */
    this.orientation = Int8Array.from(counts, count => count & 1 ? -1 : 1);
    this.listed = differences(about.listed, this.count);
    require_(this.begin[mesh.count] === about.listed, 'lists of faces of the proxy do not end');
    this.kernelFaces = differences(kernels, this.count);
    this.findShapes();
    this.findVertices();
    this.frames = Array.from({length: this.count}, (_, t) => {
      const [x, y] = this.axes(t);
      require_(this.beside[3 * t] > 0, 'a face of the proxy has no area');
      return {x, y, normal: cross(x, y)};
    });
    this.around = Array.from({length: vertices.length}, () => []);
    this.vertices.forEach((v, i) => this.around[v].push(Math.floor(i / 3)));
    this.rings = new Map();
  }

  /** Faces that share a vertex with a face, increasing. */
  ring(face) {
    if (!this.rings.has(face)) {
      const all = [0, 1, 2].flatMap(c => this.around[this.vertices[3 * face + c]]).filter(other => other !== face);
      this.rings.set(face, [...new Set(all)].sort((a, b) => a - b));
    }
    return this.rings.get(face);
  }

  /** The point of a face that is nearest to q: its barycentric coordinates, and whether it is the foot of the perpendicular. */
  nearest(face, q) {
    const c = [0, 1, 2].map(i => this.corner(face, i)), {normal} = this.frames[face];
    const height = dot(minus(q, c[0]), normal), foot = minus(q, times(height, normal));
    const areas = [0, 1, 2].map(i => dot(cross(minus(c[(i + 2) % 3], c[(i + 1) % 3]), minus(foot, c[(i + 1) % 3])), normal));
    const sum = areas[0] + areas[1] + areas[2];
    if (areas.every(a => a >= 0)) return {face, squared: height * height, b: areas.map(a => a / sum), inside: true};
    let best = null, least = Infinity;
    for (let e = 0; e < 3; ++e) {
      if (areas[(e + 2) % 3] >= 0) continue;
      const n = (e + 1) % 3, side = minus(c[n], c[e]), away = minus(foot, c[e]);
      const along = Math.min(Math.max(dot(side, away) / dot(side, side), 0), 1), rest = minus(away, times(along, side));
      if (dot(rest, rest) >= least) continue;
      least = dot(rest, rest);
      best = [0, 0, 0];
      best[e] = 1 - along;
      best[n] = along;
    }
    return {face, squared: height * height + least, b: best || areas.map(a => a / sum), inside: false};
  }

  /** The face and the barycentric coordinates on it that stand for the point q of a triangle; or null. */
  place(triangle, q) {
    let best = null;
    for (let i = this.begin[triangle]; i < this.begin[triangle + 1]; ++i) {
      const other = this.nearest(this.listed[i], q);
      if (!best || other.squared < clearlyNearer(best)) best = other;
    }
    if (!best) return null;
    const {normal} = this.frames[best.face];
    for (let start = -1; start !== best.face && !best.inside && best.squared > 1e-12;) {
      start = best.face;
      for (const face of this.ring(start)) {
        if (dot(this.frames[face].normal, normal) < -0.25) continue;
        const other = this.nearest(face, q);
        if (other.squared < clearlyNearer(best)) best = other;
      }
    }
    return best;
  }

  /** Puts a kernel, whose triangle has the axes x and y, on a face: centre, axis, and vectors of its residuals. */
  put(k, face, x, y, vectors) {
    const to = this.frames[face], side = this.orientation[k.triangle], normal = times(side, cross(x, y));
    k.face = face;
    const {b} = this.nearest(face, k.space), flat = this.flat.subarray(6 * face, 6 * face + 6);
    k.center = [0, 1].map(i => b[0] * flat[i] + b[1] * flat[2 + i] + b[2] * flat[4 + i]);
    // An orthogonal projection; between planes at right angles, the smallest rotation.
    const cosine = dot(normal, to.normal), c = cross(normal, to.normal);
    const moved = v => {
      if (Math.abs(cosine) <= 1e-3) {
        const turned = cross(c, v);
        v = plus(plus(v, turned), times(1 / (1 + cosine), cross(c, turned)));
      }
      return [dot(v, to.x), dot(v, to.y)];
    };
    const axis = moved(plus(times(Math.cos(k.angle), x), times(Math.sin(k.angle), y))), length = Math.hypot(...axis) || 1;
    k.axis = axis.map(v => v / length);
    const first = moved(x), second = moved(y).map(v => side * v);
    const [turn, sine] = nearestTurn(first[0] + second[1], first[1] - second[0]);
    for (const i of vectors) {
      const p = k.residual[i], q = side * k.residual[i + 1];
      k.residual[i] = turn * p - sine * q;
      k.residual[i + 1] = sine * p + turn * q;
    }
  }

  /** A vector of the plane of a face as it appears in that of a triangle with the axes x and y. */
  turned(face, triangle, x, y, [p, q]) {
    const from = this.frames[face], side = this.orientation[triangle];
    const [cosine, sine] = nearestTurn(dot(x, from.x) + side * dot(y, from.y), side * dot(y, from.x) - dot(x, from.y));
    return [cosine * p - sine * q, side * (sine * p + cosine * q)];
  }
}

// ------------------------------------------------------------------------------------------------------------ charts

/** Reads the trees. Specification: "Charts". */
class Charts {
  static async open(about, view, corners, kernels) {
    const trees = about.steps + 4 * (about.orders + 2 * about.neighbours), triangles = corners.length / 9;
    const proxied = about.faces !== undefined;
    const words4 = about.vertices + 3 * about.faces + 2 * about.faceNeighbours + about.listed + kernels;
    const data = await inflate(view, trees + (proxied ? 4 * words4 + triangles : 0), 'charts', proxied ? triangles : 0);
    const words = new DataView(data.buffer, data.byteOffset + about.steps);
    const word = i => words.getUint32(4 * i, true);
    const changes = Array.from({length: 2 * about.neighbours}, (_, i) => word(about.orders + i));
    const charts = new Charts();
    charts.steps = data.subarray(0, about.steps);
    charts.orderWords = Array.from({length: about.orders}, (_, i) => word(i));
    charts.file = new Mesh(corners, changes);
    charts.proxy = proxied ? new ProxyMesh(about, data.subarray(trees), charts.file, kernels) : null;
    charts.mesh = charts.proxy || charts.file;
    return charts;
  }

  /** The triangles (or faces of the proxy) a kernel reaches and their corners in its plane, six numbers each. */
  walk(root, state) {
    const {mesh, steps} = this, faces = [], places = [], start = state.at;
    const pending = [[root, 0, Array.from(mesh.flat.subarray(6 * root, 6 * root + 6))]];
    for (let first = true; pending.length > 0; first = false) {
      require_(state.at < steps.length, 'the steps of a kernel do not end');
      const byte = steps[state.at++], [face, through, c] = pending.pop();
      require_(state.at - start <= 2 * mesh.count, 'a kernel has more steps than the triangles can need');
      require_(byte < 8 && (first || byte !== 4), 'a step is none');
      if (first || byte < 4) {
        faces.push(face);
        places.push(c);
      }
      for (let bit = first ? 2 : 1; bit >= 0; --bit) {
        if (!(byte >> bit & 1)) continue;
        const e = first ? bit : (through + 1 + bit) % 3, h = 3 * face + e, other = mesh.neighbour[h];
        require_(other !== NONE, 'a step crosses an edge without a neighbour');
        const a = 2 * e, b = 2 * ((e + 1) % 3), apex = 2 * ((e + 2) % 3), [p, q] = mesh.same[h] ? [a, b] : [b, a];
        const dx = c[q] - c[p], dy = c[q + 1] - c[p + 1];
        const left = dx * (c[apex + 1] - c[p + 1]) - dy * (c[apex] - c[p]) > 0;  // where the present triangle is
        const along = mesh.along[other], beside = left ? -mesh.beside[other] : mesh.beside[other];
        const f = other % 3, there = new Array(6);
        there[2 * f] = c[p];
        there[2 * f + 1] = c[p + 1];
        there[2 * ((f + 1) % 3)] = c[q];
        there[2 * ((f + 1) % 3) + 1] = c[q + 1];
        there[2 * ((f + 2) % 3)] = c[p] + along * dx - beside * dy;
        there[2 * ((f + 2) % 3) + 1] = c[p + 1] + along * dy + beside * dx;
        pending.push([(other - f) / 3, f, there]);
      }
    }
    require_(new Set(faces).size === faces.length, 'a kernel counts a triangle twice');
    return {faces, places};
  }

  /** For each kernel its triangles, corners as unfolded (`own`) and joined (`places`). */
  unfold(kernels, centers, joined) {
    const state = {at: 0}, reached = kernels.map(k => this.walk(k.face, state));
    require_(state.at === this.steps.length, 'steps are left over');
    const orders = this.readOrders(reached);
    reached.forEach((support, k) => {
      support.own = support.places;
      if (!joined || support.faces.length < 2) return;
      let order = orders.get(k);
      if (!order) {
        const [x, y] = centers[k];
        const distance = support.own.map(
            c => ((c[0] + c[2] + c[4]) / 3 - x) ** 2 + ((c[1] + c[3] + c[5]) / 3 - y) ** 2);
        distance[0] = -1;
        order = distance.map((_, i) => i).sort((i, j) => distance[i] - distance[j] || i - j);
      }
      support.places = this.joinCorners(support, centers[k], order);
    });
    return reached;
  }

  readOrders(reached) {
    const orders = new Map(), words = this.orderWords;
    for (let at = 0; at < words.length;) {
      const k = words[at++];
      require_(k < reached.length, 'an order belongs to no kernel');
      const count = reached[k].faces.length, order = words.slice(at, at += count);
      require_(order.length === count && order.slice().sort((a, b) => a - b).every((x, i) => x === i),
               'an order is no permutation');
      orders.set(k, order);
    }
    return orders;
  }

  /** Specification: "Joined corners". */
  joinCorners({faces, own}, [cx, cy], order) {
    const places = own.map(c => c.slice()), atVertex = new Map();
    for (const i of order)
      for (let c = 0; c < 3; ++c) {
        const v = this.mesh.vertex[3 * faces[i] + c];
        if (atVertex.has(v)) atVertex.get(v).push([i, 2 * c]);
        else atVertex.set(v, [[i, 2 * c]]);
      }
    for (let left of atVertex.values()) {
      while (left.length > 0) {
        const [i0, c0] = left[0], x = own[i0][c0], y = own[i0][c0 + 1], limit = (x - cx) ** 2 + (y - cy) ** 2;
        const near = [], rest = [];
        let sumX = 0, sumY = 0;
        left.forEach(([i, c], n) => {
          const px = own[i][c], py = own[i][c + 1];
          if (n > 0 && !((px - x) ** 2 + (py - y) ** 2 <= limit)) return rest.push([i, c]);
          near.push([i, c]);
          sumX += px;
          sumY += py;
        });
        for (const [i, c] of near) {
          if (this.mesh.sliver[faces[i]]) continue;
          places[i][c] = sumX / near.length;
          places[i][c + 1] = sumY / near.length;
        }
        left = rest;
      }
    }
    return places;
  }
}

// ------------------------------------------------------------------------------------------------------- the texture

const logistic = z => 1 / (1 + Math.exp(-z));

// Specification: "Channels". Where a material has the factor of a channel, and what it is if it has none.
const FACTORS = {
  metallic: ['pbrMetallicRoughness.metallicFactor', 1],
  roughness: ['pbrMetallicRoughness.roughnessFactor', 1],
  occlusion: ['', 1],
  emissive: ['emissiveFactor', [0, 0, 0]],
  clearcoat: ['extensions.KHR_materials_clearcoat.clearcoatFactor', 0],
  clearcoat_roughness: ['extensions.KHR_materials_clearcoat.clearcoatRoughnessFactor', 0],
  sheen_color: ['extensions.KHR_materials_sheen.sheenColorFactor', [0, 0, 0]],
  sheen_roughness: ['extensions.KHR_materials_sheen.sheenRoughnessFactor', 0],
  transmission: ['extensions.KHR_materials_transmission.transmissionFactor', 0],
  thickness: ['extensions.KHR_materials_volume.thicknessFactor', 0],
  specular: ['extensions.KHR_materials_specular.specularFactor', 1],
  specular_color: ['extensions.KHR_materials_specular.specularColorFactor', [1, 1, 1]],
  iridescence: ['extensions.KHR_materials_iridescence.iridescenceFactor', 0],
  iridescence_thickness: ['extensions.KHR_materials_iridescence.iridescenceThicknessMaximum', 400],
  diffuse_transmission: ['extensions.KHR_materials_diffuse_transmission.diffuseTransmissionFactor', 0],
  diffuse_transmission_color:
      ['extensions.KHR_materials_diffuse_transmission.diffuseTransmissionColorFactor', [1, 1, 1]],
};

const clampUnit = x => Math.min(Math.max(x, 0), 1);
const srgb = x => clampUnit(x) <= 0.0031308 ? 12.92 * clampUnit(x) : 1.055 * clampUnit(x) ** (1 / 2.4) - 0.055;

/** A channel's values for a material without texture. */
function factorOf(material, name) {
  const find = (path, standard) =>
      (path ? path.split('.').reduce((value, key) => (value || {})[key], material) : undefined) ?? standard;
  const base = find('pbrMetallicRoughness.baseColorFactor', [1, 1, 1, 1]);
  if (name === 'base_color') return base.slice(0, 3).map(srgb);
  if (name === 'alpha') return [(material.alphaMode || 'OPAQUE') === 'OPAQUE' ? 1 : clampUnit(base[3])];
  if (SHADED.includes(name)) return [0, 0, 0];
  require_(FACTORS[name], `materials say nothing about ${name}`);
  const values = [find(...FACTORS[name])].flat();
  if (name === 'emissive')
    return values.map(x => x * find('extensions.KHR_materials_emissive_strength.emissiveStrength', 1));
  return name === 'sheen_color' || name === 'diffuse_transmission_color' ? values.map(srgb) : values;
}

const isTangent = group => group.kind === 'tangent';
/** Vectors that are turned with the shading normal. Specification: "Normals", "Anisotropy". */
const SHADED = ['normal', 'object_normal', 'clearcoat_normal', 'anisotropy'];
const isShaded = ({name}) => SHADED.includes(name);

/** What comes of damaged files in the middle of reading is an error of the file. */
async function refusing(read) {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)) throw error;
    throw new FormatError(`is damaged: ${error.message}`, {cause: error});
  }
}

/** The document with a level of detail in the place of its scene. Specification: "Levels of detail". */
function levelOf(root, level) {
  const levels = ((root.extensions || {})[NAME] || {}).levels || [];
  require_(level <= levels.length, `has no level of detail ${level}; the last one is ${levels.length}`);
  const {node, extension} = levels[level - 1];
  require_(extension.levels === undefined, 'a level has levels');
  return {...root, scene: 0, scenes: [{nodes: [node]}], extensions: {...root.extensions, [NAME]: extension}};
}

/** A texture. `groups` lists its channels by name; evaluate() gives their values. */
class Product {
  /** From the bytes of a GLB; with the values of a material variant if its name is given, of a level of detail if its number is. */
  static async open(buffer, variant, level = 0) { return refusing(() => Product.read(new Gltf(buffer), variant, level)); }

  /** From anything with what Gltf has: root, view() (a promise is allowed) and corners(). Throws FormatError. */
  static async from(gltf, variant, level = 0) { return refusing(() => Product.read(gltf, variant, level)); }

  static async read(gltf, variant, level) {
    if (level > 0) gltf.root = levelOf(gltf.root, level);
    const extension = (gltf.root.extensions || {})[NAME];
    require_(extension, `has no ${NAME}`);
    require_(/^2\.\d+$/.test(extension.version), `version ${extension.version} is not supported`);
    const about = extension.charts || extension.proxyCharts;
    require_(extension.evaluator.method === 'local' && about, 'has no charts');
    checkExtension(extension);
    const names = (((gltf.root.extensions || {})[VARIANTS] || {}).variants || []).map(v => v.name);
    require_(variant === undefined || names.includes(variant),
             `has no material variant ${variant}; it has ${names.join(', ') || 'none'}`);
    const number = variant === undefined ? undefined : names.indexOf(variant);
    const product = new Product(), {corners, materials, normals, mirrored, parts} = gltf.corners(number);
    require_(corners.length === 9 * extension.triangles, 'the geometry was edited');
    const values = (extension.variants || []).find(v => v.names.includes(variant));
    const meanOf = group => ((values && values.channels.find(g => g.name === group.name)) || group).mean;
    const groups = extension.channels.map(group => ({...group, mean: meanOf(group)}));
    Object.assign(product, {gltf, extension, materials, parts, groups, options: extension.evaluator});
    product.kernels = await readKernels(extension, await gltf.view(extension.kernels.bufferView), values,
                                        values && await gltf.view(values.bufferView));
    require_(product.kernels.every(k => k.triangle < extension.triangles), 'a kernel is on no triangle');
    const charts = await Charts.open(about, await gltf.view(about.bufferView), corners, product.kernels.length);
    product.mesh = charts.file;
    product.proxy = charts.proxy;
    require_(product.kernels.every(k => product.mesh.part(k.triangle)), 'a kernel is on a triangle without area');
    require_(!product.proxy || !product.options.euclidean, 'has charts on a proxy with distances in space');
    product.prepare(charts);
    product.side = product.mesh.findOutside(mirrored);
    product.prepareNormals(normals);
    return product;
  }

  prepare(charts) {
    const o = this.options, mesh = this.mesh;
    this.heat = 1 / (4 * o.diffusionTime);
    this.window = o.windowSigma > 0 ? 1 / (2 * o.windowSigma ** 2) : 0;
    this.mean = this.groups.flatMap(group => group.mean);
    /** Where the vectors of tangent groups begin among the channels. */
    this.vectors = [];
    this.groups.reduce((first, group) => {
      if (isTangent(group)) this.vectors.push(first);
      return first + group.count;
    }, 0);
    for (const k of this.kernels) {
      const flat = mesh.flat.subarray(6 * k.triangle, 6 * k.triangle + 6), b = k.barycentric;
      k.center = [b[0] * flat[0] + b[1] * flat[2] + b[2] * flat[4], b[0] * flat[1] + b[1] * flat[3] + b[2] * flat[5]];
      k.space = this.position(k.triangle, b);
      k.axis = [Math.cos(k.angle), Math.sin(k.angle)];
      k.face = k.triangle;
      k.floor = logistic(-k.sharpness * k.threshold);
      k.range = logistic(k.sharpness * (1 - k.threshold)) - k.floor + 1e-8;
      const radius = Math.max(k.length * this.supportRadius(k), 1e-3 * k.length);
      k.weight = o.candidateRule === 'byReach' ? 1 / radius ** 2 : 1;
    }
    if (this.proxy)
      this.kernels.forEach((k, i) => this.proxy.put(k, this.proxy.kernelFaces[i], ...mesh.axes(k.triangle), this.vectors));
    /** For each triangle, or each face of the proxy, the kernels that reach it and the places of its corners in their planes. */
    this.table = Array.from({length: charts.mesh.count}, () => []);
    const reached = charts.unfold(this.kernels, this.kernels.map(k => k.center), o.joinCorners && !o.euclidean);
    reached.forEach(({faces, places, own}, kernel) => faces.forEach((face, i) => {
      this.table[face].push({kernel, places: places[i], own: own[i]});
    }));
    if (o.candidateRule === 'perFace') this.table = this.table.map(pairs => this.nearestToCentroid(pairs));
  }

  /** Normals of triangles and of their corners, on the outside. Specification: "Normals", steps 1 and 2. */
  prepareNormals(normals) {
    this.flatNormals = [];
    this.cornerNormals = [];
    this.inwards = new Uint8Array(this.mesh.count);
    for (let t = 0; t < this.mesh.count; ++t) {
      const flat = times(this.side[t], cross(...this.mesh.axes(t)));
      const corners = [0, 3, 6].map(c => Array.from(normals.subarray(9 * t + c, 9 * t + c + 3)));
      const sign = dot(plus(plus(corners[0], corners[1]), corners[2]), flat) < 0 ? -1 : 1;
      this.inwards[t] = sign < 0 ? 1 : 0;
      this.flatNormals.push(flat);
      this.cornerNormals.push(corners.map(n => norm(n) > 0 ? times(sign, n) : flat));
    }
  }

  /** Specification: "Normals". */
  shadingNormal(t, b, name, value) {
    const flat = this.flatNormals[t], n = this.cornerNormals[t];
    const mixed = plus(plus(times(b[0], n[0]), times(b[1], n[1])), times(b[2], n[2])), n0 = norm(mixed) > 0 ? unit(mixed) : flat;
    if (name === 'object_normal') return unit(plus(n0, value));
    // Anisotropy is turned as slopes are, and stays as long as it is.
    const v = name === 'anisotropy' ? value : plus(flat, value), cosine = dot(flat, n0);
    let shaded;
    if (1 + cosine < 1e-12) {
      const [first] = this.mesh.axes(t);
      shaded = minus(times(2 * dot(first, v), first), v);
    } else {
      const c = cross(flat, n0), turned = cross(c, v);
      shaded = plus(plus(v, turned), times(1 / (1 + cosine), cross(c, turned)));
    }
    return name === 'anisotropy' ? shaded : unit(shaded);
  }

  supportRadius(k) {
    const a = this.options.supportTail * k.range + k.floor, x = k.threshold + Math.log(a / (1 - a)) / k.sharpness;
    if (!(x > 0)) return this.options.maxRadius;
    return x >= 1 ? 0 : Math.min(this.options.maxRadius, Math.sqrt(-Math.log(x) / (this.heat + this.window)));
  }

  nearestToCentroid(pairs) {
    if (pairs.length <= this.options.candidates) return pairs;
    const distance = pairs.map(({kernel, own}) => {
      const [x, y] = this.kernels[kernel].center;
      return ((own[0] + own[2] + own[4]) / 3 - x) ** 2 + ((own[1] + own[3] + own[5]) / 3 - y) ** 2;
    });
    return smallest(distance, this.options.candidates).map(i => pairs[i]);
  }

  position(t, b) {
    const [p, q, r] = [0, 1, 2].map(c => this.mesh.corner(t, c));
    return [0, 1, 2].map(i => b[0] * p[i] + b[1] * q[i] + b[2] * r[i]);
  }

  /**
   * Values of all groups at a point of a triangle of the file: {name: [count numbers], ..., coverage}. Vectors are in the axes
   * of the scene; `normal`, `object_normal` and `clearcoat_normal` are shading normals.
   */
  evaluate(triangle, barycentric) {
    // A triangle that repeats another one has its values at the same corners.
    const t = this.mesh.repeats[triangle], turns = this.mesh.turns[triangle];
    const b = [0, 1, 2].map(c => barycentric[(c + turns) % 3]), {relative, coverage} = this.at(t, b);
    const out = {};
    let first = 0;
    for (const {name, count, range: [low, high]} of this.groups)
      out[name] = relative.slice(first, first += count).map(x => low * (1 - x) + high * x);
    out.coverage = coverage;
    Object.assign(out, this.constant(triangle));
    for (const group of this.groups) {
      const {name} = group, [x, y] = this.mesh.axes(t);
      if (isTangent(group)) out[name] = plus(times(out[name][0], x), times(out[name][1], y));
      if (isShaded(group)) out[name] = this.shadingNormal(t, b, name, out[name]);
    }
    return out;
  }

  /**
   * The kernels that make the colour of a point, each as {kernel, weight, ...}; where the weights' sum, the coverage, is above
   * 1 they are divided by it. `face` is the triangle that charts are about, that of
   * the proxy if there is one; -1 if none stands for the point. Specification: "The colour of a point".
   */
  weights(triangle, b) {
    const o = this.options, q = this.position(triangle, b), {proxy} = this;
    let face = triangle;
    if (proxy) {
      const place = proxy.place(triangle, q);
      if (!place) return {face: -1, kept: []};
      ({face, b} = place);
    }
    let found = this.table[face].map(({kernel, places: c, own}) => {
      const k = this.kernels[kernel], chord = minus(q, k.space), chord2 = dot(chord, chord);
      const [x, y] = o.euclidean ? this.project(k, chord) :
                                   [b[0] * c[0] + b[1] * c[2] + b[2] * c[4] - k.center[0],
                                    b[0] * c[1] + b[1] * c[3] + b[2] * c[5] - k.center[1]];
      const plane2 = x * x + y * y;
      return {kernel, k, c, own, x, y, plane2, d2: chord2 > 1.0001 * plane2 ? chord2 : plane2};
    });
    if (found.length > o.candidates)
      found = smallest(found.map(({k, d2}) => d2 * k.weight), o.candidates).map(i => found[i]);
    const f = found.map(({k, x, y, plane2, d2}) => {
      const v = k.axis[0] * y - k.axis[1] * x, share = plane2 > 1e-18 ? v * v / plane2 : 0;
      const rate = this.heat * (1 + (o.isotropic ? 0 : k.anisotropy) * share) + this.window;
      const a = logistic(k.sharpness * (Math.exp(-d2 * rate / k.length ** 2) - k.threshold));
      return Math.min(Math.max((a - k.floor) / k.range, 0), 1);
    });
    return {face, kept: smallest(f.map(x => -x), KEPT).map(i => ({...found[i], weight: f[i]}))};
  }

  /** Channels relative to their ranges, and the coverage. Specification: "The colour of a point". */
  at(triangle, b) {
    const relative = this.mean.slice(), {proxy} = this, {face, kept} = this.weights(triangle, b);
    if (face < 0) return {relative, coverage: 0};
    const coverage = kept.reduce((sum, {weight}) => sum + weight, 0);
    for (const pair of kept) {
      const residual = this.vectors.length > 0 ? this.turned(face, pair) : pair.k.residual;
      for (let c = 0; c < relative.length; ++c) relative[c] += pair.weight * residual[c] / Math.max(coverage, 1);
    }
    for (const c of this.vectors) {  // not longer than R, which is 1/2 relative to the range
      const x = relative[c] - 0.5, y = relative[c + 1] - 0.5, much = Math.max(2 * Math.hypot(x, y), 1);
      const vector = [x / much, y / much];
      const [p, r] = proxy ? proxy.turned(face, triangle, ...this.mesh.axes(triangle), vector) : vector;
      relative[c] = 0.5 + p;
      relative[c + 1] = 0.5 + r;
    }
    return {relative: relative.map(x => Math.min(Math.max(x, 0), 1)), coverage};
  }

  /** Residuals of a kernel with the vectors among them as they appear in the plane of a triangle, or of a face of the proxy. */
  turned(face, {k, c, own}) {
    const [cosine, sine, mirror] = (this.proxy || this.mesh).turn(face, c, own), residual = k.residual.slice();
    for (const first of this.vectors) {
      const [x, y] = k.residual.slice(first, first + 2);
      residual[first] = cosine * x + sine * y;
      residual[first + 1] = mirror * (cosine * y - sine * x);
    }
    return residual;
  }

  /** A vector in space in the plane of a kernel's triangle. */
  project(k, v) {
    return this.mesh.axes(k.triangle).map(axis => dot(v, axis));
  }

  /** Values that a triangle's material decides; a coverage of 1 if these are all. */
  constant(triangle) {
    const index = this.materials[triangle], values = {};
    const everywhere = (this.extension.constantMaterials || []).includes(index);
    let count = 0;
    for (const {name, range: [low, high], constantMaterials} of this.groups) {
      if (!everywhere && !(constantMaterials || []).includes(index)) continue;
      ++count;
      values[name] = factorOf(this.gltf.root.materials[index], name).map(x => Math.min(Math.max(x, low), high));
    }
    if (count === this.groups.length) values.coverage = 1;
    return values;
  }

  /**
   * The table of a fragment shader: for each triangle up to `most` records, each a kernel with an affine map from
   * barycentric coordinates (b0, b1) of the triangle to the kernel's plane. With a proxy, triangles are its faces, and
   * proxy.place() says which one and which coordinates stand for a point.
   *
   *   begin    Uint32Array [T + 1]: records of triangle t are begin[t] .. begin[t + 1] - 1. None for triangles that repeat
   *            another one: use `mesh.repeats` and `mesh.turns`
   *   kernel   Uint32Array [R]: their kernels
   *   map      Float32Array [R, 6]: x = map[0] b0 + map[1] b1 + map[2], y = map[3] b0 + map[4] b1 + map[5], relative to
   *            the kernel's centre, in its axes (x along the long one) and in units of its length
   *   turn     Float32Array [R]: the angle from the first axis of the kernel's triangle to that of this one in the kernel's
   *            plane, counter-clockwise as seen from outside
   *   space    Float32Array [N, 4]: centres of the kernels in normalised coordinates relative to `origin`, and 1 / length
   *   shape    Float32Array [N, 4]: anisotropy, threshold, sharpness, weight of d^2 for the choice of candidates
   *   residual Float32Array [N, C]; vectors have their second number along (outside normal) x (first axis), with a proxy
   *            along (normal of the face from which its corners are counter-clockwise) x (first axis)
   *   origin   of `space`, in normalised coordinates; `scale` from scene coordinates to normalised ones
   *   dropped  records that did not fit
   *
   * With x and y, d^2 = x^2 + y^2 or, where larger by more than 0.01 %, the squared distance in space / length^2; the
   * exponent is -(heat (d^2 + anisotropy y^2 d^2 / (x^2 + y^2)) + window d^2), with `heat` and `window` of the product.
   * Where a triangle has more, those are kept that come nearest to it in units of their support radii, in the order of the
   * kernels: ties are broken as in evaluate(). With `most` at least the largest number nothing is lost.
   */
  faceTable(most = Infinity) {
    require_(!this.options.euclidean, 'distances in space have no table');
    const {mesh, proxy} = this, faces = proxy || mesh, begin = new Uint32Array(faces.count + 1), chosen = [];
    let dropped = 0;
    for (let t = 0; t < faces.count; ++t) {
      let pairs = proxy || mesh.repeats[t] === t ? this.table[t] : [];
      if (pairs.length > most) {
        const nearest = pairs.map(({kernel, places}) => {
          const k = this.kernels[kernel];
          return k.weight * squaredToTriangle(k.center, places);
        });
        dropped += pairs.length - most;
        pairs = smallest(nearest, most).map(i => pairs[i]);
      }
      chosen.push(pairs);
      begin[t + 1] = begin[t] + pairs.length;
    }
    const count = begin[faces.count], channels = this.mean.length, kernelCount = this.kernels.length;
    const out = {begin, dropped, kernel: new Uint32Array(count), map: new Float32Array(6 * count),
                 turn: new Float32Array(count), space: new Float32Array(4 * kernelCount),
                 shape: new Float32Array(4 * kernelCount), residual: new Float32Array(channels * kernelCount),
                 origin: mesh.origin, scale: mesh.scale};
    let at = 0;
    chosen.forEach((pairs, t) => pairs.forEach(({kernel, places: c, own}) => {
      const {center: [x, y], axis: [ax, ay], length, triangle} = this.kernels[kernel];
      const u = (px, py) => (ax * px + ay * py) / length, v = (px, py) => (ax * py - ay * px) / length;
      out.map.set([u(c[0] - c[4], c[1] - c[5]), u(c[2] - c[4], c[3] - c[5]), u(c[4] - x, c[5] - y),
                   v(c[0] - c[4], c[1] - c[5]), v(c[2] - c[4], c[3] - c[5]), v(c[4] - x, c[5] - y)], 6 * at);
      if (this.vectors.length > 0) {
        const [cosine, sine] = faces.turn(t, c, own);
        out.turn[at] = Math.atan2((proxy ? 1 : this.side[triangle]) * sine, cosine);
      }
      out.kernel[at++] = kernel;
    }));
    this.kernels.forEach((k, i) => {
      out.space.set([...minus(k.space, mesh.origin), 1 / k.length], 4 * i);
      out.shape.set([this.options.isotropic ? 0 : k.anisotropy, k.threshold, k.sharpness, k.weight], 4 * i);
      out.residual.set(k.residual, channels * i);
      if (!proxy)
        for (const c of this.vectors) out.residual[channels * i + c + 1] *= this.side[k.triangle];
    });
    return out;
  }
}

/** Indices of the `count` smallest values, increasing; of equal ones the first. */
function smallest(values, count) {
  const indices = values.map((_, i) => i);
  if (values.length <= count) return indices;
  return indices.sort((i, j) => values[i] - values[j] || i - j).slice(0, count).sort((i, j) => i - j);
}

/** Squared distance of a point of the plane from a triangle, six numbers. */
function squaredToTriangle([x, y], c) {
  let least = Infinity, inside = 0;
  for (let e = 0; e < 3; ++e) {
    const ax = c[2 * e], ay = c[2 * e + 1], bx = c[2 * ((e + 1) % 3)] - ax, by = c[2 * ((e + 1) % 3) + 1] - ay;
    const px = x - ax, py = y - ay, w = Math.min(Math.max((px * bx + py * by) / (bx * bx + by * by || 1), 0), 1);
    least = Math.min(least, (px - w * bx) ** 2 + (py - w * by) ** 2);
    inside += Math.sign(bx * py - by * px);
  }
  return Math.abs(inside) === 3 ? 0 : least;
}

// ------------------------------------------------------------------------------------------------------ command line

async function main() {
  const fs = await import('fs'), given = process.argv.slice(2), at = given.indexOf('--level');
  const level = at < 0 ? 0 : Number(given.splice(at, 2)[1]), [file, points, variant] = given;
  if (!points || !(Number.isInteger(level) && level >= 0))
    throw new FormatError('usage: node read_product.js model_fit.glb points.csv [VARIANT] [--level N]');
  const bytes = fs.readFileSync(file);
  const product = await Product.open(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), variant, level);
  const lines = fs.readFileSync(points, 'utf8').split(/\s+/).filter(line => line && !/^face/i.test(line));
  const count = group => isTangent(group) || isShaded(group) ? 3 : group.count;
  const names = product.groups.flatMap(g => Array.from({length: count(g)}, (_, c) => `${g.name}_${c}`));
  const out = [[...names, 'coverage'].join(',')];
  for (const line of lines) {
    const [triangle, ...b] = line.split(',').map(Number), values = product.evaluate(triangle, b);
    const row = [...product.groups.flatMap(g => values[g.name]), values.coverage];
    out.push(row.map(x => x.toPrecision(7)).join(','));
  }
  process.stdout.write(out.join('\n') + '\n');
}

// For <script> and for `import './read_product.js'` as well as for require().
globalThis.heatskin = {Product, Gltf, FormatError};
if (typeof module !== 'undefined') {
  module.exports = globalThis.heatskin;
  if (typeof require !== 'undefined' && require.main === module) {
    main().catch(error => {
      process.stderr.write(`${process.argv[2] || 'read_product.js'}: ${error.message}\n`);
      process.exit(1);
    });
  }
}

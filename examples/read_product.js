#!/usr/bin/env node
// Values of a heatskin product in one file, written from docs/format.md; no dependencies, for browsers and Node 18 or later.
//
//   node read_product.js model_fit.glb points.csv > values.csv
//
// points.csv has a line face,b0,b1,b2 for each point (a header line is allowed), as for `heatskin query`. In programs, with
// `const {Product} = require('./read_product.js')`, or `const {Product} = heatskin` after <script src="read_product.js">:
//
//   const product = await Product.open(await (await fetch('model_fit.glb')).arrayBuffer());
//   product.evaluate(7, [0.2, 0.3, 0.5]);     // {base_color: [r, g, b], ..., coverage}
//   product.faceTable(64);                    // flat arrays for a fragment shader, see there
//
// Only files with charts are read (`fit` writes them unless told otherwise), with uncompressed geometry. Groups of tangent
// vectors ("kind": "tangent") are skipped.

const NAME = 'HSK_kernel_texture';
const NONE = 0xffffffff;
const KEPT = 30;  // kernels that contribute to a point

/** The file is not what the specification describes, or needs what this reader does not have. */
class FormatError extends Error {}

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
    const view = new DataView(buffer);
    require_(buffer.byteLength >= 20 && view.getUint32(0, true) === 0x46546c67, 'is not a GLB file');
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
    require_(start + view.byteLength <= this.binary.length, 'a buffer view leaves the file');
    return this.binary.subarray(start, start + view.byteLength);
  }

  /** count * width numbers; integers that are normalised become numbers in [-1, 1]. */
  accessor(index) {
    const accessor = this.root.accessors[index];
    require_(!accessor.sparse && accessor.bufferView !== undefined, 'has sparse accessors');
    const [size, get, most] = COMPONENTS[accessor.componentType], width = WIDTHS[accessor.type];
    const bytes = this.view(accessor.bufferView), data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const stride = this.root.bufferViews[accessor.bufferView].byteStride || size * width;
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
        Float64Array.from({length: this.root.accessors[primitive.attributes.POSITION].count}, (_, i) => i);
    if (mode === 4) return v.subarray(0, v.length - v.length % 3);
    const out = [];
    for (let i = 0; i + 2 < v.length; ++i) {
      // In strips every other one is turned. They jump by repeating vertices; these triangles do not count.
      const [a, b, c] = mode === 5 ? [v[i], v[i + 1 + i % 2], v[i + 2 - i % 2]] : [v[i + 1], v[i + 2], v[0]];
      if (a !== b && b !== c && c !== a) out.push(a, b, c);
    }
    return out;
  }

  /** Positions of all corners of all triangles in the scene (9 numbers each) and the triangles' materials. */
  corners() {
    const positions = [], materials = [], nodes = this.root.nodes || [];
    const visit = (index, parent) => {
      const node = nodes[index], m = multiply(parent, localMatrix(node));
      if (node.mesh !== undefined) {
        require_(!(node.extensions && node.extensions.EXT_mesh_gpu_instancing), 'has instances of meshes');
        for (const primitive of this.root.meshes[node.mesh].primitives) {
          const triangles = this.triangles(primitive);
          if (!triangles) continue;
          const p = this.accessor(primitive.attributes.POSITION);
          for (const v of triangles)
            for (let r = 0; r < 3; ++r)
              positions.push(m[r] * p[3 * v] + m[4 + r] * p[3 * v + 1] + m[8 + r] * p[3 * v + 2] + m[12 + r]);
          for (let t = 0; t < triangles.length / 3; ++t)
            materials.push(primitive.material === undefined ? -1 : primitive.material);
        }
      }
      for (const child of node.children || []) visit(child, m);
    };
    const scenes = this.root.scenes || [];
    const roots = scenes.length > 0 ? scenes[this.root.scene || 0].nodes || [] : nodes.keys();
    const identity = Float64Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    for (const root of roots) visit(root, identity);
    require_(positions.length > 0, 'has no triangles');
    return {corners: Float64Array.from(positions), materials};
  }
}

async function inflate(bytes, size, what) {
  require_(Math.floor(size / 64) < bytes.length, `the ${what}' buffer is too small`);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  let data;
  try {
    data = new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (error) {
    throw new FormatError(`the ${what}' buffer is not a zlib stream`);
  }
  require_(data.length === size, `the ${what}' buffer has the wrong size`);
  return data;
}

// ----------------------------------------------------------------------------------------------- the kernels' buffer

async function readKernels(extension, view) {
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
  const codes = columns.map(n => {
    const upper = plane();
    if (n <= 8) return Float64Array.from(upper);
    const lower = plane();
    return Float64Array.from(upper, (byte, i) => byte * 2 ** (n - 8) + lower[i]);
  });
  const kernels = [], first = 7, most = 2 ** bits.barycentric - 1;
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
    const green = codes[first + 1][i];
    k.residual = channels.map((n, c) => {
      const code = c === 0 || c === 2 ? (codes[first + c][i] + green) % 2 ** n : codes[first + c][i];
      return code / (2 ** (n - 1) - 1) - 1;
    });
    kernels.push(k);
  }
  return kernels;
}

// -------------------------------------------------------------------------------------------------------- neighbours

const nextHalfEdge = h => h % 3 === 2 ? h - 2 : h + 1;

/** The triangles of a scene side by side. Specification: "Neighbours". */
class Mesh {
  constructor(corners, changes) {
    this.count = corners.length / 9;
    const welded = this.weld(corners), proper = this.findProper(corners, welded);
    this.repeats = this.findRepeated(welded, proper);
    const partOf = t => proper[t] && this.repeats[t] === t;
    this.neighbour = this.byRule(welded, partOf);
    for (let i = 0; i < changes.length; i += 2) {
      require_(changes[i] < 3 * this.count && (changes[i + 1] === NONE || changes[i + 1] < 3 * this.count),
               'neighbours are not edges of the file');
      this.neighbour[changes[i]] = changes[i + 1];
    }
    // Scene units to normalised ones.
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let t = 0; t < this.count; ++t) {
      if (!partOf(t)) continue;
      for (let i = 0; i < 9; ++i) {
        low[i % 3] = Math.min(low[i % 3], corners[9 * t + i]);
        high[i % 3] = Math.max(high[i % 3], corners[9 * t + i]);
      }
    }
    this.scale = 2 / Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
    this.corners = corners.map(x => x * this.scale);
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

  /** For each triangle the earlier one with the same corners in the same cyclic order, or itself. */
  findRepeated(welded, proper) {
    const seen = new Map(), out = new Uint32Array(this.count);
    for (let t = 0; t < this.count; ++t) {
      out[t] = t;
      if (!proper[t]) continue;
      const v = welded.subarray(3 * t, 3 * t + 3), f = v.indexOf(Math.min(...v));
      const key = `${v[f]},${v[(f + 1) % 3]},${v[(f + 2) % 3]}`;
      if (seen.has(key)) out[t] = seen.get(key);
      else seen.set(key, t);
    }
    return out;
  }

  byRule(welded, partOf) {
    const edges = new Map();
    for (let h = 0; h < welded.length; ++h) {
      if (!partOf(Math.floor(h / 3))) continue;
      const a = welded[h], b = welded[nextHalfEdge(h)], key = a < b ? `${a},${b}` : `${b},${a}`;
      if (edges.has(key)) edges.get(key).push(h);
      else edges.set(key, [h]);
    }
    const neighbour = new Uint32Array(welded.length).fill(NONE);
    for (const group of edges.values()) {
      if (group.length !== 2) continue;
      neighbour[group[0]] = group[1];
      neighbour[group[1]] = group[0];
    }
    return neighbour;
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
}

const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.sqrt(dot(a, a));

// ------------------------------------------------------------------------------------------------------------ charts

/** Reads the trees. Specification: "Charts". */
class Charts {
  static async open(about, view, corners) {
    const size = about.steps + 4 * (about.orders + 2 * about.neighbours);
    const data = await inflate(view, size, 'charts'), words = new DataView(data.buffer, data.byteOffset + about.steps);
    const word = i => words.getUint32(4 * i, true);
    const changes = Array.from({length: 2 * about.neighbours}, (_, i) => word(about.orders + i));
    const charts = new Charts();
    charts.steps = data.subarray(0, about.steps);
    charts.orderWords = Array.from({length: about.orders}, (_, i) => word(i));
    charts.mesh = new Mesh(corners, changes);
    return charts;
  }

  /** The triangles a kernel reaches and their corners in its plane, six numbers each. */
  walk(root, state) {
    const {mesh, steps} = this, faces = [], places = [];
    const pending = [[root, 0, Array.from(mesh.flat.subarray(6 * root, 6 * root + 6))]];
    for (let first = true; pending.length > 0; first = false) {
      require_(state.at < steps.length, 'the steps of a kernel do not end');
      const byte = steps[state.at++], [face, through, c] = pending.pop();
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
    const state = {at: 0}, reached = kernels.map(k => this.walk(k.triangle, state));
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
  if (name === 'normal' || name === 'object_normal') return [0, 0, 0];
  require_(FACTORS[name], `materials say nothing about ${name}`);
  const values = [find(...FACTORS[name])].flat();
  if (name === 'emissive')
    return values.map(x => x * find('extensions.KHR_materials_emissive_strength.emissiveStrength', 1));
  return name === 'sheen_color' || name === 'diffuse_transmission_color' ? values.map(srgb) : values;
}

/** A texture. `groups` lists its channels by name; evaluate() gives their values. */
class Product {
  /** From the bytes of a GLB. */
  static async open(buffer) {
    const gltf = new Gltf(buffer), extension = (gltf.root.extensions || {})[NAME];
    require_(extension, `has no ${NAME}`);
    require_(/^2\.\d+$/.test(extension.version), `version ${extension.version} is not supported`);
    require_(extension.evaluator.method === 'local' && extension.charts, 'has no charts');
    const product = new Product(), {corners, materials} = gltf.corners();
    require_(corners.length === 9 * extension.triangles, 'the geometry was edited');
    Object.assign(product, {gltf, extension, materials, groups: extension.channels, options: extension.evaluator});
    product.kernels = await readKernels(extension, gltf.view(extension.kernels.bufferView));
    require_(product.kernels.every(k => k.triangle < extension.triangles), 'a kernel is on no triangle');
    const charts = await Charts.open(extension.charts, gltf.view(extension.charts.bufferView), corners);
    product.mesh = charts.mesh;
    product.prepare(charts);
    return product;
  }

  prepare(charts) {
    const o = this.options, mesh = this.mesh;
    this.heat = 1 / (4 * o.diffusionTime);
    this.window = o.windowSigma > 0 ? 1 / (2 * o.windowSigma ** 2) : 0;
    this.mean = this.groups.flatMap(group => group.mean);
    for (const k of this.kernels) {
      const flat = mesh.flat.subarray(6 * k.triangle, 6 * k.triangle + 6), b = k.barycentric;
      k.center = [b[0] * flat[0] + b[1] * flat[2] + b[2] * flat[4], b[0] * flat[1] + b[1] * flat[3] + b[2] * flat[5]];
      k.space = this.position(k.triangle, b);
      k.axis = [Math.cos(k.angle), Math.sin(k.angle)];
      k.floor = logistic(-k.sharpness * k.threshold);
      k.range = logistic(k.sharpness * (1 - k.threshold)) - k.floor + 1e-8;
      const radius = Math.max(k.length * this.supportRadius(k), 1e-3 * k.length);
      k.weight = o.candidateRule === 'byReach' ? 1 / radius ** 2 : 1;
    }
    /** For each triangle the kernels that reach it and the places of its corners in their planes. */
    this.table = Array.from({length: mesh.count}, () => []);
    const reached = charts.unfold(this.kernels, this.kernels.map(k => k.center), o.joinCorners && !o.euclidean);
    reached.forEach(({faces, places, own}, kernel) => faces.forEach((face, i) => {
      this.table[face].push({kernel, places: places[i], own: own[i]});
    }));
    if (o.candidateRule === 'perFace') this.table = this.table.map(pairs => this.nearestToCentroid(pairs));
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

  /** Values of all groups at a point of a triangle of the file: {name: [count numbers], ..., coverage}. */
  evaluate(triangle, b) {
    const {unit, coverage} = this.at(this.mesh.repeats[triangle], b);
    const out = {};
    let first = 0;
    for (const {name, count, kind, range: [low, high]} of this.groups) {
      const part = unit.slice(first, first += count);
      if ((kind || 'plain') === 'plain') out[name] = part.map(x => low * (1 - x) + high * x);
    }
    out.coverage = coverage;
    return Object.assign(out, this.constant(triangle, out));
  }

  /** Channels relative to their ranges, and the coverage. Specification: "The colour of a point". */
  at(triangle, b) {
    const o = this.options, q = this.position(triangle, b);
    let found = this.table[triangle].map(({kernel, places: c}) => {
      const k = this.kernels[kernel], chord = minus(q, k.space), chord2 = dot(chord, chord);
      const [x, y] = o.euclidean ? this.project(k, chord) :
                                   [b[0] * c[0] + b[1] * c[2] + b[2] * c[4] - k.center[0],
                                    b[0] * c[1] + b[1] * c[3] + b[2] * c[5] - k.center[1]];
      const plane2 = x * x + y * y;
      return {k, x, y, plane2, d2: chord2 > 1.0001 * plane2 ? chord2 : plane2};
    });
    if (found.length > o.candidates)
      found = smallest(found.map(({k, d2}) => d2 * k.weight), o.candidates).map(i => found[i]);
    const f = found.map(({k, x, y, plane2, d2}) => {
      const v = k.axis[0] * y - k.axis[1] * x, share = plane2 > 1e-18 ? v * v / plane2 : 0;
      const rate = this.heat * (1 + (o.isotropic ? 0 : k.anisotropy) * share) + this.window;
      const a = logistic(k.sharpness * (Math.exp(-d2 * rate / k.length ** 2) - k.threshold));
      return Math.min(Math.max((a - k.floor) / k.range, 0), 1);
    });
    const unit = this.mean.slice();
    const kept = smallest(f.map(x => -x), KEPT), coverage = kept.reduce((sum, i) => sum + f[i], 0);
    for (const i of kept)
      for (let c = 0; c < unit.length; ++c) unit[c] += f[i] * found[i].k.residual[c] / Math.max(coverage, 1);
    return {unit: unit.map(x => Math.min(Math.max(x, 0), 1)), coverage};
  }

  /** A vector in space in the plane of a kernel's triangle. */
  project(k, v) {
    const x = this.mesh.corner(k.triangle, 0), e = minus(this.mesh.corner(k.triangle, 1), x);
    const f = minus(this.mesh.corner(k.triangle, 2), x), length = norm(e), along = dot(e, f) / (length * length);
    const beside = minus(f, e.map(c => along * c));
    return [dot(v, e) / length, dot(v, beside) / norm(beside)];
  }

  /** Values that a triangle's material decides, of the groups of `out`; a coverage of 1 if these are all. */
  constant(triangle, out) {
    const index = this.materials[triangle], values = {};
    const everywhere = (this.extension.constantMaterials || []).includes(index);
    let count = 0;
    for (const {name, range: [low, high], constantMaterials} of this.groups) {
      if (!everywhere && !(constantMaterials || []).includes(index)) continue;
      ++count;
      if (out[name])
        values[name] = factorOf(this.gltf.root.materials[index], name).map(x => Math.min(Math.max(x, low), high));
    }
    if (count === this.groups.length) values.coverage = 1;
    return values;
  }

  /**
   * The table of a fragment shader: for each triangle up to `most` records, each a kernel with an affine map from
   * barycentric coordinates (b0, b1) of the triangle to the kernel's plane.
   *
   *   begin    Uint32Array [T + 1]: records of triangle t are begin[t] .. begin[t + 1] - 1
   *   kernel   Uint32Array [R]: their kernels
   *   map      Float32Array [R, 6]: x = map[0] b0 + map[1] b1 + map[2], y = map[3] b0 + map[4] b1 + map[5], relative to
   *            the kernel's centre, in its axes (x along the long one) and in units of its length
   *   space    Float32Array [N, 4]: centres of the kernels in normalised coordinates, and 1 / length
   *   shape    Float32Array [N, 4]: anisotropy, threshold, sharpness, weight of d^2 for the choice of candidates
   *   residual Float32Array [N, C]
   *   scale    from scene coordinates to normalised ones
   *   dropped  records that did not fit
   *
   * With x and y, d^2 = x^2 + y^2 or, where larger by more than 0.01 %, the squared distance in space / length^2; the
   * exponent is -(heat (d^2 + anisotropy y^2 d^2 / (x^2 + y^2)) + window d^2), with `heat` and `window` of the product.
   * Where a triangle has more, those are kept that come nearest to it in units of their support radii, in the order of the
   * kernels: ties are broken as in evaluate(). With `most` at least the largest number nothing is lost.
   */
  faceTable(most = Infinity) {
    const begin = new Uint32Array(this.mesh.count + 1), records = [];
    let dropped = 0;
    for (let t = 0; t < this.mesh.count; ++t) {
      let pairs = this.table[this.mesh.repeats[t]];
      if (pairs.length > most) {
        const nearest = pairs.map(({kernel, places}) => {
          const k = this.kernels[kernel];
          return k.weight * squaredToTriangle(k.center, places);
        });
        dropped += pairs.length - most;
        pairs = smallest(nearest, most).map(i => pairs[i]);
      }
      records.push(...pairs);
      begin[t + 1] = records.length;
    }
    const map = new Float32Array(6 * records.length);
    records.forEach(({kernel, places: c}, i) => {
      const {center: [x, y], axis: [ax, ay], length} = this.kernels[kernel];
      const u = (px, py) => (ax * px + ay * py) / length, v = (px, py) => (ax * py - ay * px) / length;
      map.set([u(c[0] - c[4], c[1] - c[5]), u(c[2] - c[4], c[3] - c[5]), u(c[4] - x, c[5] - y),
               v(c[0] - c[4], c[1] - c[5]), v(c[2] - c[4], c[3] - c[5]), v(c[4] - x, c[5] - y)], 6 * i);
    });
    return {
      begin, map, dropped, kernel: Uint32Array.from(records, record => record.kernel), scale: this.mesh.scale,
      space: Float32Array.from(this.kernels.flatMap(k => [...k.space, 1 / k.length])),
      shape: Float32Array.from(this.kernels.flatMap(k => [k.anisotropy, k.threshold, k.sharpness, k.weight])),
      residual: Float32Array.from(this.kernels.flatMap(k => k.residual)),
    };
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
  const fs = await import('fs'), [file, points] = process.argv.slice(2);
  if (!points) throw new FormatError('usage: node read_product.js model_fit.glb points.csv');
  const bytes = fs.readFileSync(file);
  const product = await Product.open(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const lines = fs.readFileSync(points, 'utf8').split(/\s+/).filter(line => line && !/^face/i.test(line));
  const plain = product.groups.filter(g => (g.kind || 'plain') === 'plain');
  const names = plain.flatMap(g => Array.from({length: g.count}, (_, c) => `${g.name}_${c}`));
  const out = [[...names, 'coverage'].join(',')];
  for (const line of lines) {
    const [triangle, ...b] = line.split(',').map(Number), values = product.evaluate(triangle, b);
    const row = [...plain.flatMap(g => values[g.name]), values.coverage];
    out.push(row.map(x => x.toPrecision(7)).join(','));
  }
  process.stdout.write(out.join('\n') + '\n');
}

if (typeof module !== 'undefined') {
  module.exports = {Product, FormatError};
  if (require.main === module) {
    main().catch(error => {
      process.stderr.write(`${process.argv[2] || 'read_product.js'}: ${error.message}\n`);
      process.exit(1);
    });
  }
} else {
  globalThis.heatskin = {Product, FormatError};
}

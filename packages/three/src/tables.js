// Kernels in textures and corners in an attribute: what the shader reads.

import { BufferAttribute, DataTexture, FloatType, NearestFilter, RGBAFormat, RGIntegerFormat, UnsignedIntType } from 'three';

const { FormatError } = globalThis.heatskin;

/** Texels in a row: every WebGL2 device has this many, and as many rows. */
export const ROW = 2048;
const MOST_TEXELS = ROW * 8192;

/** Numbers that a float32 counts exactly. */
const MOST_COUNTED = 2 ** 24;

/** Texels of a kernel before its residuals. */
export const KERNEL_TEXELS = 3;

function texture(data, texels, format, type, internalFormat) {
  const height = Math.max(1, Math.ceil(texels / ROW));
  if (texels > MOST_TEXELS) throw new FormatError('has more kernels than fit into textures');
  const width = data.length / Math.max(texels, 1), padded = new data.constructor(ROW * height * width);
  padded.set(data);
  const out = new DataTexture(padded, ROW, height, format, type);
  Object.assign(out, { internalFormat, magFilter: NearestFilter, minFilter: NearestFilter, needsUpdate: true });
  return out;
}

/**
 * Textures, all ROW texels wide:
 *
 *   faces    RG32UI, a texel for each triangle of the file: its first record, 8 x records + 4 where the proxy has its outside
 *            inside + 2 where the file's normals point inwards + 1 where its corners are clockwise as seen from outside.
 *            With a proxy, entries of `lists` take the place of records
 *   records  RGBA32F, two for each record of Product.faceTable(): (map[0..2], kernel), (map[3..5], turn)
 *   kernels  RGBA32F, `stride` for each kernel: centre and 1 / length; anisotropy, threshold, sharpness and weight; floor and
 *            1 / range of its soft threshold; then residuals, four in each
 *
 * and where kernels live on a proxy (null otherwise):
 *
 *   proxy    RGBA32F, four for each face: its corners relative to the table's origin with its first record, its records, and
 *            its first neighbour in `lists`; then the number of these
 *   lists    RG32UI, the first number counts: faces of the proxy
 */
export class KernelTables {
  constructor(product) {
    const table = product.faceTable(), count = product.kernels.length, faces = product.mesh.count;
    const channels = product.mean.length, residuals = Math.ceil(channels / 4);
    if (count >= MOST_COUNTED || 3 * faces >= MOST_COUNTED) throw new FormatError('has more triangles or kernels than floats count');
    this.product = product;
    this.stride = KERNEL_TEXELS + residuals;
    this.channels = channels;
    this.most = 0;

    const { proxy } = product, lists = proxy ? proxy.begin : table.begin, begin = new Uint32Array(2 * faces);
    for (let t = 0; t < faces; ++t) {
      const flags = 4 * (proxy && proxy.orientation[t] !== product.side[t] ? 1 : 0) + 2 * product.inwards[t] + (product.side[t] < 0 ? 1 : 0);
      begin.set([lists[t], 8 * (lists[t + 1] - lists[t]) + flags], 2 * t);
    }
    for (let t = 0; t + 1 < table.begin.length; ++t) this.most = Math.max(this.most, table.begin[t + 1] - table.begin[t]);
    this.proxy = this.lists = null;
    if (proxy) this.putProxy(proxy, table);
    const records = new Float32Array(8 * table.kernel.length);
    for (let r = 0; r < table.kernel.length; ++r) {
      records.set([...table.map.subarray(6 * r, 6 * r + 3), table.kernel[r]], 8 * r);
      records.set([...table.map.subarray(6 * r + 3, 6 * r + 6), table.turn[r]], 8 * r + 4);
    }
    const kernels = new Float32Array(4 * this.stride * count);
    for (let k = 0; k < count; ++k) {
      const { floor, range } = product.kernels[k];
      kernels.set(table.space.subarray(4 * k, 4 * k + 4), 4 * this.stride * k);
      kernels.set(table.shape.subarray(4 * k, 4 * k + 4), 4 * this.stride * k + 4);
      kernels.set([floor, 1 / range], 4 * this.stride * k + 8);
      kernels.set(table.residual.subarray(channels * k, channels * (k + 1)), 4 * (this.stride * k + KERNEL_TEXELS));
    }
    /** Of a pixel, the part that a sample stands for: 1 for pictures of one sample, 0 for exact values. Kernels are widened by it. */
    this.footprint = { value: 0 };
    this.faces = texture(begin, faces, RGIntegerFormat, UnsignedIntType, 'RG32UI');
    this.records = texture(records, records.length / 4, RGBAFormat, FloatType, 'RGBA32F');
    this.kernels = texture(kernels, kernels.length / 4, RGBAFormat, FloatType, 'RGBA32F');
  }

  putProxy(proxy, table) {
    const { origin } = this.product.mesh, faces = new Float32Array(16 * proxy.count), lists = Array.from(proxy.listed);
    this.mostListed = proxy.begin.reduce((most, first, t) => Math.max(most, t > 0 ? first - proxy.begin[t - 1] : 0), 0);
    this.mostAround = 0;
    for (let f = 0; f < proxy.count; ++f) {
      const ring = proxy.ring(f), numbers = [table.begin[f], table.begin[f + 1] - table.begin[f], lists.length];
      numbers.forEach((number, c) => {
        const x = proxy.corner(f, c);
        faces.set([x[0] - origin[0], x[1] - origin[1], x[2] - origin[2], number], 16 * f + 4 * c);
      });
      faces[16 * f + 12] = ring.length;
      for (const other of ring) lists.push(other);
      this.mostAround = Math.max(this.mostAround, ring.length);
    }
    const pairs = new Uint32Array(2 * lists.length);
    lists.forEach((face, i) => { pairs[2 * i] = face; });
    this.proxy = texture(faces, 4 * proxy.count, RGBAFormat, FloatType, 'RGBA32F');
    this.lists = texture(pairs, lists.length, RGIntegerFormat, UnsignedIntType, 'RG32UI');
  }

  dispose() {
    for (const part of [this.faces, this.records, this.kernels, this.proxy, this.lists]) if (part) part.dispose();
  }
}

/**
 * A copy of a primitive's geometry without indices, with the attribute heatskinCorner: where the corner is in the rest shape
 * (normalised coordinates relative to the table's origin) and 3 x triangle + corner. Triangles that repeat an earlier one
 * have the corners of that. `first`: the first triangle of the primitive. Where vectors come from a proxy, heatskinFirst and
 * heatskinSecond are the axes of the triangle, the second one as the surface is oriented.
 */
export function attachCorners(geometry, product, mesh, primitive, first) {
  const definition = product.gltf.root.meshes[mesh].primitives[primitive], { triangles } = product.gltf.geometry(definition);
  const separate = geometry.clone();
  separate.setIndex(Array.from(triangles));
  const out = separate.toNonIndexed(), corners = new Float32Array(4 * triangles.length), { origin, repeats, turns } = product.mesh;
  for (let i = 0; i < triangles.length; ++i) {
    const t = first + Math.floor(i / 3), position = product.mesh.corner(t, i % 3);
    const corner = (i % 3 - turns[t] + 3) % 3;
    corners.set([position[0] - origin[0], position[1] - origin[1], position[2] - origin[2], 3 * repeats[t] + corner], 4 * i);
  }
  out.setAttribute('heatskinCorner', new BufferAttribute(corners, 4));
  if (product.proxy && product.vectors.length > 0) {
    const axes = [0, 1].map(() => new Float32Array(3 * triangles.length));
    for (let i = 0; i < triangles.length; i += 3) {
      const t = repeats[first + i / 3], [x, y] = product.mesh.axes(t), side = product.proxy.orientation[t];
      for (let c = i; c < i + 3; ++c) {
        axes[0].set(x, 3 * c);
        axes[1].set(y.map((v) => side * v), 3 * c);
      }
    }
    ['heatskinFirst', 'heatskinSecond'].forEach((name, k) => out.setAttribute(name, new BufferAttribute(axes[k], 3)));
  }
  Object.assign(out, { name: geometry.name, userData: geometry.userData, morphTargetsRelative: geometry.morphTargetsRelative });
  return out;
}

// Another mesh under the texture of a product: each of its points takes the colour of the nearest point of the product's surface that
// faces the same way. Errors are those against the mesh's own colours, and distances those between the two surfaces.

import * as THREE from 'three';
import type { Model } from './model';
import type { Product } from './heatskin';
import { heatLinear } from './stage';

/** Points that are looked up: the mesh is divided as far as they go. A few seconds. */
const MOST_POINTS = 60000;
/** Between two pictures while points are looked up, ms. */
const SLICE_MS = 60;
/** Of a distance, squared, to a place that faces the other way. */
const BEHIND = 9;
/** Points on the edge of a triangle. */
const LEAF = 6;

export interface CarrySays { psnr?: number; mean?: number; distance: number; points: number; moved: boolean }

interface Found { triangle: number; barycentric: [number, number, number]; distance: number }

/** The surface of a product in space, for nearest points. */
class Nearest {
  private readonly at: Float64Array;  // [9 T] corners
  private readonly normals: Float64Array;  // [3 T]
  private readonly names: Int32Array;  // [3 T] 3 x triangle of the product + its corner
  private readonly order: Uint32Array;
  private readonly boxes: number[] = [];  // 6 for each node
  private readonly nodes: number[] = [];  // first and count of a leaf, or -(left child) and right child

  constructor(scene: THREE.Object3D) {
    const at: number[] = [], names: number[] = [], p = new THREE.Vector3();
    scene.traverse((object) => {
      const mesh = object as THREE.Mesh, corners = mesh.geometry?.attributes?.heatskinCorner;
      if (!mesh.isMesh || !corners) return;
      const { position } = mesh.geometry.attributes;
      for (let i = 0; i < position.count; ++i) {
        p.fromBufferAttribute(position as THREE.BufferAttribute, i).applyMatrix4(mesh.matrixWorld);
        at.push(p.x, p.y, p.z);
        names.push(Math.round(corners.getW(i)));
      }
    });
    this.at = Float64Array.from(at);
    this.names = Int32Array.from(names);
    const count = names.length / 3;
    this.normals = new Float64Array(3 * count);
    for (let t = 0; t < count; ++t) {
      const [a, b, c] = [0, 1, 2].map((k) => new THREE.Vector3(...this.at.subarray(9 * t + 3 * k, 9 * t + 3 * k + 3)));
      b.sub(a).cross(c.sub(a)).normalize().toArray(this.normals, 3 * t);
    }
    this.order = Uint32Array.from({ length: count }, (_, i) => i);
    if (count > 0) this.build(0, count);
  }

  get empty(): boolean { return this.order.length === 0; }

  private center(t: number, axis: number): number { return this.at[9 * t + axis] + this.at[9 * t + 3 + axis] + this.at[9 * t + 6 + axis]; }

  private build(from: number, to: number): number {
    const node = this.nodes.length / 2, box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
    for (let i = from; i < to; ++i) {
      for (let k = 0; k < 9; ++k) {
        const x = this.at[9 * this.order[i] + k];
        box[k % 3] = Math.min(box[k % 3], x);
        box[3 + k % 3] = Math.max(box[3 + k % 3], x);
      }
    }
    this.boxes.push(...box);
    this.nodes.push(from, to - from);
    if (to - from <= LEAF) return node;
    const sizes = [0, 1, 2].map((a) => box[3 + a] - box[a]), axis = sizes.indexOf(Math.max(...sizes)), middle = (from + to) >> 1;
    this.order.subarray(from, to).sort((a, b) => this.center(a, axis) - this.center(b, axis));
    const left = this.build(from, middle), right = this.build(middle, to);
    this.nodes[2 * node] = -left;
    this.nodes[2 * node + 1] = right;
    return node;
  }

  private boxSquared(node: number, x: number, y: number, z: number): number {
    const b = this.boxes, i = 6 * node;
    const dx = Math.max(b[i] - x, 0, x - b[i + 3]), dy = Math.max(b[i + 1] - y, 0, y - b[i + 4]), dz = Math.max(b[i + 2] - z, 0, z - b[i + 5]);
    return dx * dx + dy * dy + dz * dz;
  }

  find(p: THREE.Vector3, normal: THREE.Vector3): Found {
    let best = Infinity, where = -1, found: [number, number, number] = [1, 0, 0], distance = 0;
    const stack = [0], triangle = new THREE.Triangle(), foot = new THREE.Vector3(), b = new THREE.Vector3();
    while (stack.length > 0) {
      const node = stack.pop()!;
      if (this.boxSquared(node, p.x, p.y, p.z) >= best) continue;
      const first = this.nodes[2 * node], second = this.nodes[2 * node + 1];
      if (first < 0) {
        const [near, far] = this.boxSquared(-first, p.x, p.y, p.z) < this.boxSquared(second, p.x, p.y, p.z) ? [-first, second] : [second, -first];
        stack.push(far, near);
        continue;
      }
      for (let i = first; i < first + second; ++i) {
        const t = this.order[i];
        triangle.a.fromArray(this.at, 9 * t);
        triangle.b.fromArray(this.at, 9 * t + 3);
        triangle.c.fromArray(this.at, 9 * t + 6);
        triangle.closestPointToPoint(p, foot);
        const squared = foot.distanceToSquared(p);
        const against = this.normals[3 * t] * normal.x + this.normals[3 * t + 1] * normal.y + this.normals[3 * t + 2] * normal.z;
        const counted = squared * (against < 0 ? BEHIND : 1) + (against < 0 ? 1e-12 : 0);
        if (counted >= best || !triangle.getBarycoord(foot, b)) continue;
        best = counted;
        where = t;
        found = [b.x, b.y, b.z];
        distance = Math.sqrt(squared);
      }
    }
    const barycentric: [number, number, number] = [0, 0, 0];
    for (let k = 0; k < 3; ++k) barycentric[this.names[3 * where + k] % 3] = Math.max(found[k], 0);
    const sum = barycentric[0] + barycentric[1] + barycentric[2];
    return { triangle: Math.floor(this.names[3 * where] / 3), barycentric: barycentric.map((x) => x / sum) as Found['barycentric'], distance };
  }
}

/** The colours a material has by itself, sRGB 0 to 1; undefined where it has one colour. */
function ownColors(material: THREE.Material, geometry: THREE.BufferGeometry): ((weights: [number, number][]) => number[]) | undefined {
  const from = material as THREE.MeshStandardMaterial, { map } = from, factor = (from.color ?? new THREE.Color(1, 1, 1)).toArray();
  const encode = (linear: number[]) => new THREE.Color().fromArray(linear.map((x, c) => x * factor[c])).convertLinearToSRGB().toArray();
  const mix = (attribute: THREE.BufferAttribute, weights: [number, number][], size: number) =>
    Array.from({ length: size }, (_, c) => weights.reduce((sum, [v, w]) => sum + w * attribute.getComponent(v, c), 0));
  const colors = from.vertexColors ? geometry.attributes.color as THREE.BufferAttribute | undefined : undefined;
  if (map?.image) {
    const image = map.image as CanvasImageSource & { width: number; height: number }, uv = geometry.attributes[map.channel > 0 ? `uv${map.channel}` : 'uv'] as THREE.BufferAttribute;
    if (!uv) return undefined;
    const width = Math.min(image.width, 2048), height = Math.min(image.height, 2048), canvas = new OffscreenCanvas(width, height), context = canvas.getContext('2d')!;
    context.drawImage(image, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height), at = new THREE.Vector2(), linear = (byte: number) => THREE.MathUtils.clamp(byte / 255, 0, 1);
    map.updateMatrix();
    return (weights) => {
      const [u, v] = mix(uv, weights, 2);
      map.transformUv(at.set(u, v));
      const x = at.x * width - 0.5, y = at.y * height - 0.5, x0 = Math.floor(x), y0 = Math.floor(y), fx = x - x0, fy = y - y0, out = [0, 0, 0];
      const inside = (i: number, n: number) => ((i % n) + n) % n;
      for (const [i, j, w] of [[0, 0, (1 - fx) * (1 - fy)], [1, 0, fx * (1 - fy)], [0, 1, (1 - fx) * fy], [1, 1, fx * fy]]) {
        const texel = 4 * (inside(y0 + j, height) * width + inside(x0 + i, width));
        for (let c = 0; c < 3; ++c) out[c] += w * linear(data[texel + c]);
      }
      const color = new THREE.Color().setRGB(out[0], out[1], out[2], THREE.SRGBColorSpace);  // as linear numbers
      return encode(color.toArray());
    };
  }
  return colors ? (weights) => encode(mix(colors, weights, 3)) : undefined;
}

/** Divides a triangle mesh evenly: [vertex, weight] of the corners of each new vertex. */
function divided(geometry: THREE.BufferGeometry, world: THREE.Matrix4, step: number): { weights: [number, number][][]; index: number[] } {
  const { position } = geometry.attributes, { index } = geometry, count = (index ? index.count : position.count) / 3;
  const weights: [number, number][][] = [], triangles: number[] = [], p = [0, 1, 2].map(() => new THREE.Vector3());
  for (let t = 0; t < count; ++t) {
    const v = [0, 1, 2].map((k) => index ? index.getX(3 * t + k) : 3 * t + k);
    v.forEach((i, k) => p[k].fromBufferAttribute(position as THREE.BufferAttribute, i).applyMatrix4(world));
    const longest = Math.max(p[0].distanceTo(p[1]), p[1].distanceTo(p[2]), p[2].distanceTo(p[0])), n = Math.max(1, Math.min(64, Math.ceil(longest / step))), first = weights.length;
    const row = (i: number) => i * (n + 1) - i * (i - 1) / 2;
    for (let i = 0; i <= n; ++i) for (let j = 0; i + j <= n; ++j) weights.push([[v[0], (n - i - j) / n], [v[1], i / n], [v[2], j / n]]);
    for (let i = 0; i < n; ++i) {
      for (let j = 0; i + j < n; ++j) {
        const a = first + row(i) + j, b = first + row(i + 1) + j;
        triangles.push(a, b, a + 1);
        if (i + j < n - 1) triangles.push(b, b + 1, a + 1);
      }
    }
  }
  return { weights, index: triangles };
}

function interpolated(attribute: THREE.BufferAttribute, weights: [number, number][][]): THREE.BufferAttribute {
  const size = attribute.itemSize, out = new Float32Array(size * weights.length);
  weights.forEach((corners, i) => {
    for (let c = 0; c < size; ++c) out[size * i + c] = corners.reduce((sum, [v, w]) => sum + w * attribute.getComponent(v, c), 0);
  });
  return new THREE.BufferAttribute(out, size);
}

/** Moves a scene into the box of another if it lies elsewhere or has another size. */
function moved(scene: THREE.Object3D, onto: THREE.Box3): boolean {
  scene.updateMatrixWorld(true);
  const box = new THREE.Box3().setFromObject(scene, true), size = box.getSize(new THREE.Vector3()).length(), wanted = onto.getSize(new THREE.Vector3()).length();
  const apart = box.getCenter(new THREE.Vector3()).distanceTo(onto.getCenter(new THREE.Vector3()));
  if (!(size > 0) || (size > 0.8 * wanted && size < 1.25 * wanted && apart < 0.1 * wanted)) return false;
  const scale = wanted / size, to = onto.getCenter(new THREE.Vector3()).sub(box.getCenter(new THREE.Vector3()).multiplyScalar(scale));
  scene.scale.multiplyScalar(scale);
  scene.position.multiplyScalar(scale).add(to);
  scene.updateMatrixWorld(true);
  return true;
}

/**
 * Gives a model the colours of a product, piece by piece; `show` is called whenever there is more to see. `full`: the error in 8-bit levels
 * that is drawn brightest. Stops when `cancelled` says so.
 */
export async function carry(product: Model, onto: Model, full: () => number, show: (part: number) => void, cancelled: () => boolean): Promise<CarrySays> {
  product.scene.updateMatrixWorld(true);
  const nearest = new Nearest(product.scene), box = new THREE.Box3().setFromObject(product.scene, true), size = box.getSize(new THREE.Vector3()).length();
  if (nearest.empty) throw new Error('the product has no triangles with kernels');
  const says: CarrySays = { distance: 0, points: 0, moved: moved(onto.scene, box) };
  const meshes = onto.plainMeshes();
  // As fine as the points reach: their number falls with the square of the step.
  let step = size / 20;
  const points = () => meshes.reduce((sum, { mesh }) => sum + estimate(mesh, step), 0);
  while (points() < MOST_POINTS / 2 && step > size / 400) step *= 0.8;
  while (points() > MOST_POINTS && step < size) step *= 1.25;
  const jobs = meshes.map(({ mesh, loaded }) => {
    const before = mesh.geometry, own = ownColors(loaded, before), { weights, index } = divided(before, mesh.matrixWorld, step), after = new THREE.BufferGeometry();
    for (const name of ['position', 'normal']) if (before.attributes[name]) after.setAttribute(name, interpolated(before.attributes[name] as THREE.BufferAttribute, weights));
    after.setIndex(index);
    if (!after.attributes.normal) after.computeVertexNormals();
    for (const name of ['color', 'carriedError', 'carriedDistance']) after.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * weights.length).fill(0.4), 3));
    mesh.geometry = after;
    return { mesh, weights, own, after, before };
  });
  const total = jobs.reduce((sum, { weights }) => sum + weights.length, 0), errors = new Float32Array(total), distances = new Float32Array(total);
  const p = new THREE.Vector3(), n = new THREE.Vector3(), heat = new THREE.Color(), { product: texture } = product;
  let done = 0, squared = 0, compared = 0, from = performance.now();
  for (const { mesh, weights, own, after } of jobs) {
    const turn = new THREE.Matrix3().getNormalMatrix(mesh.matrixWorld), { position, normal } = after.attributes;
    for (let i = 0; i < weights.length; ++i, ++done) {
      p.fromBufferAttribute(position as THREE.BufferAttribute, i).applyMatrix4(mesh.matrixWorld);
      n.fromBufferAttribute(normal as THREE.BufferAttribute, i).applyMatrix3(turn);
      const found = nearest.find(p, n), color = colorAt(texture!, found);
      heat.setRGB(color[0], color[1], color[2], THREE.SRGBColorSpace);
      after.attributes.color.setXYZ(i, heat.r, heat.g, heat.b);
      distances[done] = found.distance / size;
      errors[done] = -1;
      if (own) {
        const wanted = own(weights[i]), apart = color.map((x, c) => Math.abs(x - wanted[c]));
        errors[done] = 255 * Math.max(...apart);
        squared += apart.reduce((sum, x) => sum + x * x, 0);
        ++compared;
      }
      after.attributes.carriedError.setXYZ(i, ...heatLinear(errors[done] < 0 ? 0 : errors[done] / full()));
      after.attributes.carriedDistance.setXYZ(i, ...heatLinear(distances[done] / 0.01));
      if (performance.now() - from < SLICE_MS) continue;
      for (const { after: geometry } of jobs) for (const name of ['color', 'carriedError', 'carriedDistance']) geometry.attributes[name].needsUpdate = true;
      show(done / total);
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (cancelled()) return says;
      from = performance.now();
    }
  }
  for (const { after, before } of jobs) {
    for (const name of ['color', 'carriedError', 'carriedDistance']) after.attributes[name].needsUpdate = true;
    before.dispose();
  }
  // The scale of errors can be chosen later.
  onto.rescale = (most) => {
    let at = 0;
    for (const { after, weights } of jobs) {
      for (let i = 0; i < weights.length; ++i, ++at) after.attributes.carriedError.setXYZ(i, ...heatLinear(errors[at] < 0 ? 0 : errors[at] / most));
      after.attributes.carriedError.needsUpdate = true;
    }
  };
  says.points = total;
  if (compared > 0) {
    says.psnr = -10 * Math.log10(Math.max(squared / (3 * compared), 1e-12));
    says.mean = errors.reduce((sum, x) => sum + Math.max(x, 0), 0) / compared;
  }
  says.distance = distances.sort()[Math.floor(0.95 * (total - 1))];
  show(1);
  return says;
}

function estimate(mesh: THREE.Mesh, step: number): number {
  const { position } = mesh.geometry.attributes, { index } = mesh.geometry, count = (index ? index.count : position.count) / 3, p = [0, 1, 2].map(() => new THREE.Vector3());
  const every = Math.max(1, Math.floor(count / 2000));  // a sample does
  let sum = 0, seen = 0;
  for (let t = 0; t < count; t += every, ++seen) {
    [0, 1, 2].forEach((k) => p[k].fromBufferAttribute(position as THREE.BufferAttribute, index ? index.getX(3 * t + k) : 3 * t + k).applyMatrix4(mesh.matrixWorld));
    const longest = Math.max(p[0].distanceTo(p[1]), p[1].distanceTo(p[2]), p[2].distanceTo(p[0])), n = Math.max(1, Math.min(64, Math.ceil(longest / step)));
    sum += (n + 1) * (n + 2) / 2;
  }
  return seen > 0 ? sum / seen * count : 0;
}

/** The base colour of a point of the product, sRGB. */
function colorAt(product: Product, { triangle, barycentric }: Found): number[] {
  const values = product.evaluate(triangle, barycentric), color = values.base_color ?? values[product.groups[0].name];
  return (color.length >= 3 ? color.slice(0, 3) : [color[0], color[0], color[0]]).map((x) => Math.min(Math.max(x, 0), 1));
}

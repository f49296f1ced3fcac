// A loaded file: the scene that three made of it, and its materials in every view.

import * as THREE from 'three';
import { GLTFLoader, type GLTF } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { HSKKernelTexture, channelExpression, inspectionMaterial, type KernelTables } from 'heatskin-three';
import type { ChannelGroup, Product } from './heatskin';

/** A view: lit, unlit, coverage, footprints, faces, or channel:NAME. */
export type Mode = string;

export interface ModeChoice { mode: Mode; label: string }

/** Kernels whose outlines are drawn alone; empty: all. Texels of a row, the kernel's number in each. */
const MOST_OUTLINED = 30;

const FOOTPRINTS = /* glsl */`
uniform int heatskinOutlined[${MOST_OUTLINED}];
uniform int heatskinOutlines;

/** 1 on the line where a kernel has half of its weight, about a pixel wide. */
float heatskinOutline(int record, vec2 bx, vec2 by) {
  HeatskinPair pair = heatskinPair(record);
  vec4 shape = heatskinKernel(pair.first + 1);
  float weight = heatskinWeight(pair, shape);
  vec4 x = heatskinRecord(2 * record), y = heatskinRecord(2 * record + 1);
  HeatskinPair right = pair, above = pair;
  right.at += vec2(dot(x.xy, bx), dot(y.xy, bx));
  above.at += vec2(dot(x.xy, by), dot(y.xy, by));
  right.squared = dot(right.at, right.at);
  above.squared = dot(above.at, above.at);
  float change = length(vec2(heatskinWeight(right, shape), heatskinWeight(above, shape)) - weight);
  return 1.0 - smoothstep(0.4, 1.1, abs(weight - 0.5) / max(change, 1e-6));
}

float heatskinFootprints() {
  vec2 bx = dFdx(heatskinB), by = dFdy(heatskinB);
  float line = 0.0;
  for (int i = 0; i < HEATSKIN_MOST; ++i) {
    if (i >= heatskinCount) break;
    if (heatskinOutlines > 0) {
      int kernel = int(heatskinRecord(2 * (heatskinBegin + i)).w + 0.5);
      bool wanted = false;
      for (int j = 0; j < ${MOST_OUTLINED}; ++j) if (j < heatskinOutlines && heatskinOutlined[j] == kernel) wanted = true;
      if (!wanted) continue;
    }
    line = max(line, heatskinOutline(heatskinBegin + i, bx, by));
  }
  return line;
}
`;

const RAMP = /* glsl */`
vec3 heatskinRamp(float t) {
  return clamp(vec3(1.6 - 1.6 * t, 1.7 * t - 0.25, 0.25 + 0.5 * t * t), 0.0, 1.0);
}
`;

const FACES = 'diffuseColor.rgb = heatskinLinear( 0.35 + 0.6 * fract( float( vHeatskinFace ) * vec3( 0.754877, 0.569840, 0.381966 ) ) );';

function outlineCode(base: string): string {
  return `heatskinEvaluate();
  ${base}
  diffuseColor.rgb = mix( diffuseColor.rgb, vec3( dot( diffuseColor.rgb, vec3( 0.3333 ) ) > 0.05 ? 0.0 : 0.6 ),
                          ( heatskinOutlines > 0 ? 0.95 : 0.55 ) * heatskinFootprints() );`;
}

/** Code that shows a group: colours as they are, one value as grey, vectors as red and green. */
function groupCode(product: Product, group: ChannelGroup): string {
  const value = channelExpression(product, group), [low, high] = group.range.map((x) => x.toFixed(6));
  const relative = `( ( ${value} ) - ${low} ) / ( ${high} - ${low} )`;
  const color = group.count === 1 ? `vec3( ${relative} )` : group.count === 2 ? `vec3( ${relative}, 1.0 )` :
                group.name === 'base_color' ? value : relative;
  return `heatskinEvaluate(); diffuseColor.rgb = heatskinLinear( ${color} );`;
}

function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words[0].toUpperCase() + words.slice(1);
}

type Painted = THREE.Mesh<THREE.BufferGeometry, THREE.Material>;

export class Model {
  readonly scene: THREE.Group;
  readonly product?: Product;
  readonly tables?: KernelTables;
  /** Why kernels are not shown, if the file has some. */
  readonly reason?: string;
  readonly triangles: number;
  readonly vertices: number;
  readonly outlined = { heatskinOutlined: { value: new Int32Array(MOST_OUTLINED) }, heatskinOutlines: { value: 0 } };
  /** Set by carry(): vertices have the colours of a product. Takes the error (8-bit levels) that is drawn brightest. */
  rescale?: (full: number) => void;
  carried = false;
  private readonly meshes: { mesh: Painted; loaded: THREE.Material }[] = [];
  private readonly made = new Map<string, THREE.Material>();

  private constructor(readonly name: string, readonly bytes: number, gltf: GLTF) {
    this.scene = gltf.scene;
    const outcome = (gltf.userData as { heatskin?: { shown: boolean; reason?: string; product?: Product; tables?: KernelTables } }).heatskin;
    this.reason = outcome?.reason;
    this.product = outcome?.product;
    this.tables = outcome?.tables;
    let triangles = 0, vertices = 0;
    this.scene.traverse((object) => {
      const mesh = object as Painted;
      if (!mesh.isMesh) return;
      this.meshes.push({ mesh, loaded: mesh.material });
      mesh.castShadow = mesh.receiveShadow = true;
      const { index, attributes } = mesh.geometry;
      triangles += (index ? index.count : attributes.position.count) / 3;
      vertices += attributes.position.count;
    });
    this.triangles = Math.floor(triangles);
    this.vertices = vertices;
  }

  static async load(name: string, bytes: ArrayBuffer, variant?: string): Promise<Model> {
    const loader = new GLTFLoader();
    loader.setMeshoptDecoder(MeshoptDecoder);
    loader.register((parser) => new HSKKernelTexture(parser, { variant }));
    return new Model(name, bytes.byteLength, await loader.parseAsync(bytes, ''));
  }

  get variants(): string[] {
    const root = this.product?.gltf.root as { extensions?: { KHR_materials_variants?: { variants: { name: string }[] } } } | undefined;
    return (root?.extensions?.KHR_materials_variants?.variants ?? []).map(({ name }) => name);
  }

  /** Bytes of kernels and charts in the file. */
  get kernelBytes(): { kernels: number; charts: number } {
    const { product } = this;
    if (!product) return { kernels: 0, charts: 0 };
    const views = product.gltf.root.bufferViews, { kernels, ...other } = product.extension, charts = other.charts ?? other.proxyCharts;
    return { kernels: views[kernels.bufferView].byteLength, charts: charts ? views[charts.bufferView].byteLength : 0 };
  }

  /** Views of this file. Those of the original are the same where it has the textures. */
  modes(): ModeChoice[] {
    const general = [{ mode: 'lit', label: 'Lit' }, { mode: 'unlit', label: 'Unlit' }];
    if (!this.product) return [...general, { mode: 'faces', label: 'Faces' }];
    const channels = this.product.groups.filter(({ count }) => count <= 3)
      .map(({ name }) => ({ mode: `channel:${name}`, label: `Channel: ${labelOf(name).toLowerCase()}` }));
    return [...general, { mode: 'footprints', label: 'Kernel footprints' }, { mode: 'coverage', label: 'Coverage' },
            { mode: 'faces', label: 'Faces' }, ...channels];
  }

  /** Draws the outlines of these kernels alone; none: of all. */
  outline(kernels: number[]): void {
    const chosen = kernels.slice(0, MOST_OUTLINED);
    this.outlined.heatskinOutlined.value.set(chosen);
    this.outlined.heatskinOutlines.value = chosen.length;
  }

  /** Meshes and the materials they came with. */
  plainMeshes(): { mesh: Painted; loaded: THREE.Material }[] { return this.meshes; }

  /** Gives back what the graphics memory holds of it. */
  dispose(): void {
    const materials = new Set<THREE.Material>(this.made.values());
    for (const { mesh, loaded } of this.meshes) {
      mesh.geometry.dispose();
      materials.add(loaded);
      for (const child of mesh.children) if (child.userData.wireframe) (child as THREE.LineSegments).geometry.dispose();
    }
    for (const material of materials) {
      for (const value of Object.values(material)) if ((value as THREE.Texture | null)?.isTexture) (value as THREE.Texture).dispose();
      material.dispose();
    }
    this.tables?.dispose();
  }

  setWireframe(on: boolean): void {
    for (const { mesh } of this.meshes) {
      const old = mesh.children.find((child) => child.userData.wireframe);
      if (old) { mesh.remove(old); (old as THREE.LineSegments).geometry.dispose(); }
      if (!on) continue;
      const lines = new THREE.LineSegments(new THREE.WireframeGeometry(mesh.geometry),
                                           new THREE.LineBasicMaterial({ color: 0x000000, transparent: true, opacity: 0.35, depthWrite: false }));
      lines.userData.wireframe = true;
      mesh.add(lines);
    }
  }

  show(mode: Mode): void {
    for (const { mesh, loaded } of this.meshes) mesh.material = this.materialFor(mesh, loaded, mode);
  }

  private materialFor(mesh: Painted, loaded: THREE.Material, mode: Mode): THREE.Material {
    if (mode === 'lit' && !this.carried) return loaded;
    const key = `${loaded.uuid} ${mode}`;
    let material = this.made.get(key);
    if (!material) {
      const kernels = this.product && this.tables && mesh.geometry.attributes.heatskinCorner !== undefined;
      material = this.carried ? carriedMaterial(loaded, mode) : kernels ? this.kernelMaterial(loaded, mode) : plainMaterial(loaded, mode);
      this.made.set(key, material);
    }
    return material;
  }

  private kernelMaterial(loaded: THREE.Material, mode: Mode): THREE.Material {
    const product = this.product!, tables = this.tables!, base = product.groups.find(({ name }) => name === 'base_color') ?? product.groups[0];
    const shown = groupCode(product, base);
    if (mode === 'coverage')
      return inspectionMaterial(loaded, tables, 'heatskinEvaluate(); diffuseColor.rgb = heatskinLinear( heatskinRamp( min( heatskinCoverage, 1.0 ) ) );', RAMP);
    if (mode === 'footprints')
      return inspectionMaterial(loaded, tables, outlineCode(shown.replace('heatskinEvaluate();', '')), FOOTPRINTS, this.outlined);
    if (mode === 'faces') return inspectionMaterial(loaded, tables, FACES);
    const group = product.groups.find(({ name }) => mode === `channel:${name}`);
    return inspectionMaterial(loaded, tables, group ? groupCode(product, group) : shown);
  }
}

/** Materials of a mesh that has the colours of a product at its vertices (carry.ts). */
function carriedMaterial(loaded: THREE.Material, mode: Mode): THREE.Material {
  const { side } = loaded;
  if (mode === 'lit') return new THREE.MeshStandardMaterial({ side, vertexColors: true, roughness: 0.8, metalness: 0 });
  const material = new THREE.MeshBasicMaterial({ side, vertexColors: true, toneMapped: false });
  const attribute = { 'carried:error': 'carriedError', 'carried:distance': 'carriedDistance' }[mode as 'carried:error'];
  if (attribute) {
    material.onBeforeCompile = (shader) => {
      shader.vertexShader = `attribute vec3 ${attribute};\n${shader.vertexShader.replace('#include <color_vertex>', `#include <color_vertex>\nvColor.rgb = ${attribute};`)}`;
    };
    material.customProgramCacheKey = () => `heatskin ${attribute}`;
  }
  return material;
}

/** The same views of materials without kernels. */
function plainMaterial(loaded: THREE.Material, mode: Mode): THREE.Material {
  const from = loaded as THREE.MeshStandardMaterial;
  const make = (options: THREE.MeshBasicMaterialParameters) =>
    new THREE.MeshBasicMaterial({ side: from.side, toneMapped: false, transparent: from.transparent, opacity: from.opacity, alphaTest: from.alphaTest, ...options });
  const single = (map: THREE.Texture | null | undefined, channel: 'r' | 'g' | 'b', factor: number) => {
    const material = make({ map: map ?? null });
    if (!map) material.color.setRGB(factor, factor, factor, THREE.SRGBColorSpace);
    else {
      material.onBeforeCompile = (shader) => {
        shader.fragmentShader = shader.fragmentShader.replace('#include <map_fragment>',
          `{ float v = ${factor.toFixed(6)} * texture2D( map, vMapUv ).${channel};
             diffuseColor.rgb = vec3( v <= 0.04045 ? v / 12.92 : pow( ( v + 0.055 ) / 1.055, 2.4 ) ); }`);
      };
      material.customProgramCacheKey = () => `single ${channel} ${factor}`;
    }
    return material;
  };
  switch (mode) {
    case 'channel:metallic': return single(from.metalnessMap, 'b', from.metalness ?? 0);
    case 'channel:roughness': return single(from.roughnessMap, 'g', from.roughness ?? 1);
    case 'channel:occlusion': return single(from.aoMap, 'r', 1);
    case 'channel:emissive': return make({ map: from.emissiveMap, color: from.emissive });
    case 'faces': case 'coverage': return make({ color: 0x808890 });
    default: return make({ map: from.map, color: from.color, vertexColors: from.vertexColors });
  }
}

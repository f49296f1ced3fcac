import type { BufferGeometry, DataTexture, Material, MeshBasicMaterial } from 'three';
import type { GLTF, GLTFLoaderPlugin, GLTFParser } from 'three/examples/jsm/loaders/GLTFLoader.js';

export declare const HSK_KERNEL_TEXTURE: 'HSK_kernel_texture';

/** What the plugin leaves in `gltf.userData.heatskin` of files with kernels. */
export type HeatskinOutcome = { shown: true; product: unknown; tables: KernelTables } | { shown: false; reason: string };

/** GLTFLoader's plugin: `loader.register((parser) => new HSKKernelTexture(parser))`. */
export declare class HSKKernelTexture implements GLTFLoaderPlugin {
  readonly name: string;
  constructor(parser: GLTFParser, options?: { variant?: string; level?: number });
  afterRoot(gltf: GLTF): Promise<void>;
}

/** The kernels of a product in textures. */
export declare class KernelTables {
  constructor(product: unknown);
  readonly faces: DataTexture;
  readonly records: DataTexture;
  readonly kernels: DataTexture;
  readonly most: number;
  readonly stride: number;
  dispose(): void;
}

export declare function attachCorners(geometry: BufferGeometry, product: unknown, mesh: number, primitive: number, first: number): BufferGeometry;
export declare function patchMaterial<M extends Material>(original: M, tables: KernelTables, groups: unknown[]): M;

/** Materials for customDepthMaterial and customDistanceMaterial of a mesh whose holes (alpha mode MASK) kernels decide. */
export declare function shadowMaterials(original: Material, tables: KernelTables, groups: unknown[]): { depth: Material; distance: Material } | undefined;

/**
 * A material that shows what `code` (GLSL that sets diffuseColor, in linear units) says instead of a lit colour, for views that explain a texture:
 * call heatskinEvaluate() in it, then use heatskinCoverage, vHeatskinFace or what channelExpression() gives.
 */
export declare function inspectionMaterial(original: Material, tables: KernelTables, code: string, declarations?: string,
                                           uniforms?: Record<string, { value: unknown }>): MeshBasicMaterial;

/** GLSL for the value of one of the product's channel groups, after heatskinEvaluate(). */
export declare function channelExpression(product: unknown, group: unknown): string;

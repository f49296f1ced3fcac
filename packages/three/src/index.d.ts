import type { BufferGeometry, DataTexture, Material } from 'three';
import type { GLTF, GLTFLoaderPlugin, GLTFParser } from 'three/examples/jsm/loaders/GLTFLoader.js';

export declare const HSK_KERNEL_TEXTURE: 'HSK_kernel_texture';

/** What the plugin leaves in `gltf.userData.heatskin` of files with kernels. */
export type HeatskinOutcome = { shown: true; product: unknown; tables: KernelTables } | { shown: false; reason: string };

/** GLTFLoader's plugin: `loader.register((parser) => new HSKKernelTexture(parser))`. */
export declare class HSKKernelTexture implements GLTFLoaderPlugin {
  readonly name: string;
  constructor(parser: GLTFParser);
  afterRoot(gltf: GLTF): Promise<void>;
}

/** The kernels of a product in textures. */
export declare class KernelTables {
  constructor(product: unknown);
  readonly faces: DataTexture;
  readonly records: DataTexture;
  readonly kernels: DataTexture;
  readonly most: number;
  dispose(): void;
}

export declare function attachCorners(geometry: BufferGeometry, product: unknown, mesh: number, primitive: number, first: number): BufferGeometry;
export declare function patchMaterial<M extends Material>(original: M, tables: KernelTables, groups: unknown[]): M;

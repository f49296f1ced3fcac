import { Extension, ExtensionProperty } from '@gltf-transform/core';
import type { ReaderContext, WriterContext, PropertyType } from '@gltf-transform/core';

export declare const HSK_KERNEL_TEXTURE: 'HSK_kernel_texture';

/** Synchronous zlib (RFC 1950), for places without node:zlib; registered as 'heatskin.zlib'. */
export interface Zlib {
  inflate(bytes: Uint8Array): Uint8Array;
  deflate(bytes: Uint8Array): Uint8Array;
}

/** The kernels of a document: opaque to everything but their own extension. */
export declare class KernelTexture extends ExtensionProperty {
  static EXTENSION_NAME: typeof HSK_KERNEL_TEXTURE;
  extensionName: string;
  propertyType: string;
  parentTypes: PropertyType[];
  protected init(): void;
  /** The extension's object as it was read. */
  getDefinition(): Record<string, unknown> | null;
  /** The number of kernels. */
  getKernelCount(): number;
}

/**
 * HSK_kernel_texture: kernels are written for the triangles the document has then, or dropped with a message.
 *
 * const io = new NodeIO().registerExtensions([...ALL_EXTENSIONS, HSKKernelTexture]);
 */
export declare class HSKKernelTexture extends Extension {
  static EXTENSION_NAME: typeof HSK_KERNEL_TEXTURE;
  readonly extensionName: string;
  /** What happens when kernels no longer fit the triangles: 'drop' (with a warning, the default) or 'refuse'. */
  setPolicy(policy: 'drop' | 'refuse'): this;
  read(context: ReaderContext): this;
  write(context: WriterContext): this;
}

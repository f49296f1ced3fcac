// What the viewer uses of examples/read_product.js.

export interface Kernel {
  triangle: number; barycentric: number[]; angle: number; anisotropy: number; threshold: number; sharpness: number; length: number;
  residual: number[]; floor: number; range: number;
}

export interface ChannelGroup { name: string; count: number; range: [number, number]; mean: number[]; kind?: string }

export interface Product {
  kernels: Kernel[];
  groups: ChannelGroup[];
  mean: number[];
  vectors: number[];
  extension: { triangles: number; kernels: { bufferView: number }; charts?: { bufferView: number }; proxyCharts?: { bufferView: number } };
  gltf: { root: { bufferViews: { byteLength: number }[] } };
  mesh: { count: number; repeats: Int32Array; turns: Int32Array; corner(t: number, c: number): number[] };
  evaluate(triangle: number, barycentric: number[]): Record<string, number[]> & { coverage: number };
  weights(triangle: number, barycentric: number[]): { face: number; kept: { kernel: number; weight: number }[] };
}

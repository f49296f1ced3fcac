// round_trips.js PRODUCT.glb OUT_FOLDER: runs glTF-Transform's functions on a product and writes what comes out.
// Prints a line of JSON for each: its name, the file, whether kernels are expected in it, and the warnings.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger, NodeIO, PropertyType } from '@gltf-transform/core';
import { ALL_EXTENSIONS } from '@gltf-transform/extensions';
import * as functions from '@gltf-transform/functions';
import draco3d from 'draco3dgltf';
import { HSKKernelTexture, KernelTexture } from 'heatskin-gltf-transform';
import { MeshoptDecoder, MeshoptEncoder, MeshoptSimplifier } from 'meshoptimizer';

const [product, folder] = process.argv.slice(2);
await Promise.all([MeshoptEncoder.ready, MeshoptDecoder.ready, MeshoptSimplifier.ready]);
const {
  center, cloneDocument, dedup, draco, flatten, inspect, join: joinParts, meshopt, prune, quantize, reorder, resample,
  simplify, textureCompress, unweld, weld,
} = functions;
await mkdir(folder, { recursive: true });

const makeIo = async (dependencies = {}) =>
  new NodeIO().registerExtensions([...ALL_EXTENSIONS, HSKKernelTexture]).registerDependencies({
    'meshopt.encoder': MeshoptEncoder, 'meshopt.decoder': MeshoptDecoder,
    'draco3d.encoder': await draco3d.createEncoderModule(), 'draco3d.decoder': await draco3d.createDecoderModule(),
    ...dependencies,
  });

class Ears extends Logger {
  warnings = [];
  warn(text) { this.warnings.push(text); }
}

/** Mirrors the document by a vertex: the shape changes, the number of triangles does not. */
const edit = (document) => {
  const positions = document.getRoot().listMeshes()[0].listPrimitives()[0].getAttribute('POSITION');
  const p = positions.getElement(0, []);
  positions.setElement(0, [p[0] + 0.3, p[1], p[2]]);
};
const swapTriangles = (document) => {
  const indices = document.getRoot().listMeshes()[0].listPrimitives()[0].getIndices();
  if (!indices) return;
  const array = indices.getArray().slice();
  for (let k = 0; k < 3; ++k) [array[k], array[array.length - 3 + k]] = [array[array.length - 3 + k], array[k]];
  indices.setArray(array);
};
/** Every primitive on a grid of so many steps; the steps do not divide the sides, so that cubes change, too. */
const round = (levels) => (document) => {
  for (const mesh of document.getRoot().listMeshes()) {
    for (const primitive of mesh.listPrimitives()) {
      const positions = primitive.getAttribute('POSITION');
      const low = positions.getMin([]), high = positions.getMax([]);
      const step = (1.07 * Math.max(...high.map((v, k) => v - low[k]))) / levels;
      for (let i = 0; i < positions.getCount(); ++i)
        positions.setElement(i, positions.getElement(i, []).map((v, k) => low[k] + Math.round((v - low[k]) / step) * step));
    }
  }
};

const cases = {
  copy: [true],
  clone: [true, (document) => cloneDocument(document)],
  inspect: [true, (document) => void inspect(document)],
  dedup: [true, dedup()],
  prune: [true, prune()],
  dedup_prune: [true, dedup({ propertyTypes: [PropertyType.ACCESSOR, PropertyType.MESH, PropertyType.MATERIAL] }), prune()],
  weld: [true, weld()],
  unweld: [true, unweld()],
  resample: [true, resample()],
  flatten: [true, flatten()],
  join: [true, flatten(), joinParts()],
  center: [true, center()],
  reorder: [true, weld(), reorder({ encoder: MeshoptEncoder })],
  quantize: [true, quantize()],
  meshopt: [true, meshopt({ encoder: MeshoptEncoder, level: 'medium' })],
  meshopt_high: [true, meshopt({ encoder: MeshoptEncoder, level: 'high' })],
  draco: [true, draco()],
  resize: [true, textureCompress({ resize: [64, 64] })],
  swapped: [true, swapTriangles],
  all: [true, dedup(), flatten(), joinParts(), weld(), resample(), prune(), meshopt({ encoder: MeshoptEncoder })],
  simplify: [false, weld(), simplify({ simplifier: MeshoptSimplifier, ratio: 0.5, error: 0.01 })],
  edited: [false, edit],
  coarse: [false, round(20)],
};
for (const [name, [kept, ...transforms]] of Object.entries(cases)) {
  const io = await makeIo();
  let document = await io.read(product);
  const ears = new Ears();
  document.setLogger(ears);
  for (const transform of transforms) {
    const result = transform.length === 1 && transforms.length === 1 ? await transform(document) : await document.transform(transform);
    if (result && typeof result.getRoot === 'function') document = result;
  }
  document.setLogger(ears);
  const file = join(folder, `${name}.glb`);
  await writeFile(file, await io.writeBinary(document));
  // The document can be written again, and what was written can be read and written again.
  const again = await (await makeIo()).read(file);
  const there = again.getRoot().getExtension('HSK_kernel_texture') instanceof KernelTexture;
  await writeFile(join(folder, `${name}_again.glb`), await (await makeIo()).writeBinary(again.setLogger(ears)));
  console.log(JSON.stringify({ name, file, kept, there, warnings: ears.warnings }));
}

// Without meshopt's decoder nobody can say which corners were rotated.
{
  const io = await makeIo({ 'meshopt.decoder': undefined });
  const document = await io.read(product);
  const ears = new Ears();
  document.setLogger(ears);
  await document.transform(meshopt({ encoder: MeshoptEncoder }));
  const file = join(folder, 'no_decoder.glb');
  await writeFile(file, await io.writeBinary(document));
  console.log(JSON.stringify({ name: 'no_decoder', file, kept: false, there: false, warnings: ears.warnings }));
}

// The other policy.
{
  const io = await makeIo();
  const document = await io.read(product);
  edit(document);
  document.getRoot().listExtensionsUsed().find((e) => e.extensionName === 'HSK_kernel_texture').setPolicy('refuse');
  let message = '';
  await io.writeBinary(document).catch((error) => (message = error.message));
  console.log(JSON.stringify({ name: 'refused', file: null, kept: false, there: false, warnings: [message] }));
}

// A program that has never heard of kernels: extras stay.
{
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS);
  io.setLogger(new Ears());
  const file = join(folder, 'unaware.glb');
  await writeFile(file, await io.writeBinary(await io.read(product)));
  console.log(JSON.stringify({ name: 'unaware', file, kept: false, there: false, warnings: [] }));
}

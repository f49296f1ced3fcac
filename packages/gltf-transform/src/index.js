// HSK_kernel_texture for glTF-Transform. The kernels of a product are read with the triangles they sit on, and written
// with those the document has then: as they are where nothing moved, on the new triangles where these were only
// reordered or rounded, and not at all, with a message, where the shape changed.

import { Extension, ExtensionProperty, GLB_BUFFER, PropertyType } from '@gltf-transform/core';
import { moveKernels } from './kernels.js';
import { matchTriangles, ORDERS } from './matching.js';
import { listTriangles, normalised } from './triangles.js';

export const HSK_KERNEL_TEXTURE = 'HSK_kernel_texture';
const MESHOPT = 'EXT_meshopt_compression', DRACO = 'KHR_draco_mesh_compression';

/** Of Node; elsewhere another one is registered as 'heatskin.zlib'. */
async function nodeZlib() {
  try {
    const { inflateSync, deflateSync } = await import('node:zlib');
    return { inflate: (bytes) => inflateSync(bytes), deflate: (bytes) => deflateSync(bytes, { level: 9 }) };
  } catch {
    return null;
  }
}
const ownZlib = await nodeZlib();

/** Buffer views that properties called bufferView name, at any depth. */
function forEachView(value, visit) {
  if (value === null || typeof value !== 'object') return;
  for (const key of Object.keys(value)) {
    if (key === 'bufferView') visit(value, key);
    else forEachView(value[key], visit);
  }
}

/** What was read. A class, so that copies of documents share it instead of turning it into JSON. Never changed. */
class StoredKernels {
  constructor(content) {
    Object.assign(this, content);
  }
}

/** The kernels of a document: opaque to everything but their own extension. */
export class KernelTexture extends ExtensionProperty {
  static EXTENSION_NAME = HSK_KERNEL_TEXTURE;

  init() {
    this.extensionName = HSK_KERNEL_TEXTURE;
    this.propertyType = 'KernelTexture';
    this.parentTypes = [PropertyType.ROOT];
  }

  getDefaults() {
    return Object.assign(super.getDefaults(), { stored: null });
  }

  /** The extension's object as it was read. */
  getDefinition() {
    return this.get('stored')?.object ?? null;
  }

  /** The number of kernels. */
  getKernelCount() {
    return this.getDefinition()?.kernels.count ?? 0;
  }
}

export class HSKKernelTexture extends Extension {
  static EXTENSION_NAME = HSK_KERNEL_TEXTURE;
  extensionName = HSK_KERNEL_TEXTURE;
  prewriteTypes = [PropertyType.ACCESSOR, PropertyType.BUFFER];
  writeDependencies = ['meshopt.encoder', 'meshopt.decoder', 'heatskin.zlib'];

  _policy = 'drop';
  _meshoptEncoder = null;
  _meshoptDecoder = null;
  _zlib = ownZlib;
  _pending = null;

  install(key, dependency) {
    if (key === 'meshopt.encoder' && dependency) this._meshoptEncoder = dependency;
    if (key === 'meshopt.decoder' && dependency) this._meshoptDecoder = dependency;
    if (key === 'heatskin.zlib' && dependency) this._zlib = dependency;
    return this;
  }

  /** What happens when kernels no longer fit the triangles: 'drop' (with a warning) or 'refuse' (writing throws). */
  setPolicy(policy) {
    if (policy !== 'drop' && policy !== 'refuse') throw new Error(`${HSK_KERNEL_TEXTURE}: no policy '${policy}'`);
    this._policy = policy;
    return this;
  }

  read(context) {
    const json = context.jsonDoc.json;
    if (!json.extensions?.[HSK_KERNEL_TEXTURE]) return this;
    // Levels of detail hang on nodes that only MSFT_lod names, which glTF-Transform does not know.
    const { levels, ...object } = json.extensions[HSK_KERNEL_TEXTURE];
    if (levels) this.document.getLogger().warn(`${HSK_KERNEL_TEXTURE}: 'levels' is left out: the kernels of level 0 stay`);
    const views = new Map();
    forEachView(object, (holder, key) => {
      const view = context.bufferViews[holder[key]];
      if (!view) throw new Error(`${HSK_KERNEL_TEXTURE}: buffer view ${holder[key]} does not exist`);
      views.set(holder[key], view.slice());
    });
    const { corners, parts } = listTriangles(this.document);
    if (corners.length / 9 !== object.triangles) {
      this.document.getLogger().warn(
        `${HSK_KERNEL_TEXTURE}: made for ${object.triangles} triangles, but the scene has ${corners.length / 9}: dropped`);
      return this;
    }
    // Which triangles have the colour of their material, by the row of `factors`; 0: kernels.
    const constant = new Uint16Array(object.triangles), factors = [null];
    const materials = (object.constantMaterials || []).map((index) => context.materials[index]);
    const rows = new Map(materials.map((material, i) => [material, i + 1]));
    for (const material of materials) factors.push(material.getBaseColorFactor().slice());
    for (const part of parts) {
      const row = rows.get(part.primitive.getMaterial());
      if (row !== undefined) constant.fill(row, part.first, part.first + part.count);
    }
    // In which other groups of channels triangles have the values of their material, by the row of `groupRows`.
    const partly = new Uint16Array(object.triangles), groupRows = [[]];
    const lists = object.channels.map((group) => new Set((group.constantMaterials || []).map((index) => context.materials[index])));
    const rowOf = new Map([['', 0]]);
    for (const part of parts) {
      const groups = lists.flatMap((list, g) => (list.has(part.primitive.getMaterial()) ? [g] : []));
      if (!rowOf.has(groups.join())) rowOf.set(groups.join(), groupRows.push(groups) - 1);
      partly.fill(rowOf.get(groups.join()), part.first, part.first + part.count);
    }
    // Materials that only variants (KHR_materials_variants) use: no triangle shows them now.
    const shown = new Set(parts.map((part) => part.primitive.getMaterial()));
    const inVariants = [
      materials.filter((material) => !shown.has(material)), ...lists.map((list) => [...list].filter((m) => !shown.has(m))),
    ];
    const texture = new KernelTexture(this.document.getGraph());
    texture.set('stored', new StoredKernels({
      object: structuredClone(object), views, corners: normalised(corners), constant, factors, partly, groupRows, inVariants,
    }));
    this.document.getRoot().setExtension(HSK_KERNEL_TEXTURE, texture);
    return this;
  }

  prewrite(context, propertyType) {
    if (propertyType === PropertyType.ACCESSOR) this._pending = this._prepare();
    else if (this._pending) this._addViews(context, this._pending);
    return this;
  }

  write(context) {
    const json = context.jsonDoc.json, pending = this._pending;
    this._pending = null;
    if (pending && this._meshoptChanged(context, pending)) this._giveUp('the file was compressed in an unexpected way');
    else if (pending) {
      const object = pending.object;
      forEachView(object, (holder, key) => {
        holder[key] = context.otherBufferViewsIndexMap.get(pending.views.get(holder[key]));
      });
      delete object.constantMaterials;
      const numbersOf = (list) => [...new Set(list.map((material) => context.materialIndexMap.get(material)))]
        .filter((number) => number !== undefined).sort((a, b) => a - b);
      const constants = numbersOf([...pending.constants, ...pending.inVariants[0]]);
      if (constants.length > 0) object.constantMaterials = constants;
      object.channels.forEach((group, g) => {
        delete group.constantMaterials;
        const own = [...pending.partly].filter(([, groups]) => groups.includes(g));
        const numbers = numbersOf([...own.map(([material]) => material), ...pending.inVariants[g + 1]]);
        if (numbers.length > 0) group.constantMaterials = numbers;
      });
      json.extensions = { ...json.extensions, [HSK_KERNEL_TEXTURE]: object };
      return this;
    }
    json.extensionsUsed = json.extensionsUsed.filter((name) => name !== HSK_KERNEL_TEXTURE);
    return this;
  }

  /** Nothing more is written of the kernels. */
  _giveUp(why) {
    const message = `${HSK_KERNEL_TEXTURE}: ${why}`;
    if (this._policy === 'refuse') throw new Error(message);
    this.document.getLogger().warn(`${message}: the kernels are dropped; 'heatskin attach' may put them back`);
    return null;
  }

  /** The object and the buffers to be written for the triangles that the document has now. */
  _prepare() {
    const stored = this.document.getRoot().getExtension(HSK_KERNEL_TEXTURE)?.get('stored');
    if (!stored) return null;
    const used = new Map(this.document.getRoot().listExtensionsUsed().map((e) => [e.extensionName, e]));
    // Draco's other method reorders triangles while the file is written, after anyone could follow them.
    const draco = used.get(DRACO);
    if (draco) draco.setEncoderOptions({ ...draco._encoderOptions, method: 0 /* sequential */ });
    let rotated = null;
    if (used.has(MESHOPT)) {
      if (!this._meshoptEncoder || !this._meshoptDecoder)
        return this._giveUp('with meshopt compression, register meshopt.decoder beside meshopt.encoder');
      rotated = this._rotatedIndices();
    }
    const { corners, parts } = listTriangles(this.document, (accessor) => rotated?.get(accessor) ?? accessor.getArray());
    const after = normalised(corners);
    const partOf = new Uint32Array(corners.length / 9);
    parts.forEach(({ first, count }, part) => partOf.fill(part, first, first + count));
    const match = matchTriangles(stored.corners, after, partOf);
    if (!match) return this._giveUp('the shape of the mesh was changed');
    const constants = this._constantMaterials(stored, match, parts, corners.length / 9);
    if (!constants) return null;
    const partly = this._partlyConstantMaterials(stored, match, parts, corners.length / 9);
    if (!partly) return null;
    let object = structuredClone(stored.object);
    const views = new Map([...stored.views].map(([index, bytes]) => [index, bytes.slice()]));
    if (!match.identical || rotated) {
      try {
        const index = object.kernels.bufferView;
        // What else there is speaks of triangles in their old order.
        for (const key of Object.keys(object)) {
          let others = 0;
          if (key !== 'kernels') forEachView(object[key], () => ++others);
          if (others > 0) {
            this.document.getLogger().warn(`${HSK_KERNEL_TEXTURE}: '${key}' is left out: the triangles were reordered`);
            delete object[key];
          }
        }
        const moved = moveKernels(object, stored.views.get(index), match, ORDERS, stored.corners, after, this._zlib ?? missingZlib);
        object = moved.object;
        views.clear();
        views.set(index, Uint8Array.from(moved.bytes));
      } catch (error) {
        return this._giveUp(`the kernels cannot be put on the reordered triangles (${error.message})`);
      }
    }
    object.triangles = corners.length / 9;
    return { object, views, constants, partly, rotated, inVariants: stored.inVariants };
  }

  /** Materials that give their triangles their colour; null if what has kernels and what has not cannot be told apart. */
  _constantMaterials(stored, match, parts, count) {
    const row = new Uint16Array(count);
    for (let t = 0; t < match.to.length; ++t) if (match.to[t] >= 0) row[match.to[t]] = stored.constant[t];
    const withKernels = new Set(), constant = new Map();
    for (const { first, count: triangles, primitive } of parts) {
      const rows = new Set(row.subarray(first, first + triangles));
      if (rows.size > 1) return this._giveUp('parts with kernels and parts of one colour were joined');
      const [only] = rows;
      if (only === 0) withKernels.add(primitive.getMaterial());
      else constant.set(primitive, stored.factors[only]);
    }
    const materials = new Set();
    for (const [primitive, factor] of constant) {
      let material = primitive.getMaterial();
      const kept = material && !material.getBaseColorTexture() && !primitive.getAttribute('COLOR_0') &&
        material.getBaseColorFactor().every((value, i) => Math.abs(value - factor[i]) < 1e-6);
      const textureIdle = material?.getBaseColorTexture() && !primitive.getAttribute('TEXCOORD_0') &&
        material.getBaseColorFactor().every((value, i) => Math.abs(value - factor[i]) < 1e-6);
      if (!kept && !textureIdle) return this._giveUp('the material of a part of one colour was changed');
      // Tools join materials that look the same; here the number of a material has a meaning.
      if (withKernels.has(material)) {
        material = material.clone();
        primitive.setMaterial(material);
      }
      materials.add(material);
    }
    return [...materials];
  }

  /** Materials that give their triangles their values in some groups of channels, with the numbers of these; null as above. */
  _partlyConstantMaterials(stored, match, parts, count) {
    const row = new Uint16Array(count);
    for (let t = 0; t < match.to.length; ++t) if (match.to[t] >= 0) row[match.to[t]] = stored.partly[t];
    const rowOf = new Map(), materials = new Map();
    for (const { first, count: triangles, primitive } of parts) {
      const rows = new Set(row.subarray(first, first + triangles));
      if (rows.size > 1) return this._giveUp('parts that differ in what their materials say were joined');
      const [only = 0] = rows;
      let material = primitive.getMaterial();
      if (!material && only !== 0) return this._giveUp('the material of a part that has values of it was removed');
      if (!material) continue;
      // Tools join materials that look the same; here the number of a material has a meaning.
      if (rowOf.has(material) && rowOf.get(material) !== only) {
        material = material.clone();
        primitive.setMaterial(material);
      }
      rowOf.set(material, only);
      if (only !== 0) materials.set(material, stored.groupRows[only]);
    }
    return materials;
  }

  /** Indices of triangle lists as meshopt's codec gives them back: it rotates corners. Grouped as the writer does. */
  _rotatedIndices() {
    const groups = new Map(), root = this.document.getRoot();
    for (const accessor of root.listAccessors()) {
      const parents = accessor.listParents();
      const indices = parents.filter((parent) => parent.propertyType === PropertyType.PRIMITIVE && parent.getIndices() === accessor);
      if (indices.length === 0 || !indices.some((primitive) => primitive.getMode() === 4)) continue;
      let array = accessor.getArray();
      if (array.BYTES_PER_ELEMENT === 1) array = new Uint16Array(array);
      const key = [array.BYTES_PER_ELEMENT, root.listBuffers().indexOf(accessor.getBuffer())].join(':');
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push([accessor, array]);
    }
    const out = new Map();
    for (const members of groups.values()) {
      const stride = members[0][1].BYTES_PER_ELEMENT;
      const count = members.reduce((sum, [, array]) => sum + array.length, 0);
      const all = stride === 2 ? new Uint16Array(count) : new Uint32Array(count);
      let at = 0;
      for (const [, array] of members) {
        all.set(array, at);
        at += array.length;
      }
      const bytes = new Uint8Array(all.buffer);
      const encoded = this._meshoptEncoder.encodeGltfBuffer(bytes, count, stride, 'TRIANGLES');
      this._meshoptDecoder.decodeGltfBuffer(bytes, count, stride, encoded, 'TRIANGLES');
      at = 0;
      for (const [accessor, array] of members) {
        out.set(accessor, all.slice(at, at + array.length));
        at += array.length;
      }
    }
    return out;
  }

  /** True if a written accessor has other indices than expected: nothing is said about kernels on other corners. */
  _meshoptChanged(context, pending) {
    if (!pending.rotated) return false;
    const { json, resources } = context.jsonDoc;
    for (const [accessor, expected] of pending.rotated) {
      const definition = json.accessors[context.accessorIndexMap.get(accessor)];
      const view = json.bufferViews[definition?.bufferView];
      const meshopt = view?.extensions?.[MESHOPT];
      if (!meshopt) return true;
      const uri = json.buffers[meshopt.buffer].uri;
      const resource = resources[uri ?? GLB_BUFFER];
      if (!resource) return true;
      const source = resource.subarray(meshopt.byteOffset || 0, (meshopt.byteOffset || 0) + meshopt.byteLength);
      const bytes = new Uint8Array(meshopt.count * meshopt.byteStride);
      this._meshoptDecoder.decodeGltfBuffer(bytes, meshopt.count, meshopt.byteStride, source, meshopt.mode);
      const first = (definition.byteOffset || 0) / meshopt.byteStride;
      const all = meshopt.byteStride === 2 ? new Uint16Array(bytes.buffer) : new Uint32Array(bytes.buffer);
      if (!expected.every((value, i) => all[first + i] === value)) return true;
    }
    return false;
  }

  _addViews(context, pending) {
    const root = this.document.getRoot();
    const buffer = root.listBuffers()[0] ?? this.document.createBuffer();
    const others = context.otherBufferViews.get(buffer) ?? [];
    others.push(...pending.views.values());
    context.otherBufferViews.set(buffer, others);
  }
}

const missingZlib = {
  inflate() {
    throw new Error("register 'heatskin.zlib' with functions inflate and deflate");
  },
  deflate() {
    throw new Error("register 'heatskin.zlib' with functions inflate and deflate");
  },
};

// HSK_kernel_texture for three.js: kernels of heatskin products, evaluated in the fragment shader of the materials that
// GLTFLoader makes. Everything else (lights, shadows, environment, tone mapping, skins, animations) stays three's.
//
//   loader.register((parser) => new HSKKernelTexture(parser));

import { Group, Matrix4, Mesh } from 'three';
import './read_product.js';
import { KernelTables, attachCorners } from './tables.js';
import { channelExpression, inspectionMaterial, patchMaterial, shadowMaterials, shownGroups } from './materials.js';

export const HSK_KERNEL_TEXTURE = 'HSK_kernel_texture';
const KHR_VARIANTS = 'KHR_materials_variants';
export { KernelTables, attachCorners, channelExpression, inspectionMaterial, patchMaterial, shadowMaterials };

const { Product, Gltf, FormatError } = globalThis.heatskin;

/** What the reader asks of a file, answered by three's parser: it knows compression and buffers outside of the file. */
class ParsedGltf extends Gltf {
  static async open(parser) {
    const source = Object.create(ParsedGltf.prototype);
    Object.assign(source, { root: parser.json, parser, geometries: new Map(), accessors: new Map() });
    await Promise.all([
      ...(parser.json.meshes || []).map(async ({ primitives }) => {
        const geometries = await parser.loadGeometries(primitives);
        primitives.forEach((primitive, i) => source.geometries.set(primitive, geometries[i]));
      }),
      ...source.neededAccessors().map(async (index) =>
        source.accessors.set(index, valuesOf(await parser.getDependency('accessor', index)))),
    ]);
    return source;
  }

  /** Those that geometries do not hold: transforms of instances, and corners of strips and fans, which three makes triangles of. */
  neededAccessors() {
    const instanced = (this.root.nodes || []).flatMap((node) =>
      Object.values(node.extensions?.EXT_mesh_gpu_instancing?.attributes || {}));
    const strips = (this.root.meshes || []).flatMap(({ primitives }) => primitives)
      .filter(({ mode, indices }) => (mode === 5 || mode === 6) && indices !== undefined).map(({ indices }) => indices);
    return [...new Set([...instanced, ...strips])];
  }

  async view(index) { return new Uint8Array(await this.parser.getDependency('bufferView', index)); }

  accessor(index) { return this.accessors.get(index); }

  geometry(primitive) {
    const mode = primitive.mode ?? 4, geometry = this.geometries.get(primitive);
    if (mode < 4 || mode > 6) return null;
    const { position, normal } = geometry.attributes;
    let triangles;
    if (mode === 4) {
      const corners = geometry.index ? geometry.index.array : Uint32Array.from({ length: position.count }, (_, i) => i);
      triangles = corners.subarray(0, corners.length - (corners.length % 3));
    } else {
      triangles = this.triangles({ ...primitive, extensions: undefined });
    }
    // three computes normals only for materials; a primitive without NORMAL is flat.
    const authored = primitive.attributes.NORMAL !== undefined && normal;
    return { triangles, positions: valuesOf(position), normals: authored ? valuesOf(normal) : null };
  }
}

function valuesOf(attribute) {
  const { count, itemSize } = attribute, out = new Float64Array(count * itemSize);
  for (let i = 0; i < count; ++i)
    for (let c = 0; c < itemSize; ++c) out[i * itemSize + c] = attribute.getComponent(i, c);
  return out;
}

/** Objects that three made for the primitives of a node, in their order. `nodes`: the objects of all nodes. */
function primitivesOf(object, nodes) {
  const found = [];
  const visit = (part) => {
    if (part.isMesh || part.isLine || part.isPoints) found.push(part);
    for (const child of part.children) if (!nodes.has(child)) visit(child);
  };
  visit(object);
  return found;
}

/** One mesh for each instance: every one of them has triangles of its own. */
function separateInstances(instanced) {
  const group = new Group(), matrix = new Matrix4();
  Object.assign(group, { name: instanced.name, userData: instanced.userData, visible: instanced.visible });
  const meshes = Array.from({ length: instanced.count }, (_, i) => {
    const mesh = new Mesh(instanced.geometry, instanced.material);
    instanced.getMatrixAt(i, matrix);
    mesh.applyMatrix4(matrix);
    Object.assign(mesh, { castShadow: instanced.castShadow, receiveShadow: instanced.receiveShadow, frustumCulled: true });
    group.add(mesh);
    return mesh;
  });
  group.applyMatrix4(instanced.matrix);
  const parent = instanced.parent;
  parent.children[parent.children.indexOf(instanced)] = group;
  Object.assign(group, { parent });
  return meshes;
}

/**
 * The plugin. After loading, `gltf.userData.heatskin` says what happened: {shown: true, product, tables} or {shown: false,
 * reason} where the file has kernels that cannot be shown, and its fallback is. Files without kernels are left alone.
 */
export class HSKKernelTexture {
  /**
   * `variant`: the name of a material variant (KHR_materials_variants) whose values and materials are shown. `level`: the number of
   * a level of detail (MSFT_lod), which then takes the place of what is in the scene.
   */
  constructor(parser, { variant, level = 0 } = {}) {
    this.name = HSK_KERNEL_TEXTURE;
    this.parser = parser;
    this.variant = variant;
    this.level = level;
  }

  async afterRoot(gltf) {
    if (!this.parser.json.extensions?.[HSK_KERNEL_TEXTURE]) return;
    gltf.userData = gltf.userData || {};
    try {
      gltf.userData.heatskin = { shown: true, ...(await this.show(gltf)) };
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      gltf.userData.heatskin = { shown: false, reason: error.message };
    }
  }

  async show(gltf) {
    const { parser, variant, level } = this, product = await Product.from(await ParsedGltf.open(parser), variant, level);
    const tables = new KernelTables(product), names = parser.json.extensions?.[KHR_VARIANTS]?.variants || [];
    const number = names.findIndex(({ name }) => name === variant);
    const nodes = await Promise.all((parser.json.nodes || []).map((_, i) => parser.getDependency('node', i)));
    const isNode = new Set(nodes), meshes = new Map(), patched = new Map();
    if (level > 0) {
      gltf.scene.clear();
      gltf.scene.add(nodes[parser.json.extensions[HSK_KERNEL_TEXTURE].levels[level - 1].node]);
    }
    for (const { node, placement, primitive, first } of product.parts) {
      const key = `${node} ${primitive}`;
      if (!meshes.has(key)) {
        const object = primitivesOf(nodes[node], isNode)[primitive];
        meshes.set(key, object.isInstancedMesh ? separateInstances(object) : [object]);
      }
      const mesh = meshes.get(key)[placement], definition = parser.json.meshes[parser.json.nodes[node].mesh].primitives[primitive];
      const mapped = definition.extensions?.[KHR_VARIANTS]?.mappings?.find(({ variants }) => variants.includes(number));
      if (mesh.isMesh && mapped) {
        mesh.material = await parser.getDependency('material', mapped.material);
        parser.assignFinalMaterial(mesh);
      }
      const groups = mesh.isMesh ? shownGroups(product, (mapped ?? definition).material ?? -1) : [];
      if (groups.length === 0) continue;
      mesh.geometry = attachCorners(mesh.geometry, product, parser.json.nodes[node].mesh, primitive, first);
      const name = `${mesh.material.uuid} ${groups.map((group) => group.name)}`;
      if (!patched.has(name))
        patched.set(name, { material: patchMaterial(mesh.material, tables, groups), shadows: shadowMaterials(mesh.material, tables, groups) });
      const { material, shadows } = patched.get(name);
      mesh.material = material;
      if (shadows) Object.assign(mesh, { customDepthMaterial: shadows.depth, customDistanceMaterial: shadows.distance });
    }
    return { product, tables };
  }
}

// Which channel goes where in three's materials.

import { MeshBasicMaterial, MeshDepthMaterial, MeshDistanceMaterial, MeshPhysicalMaterial, MeshStandardMaterial, RGBADepthPacking } from 'three';
import { NORMAL_FUNCTION, fragmentDeclarations, vertexCode, vertexDeclarations } from './shader.js';

/** Ambient occlusion as three applies it (aomap_fragment). */
const OCCLUSION = (value) => /* glsl */`
{
  float heatskinOcclusion = ${value};
  reflectedLight.indirectDiffuse *= heatskinOcclusion;
  #if defined( USE_CLEARCOAT )
    clearcoatSpecularIndirect *= heatskinOcclusion;
  #endif
  #if defined( USE_SHEEN )
    sheenSpecularIndirect *= heatskinOcclusion;
  #endif
  #if defined( USE_ENVMAP ) && defined( STANDARD )
    reflectedLight.indirectSpecular *= computeSpecularOcclusion(
      saturate( dot( geometryNormal, geometryViewDir ) ), heatskinOcclusion, material.roughness );
  #endif
}
`;

/** Sets a normal from its slope against three's vertex normal. */
const tilted = (normal, value) => /* glsl */`
{
  #ifdef FLAT_SHADED
    vec3 heatskinFlat = heatskinNormal( - vViewPosition, vec3( 0.0 ), ${value} );
    ${normal} = dot( heatskinFlat, nonPerturbedNormal ) < 0.0 ? - heatskinFlat : heatskinFlat;
  #else
    #ifdef DOUBLE_SIDED
      float heatskinFacing = faceDirection;
    #else
      float heatskinFacing = 1.0;
    #endif
    ${normal} = heatskinFacing * heatskinNormal( - vViewPosition, nonPerturbedNormal * heatskinFacing, ${value} );
  #endif
}
`;

const NORMAL = (value) => tilted('normal', value);

const COAT_NORMAL = (value) => /* glsl */`
#ifdef USE_CLEARCOAT
${tilted('clearcoatNormal', value)}
#endif
`;

/** As three does with its own (lights_physical_fragment). */
const ANISOTROPY = (value) => /* glsl */`
#ifdef USE_ANISOTROPY
{
  #ifdef FLAT_SHADED
    vec3 heatskinAlong = heatskinShaded( - vViewPosition, vec3( 0.0 ), ${value} );
  #else
    #ifdef DOUBLE_SIDED
      float heatskinFacing = faceDirection;
    #else
      float heatskinFacing = 1.0;
    #endif
    vec3 heatskinAlong = heatskinShaded( - vViewPosition, nonPerturbedNormal * heatskinFacing, ${value} );
  #endif
  material.anisotropy = saturate( length( heatskinAlong ) );
  if ( material.anisotropy > 0.0 ) {
    material.anisotropyT = normalize( heatskinAlong );
    material.anisotropyB = normalize( cross( nonPerturbedNormal, material.anisotropyT ) );
  }
  material.alphaT = mix( pow2( material.roughness ), 1.0, pow2( material.anisotropy ) );
}
#endif
`;

/**
 * For each channel group the chunk of three's shaders behind which its value is known and the code that uses it, the textures
 * it takes the place of, and a property that the material needs (MeshPhysicalMaterial alone has the later ones).
 */
const SLOTS = {
  base_color: { after: 'color_fragment', code: (v) => `diffuseColor.rgb = heatskinLinear( ${v} );` },
  alpha: { after: 'color_fragment', code: (v) => `diffuseColor.a = ${v};`, maps: ['alphaMap'] },
  roughness: { after: 'roughnessmap_fragment', code: (v) => `roughnessFactor = ${v};`, maps: ['roughnessMap'], needs: 'roughness' },
  metallic: { after: 'metalnessmap_fragment', code: (v) => `metalnessFactor = ${v};`, maps: ['metalnessMap'], needs: 'metalness' },
  emissive: { after: 'emissivemap_fragment', code: (v) => `totalEmissiveRadiance = ${v};`, maps: ['emissiveMap'], needs: 'emissive' },
  occlusion: { after: 'aomap_fragment', code: OCCLUSION, maps: ['aoMap'], needs: 'metalness' },
  normal: { after: 'normal_fragment_maps', code: NORMAL, maps: ['normalMap'], needs: 'metalness' },
  clearcoat: { after: 'lights_physical_fragment', code: (v) => `
    #ifdef USE_CLEARCOAT
      material.clearcoat = saturate( ${v} );
    #endif`, maps: ['clearcoatMap'], needs: 'clearcoat' },
  clearcoat_roughness: { after: 'lights_physical_fragment', code: (v) => `
    #ifdef USE_CLEARCOAT
      material.clearcoatRoughness = min( max( ${v}, 0.0525 ) + geometryRoughness, 1.0 );
    #endif`, maps: ['clearcoatRoughnessMap'], needs: 'clearcoat' },
  clearcoat_normal: { after: 'clearcoat_normal_fragment_maps', code: COAT_NORMAL, maps: ['clearcoatNormalMap'], needs: 'clearcoat' },
  anisotropy: { after: 'lights_physical_fragment', code: ANISOTROPY, maps: ['anisotropyMap'], needs: 'anisotropy' },
  sheen_color: { after: 'lights_physical_fragment', code: (v) => `
    #ifdef USE_SHEEN
      material.sheenColor = heatskinLinear( ${v} );
    #endif`, maps: ['sheenColorMap'], needs: 'sheen' },
  sheen_roughness: { after: 'lights_physical_fragment', code: (v) => `
    #ifdef USE_SHEEN
      material.sheenRoughness = clamp( ${v}, 0.07, 1.0 );
    #endif`, maps: ['sheenRoughnessMap'], needs: 'sheen' },
};

/** The groups of a product that kernels decide on triangles of a material and that three has a slot for. */
export function shownGroups(product, material) {
  if ((product.extension.constantMaterials || []).includes(material)) return [];
  return product.groups.filter(({ name, constantMaterials }) => SLOTS[name] && !(constantMaterials || []).includes(material));
}

/** An expression for the value of a group. */
function valueOf(product, group) {
  const first = product.groups.slice(0, product.groups.indexOf(group)).reduce((sum, { count }) => sum + count, 0);
  const channels = Array.from({ length: group.count }, (_, i) => `heatskinValues[${(first + i) >> 2}].${'xyzw'[(first + i) & 3]}`);
  const vector = channels.length === 1 ? channels[0] : `vec${channels.length}(${channels})`;
  const [low, high] = group.range.map((x) => x.toFixed(8));
  return `mix( ${channels.length === 1 ? `${low}, ${high}` : `vec${channels.length}( ${low} ), vec${channels.length}( ${high} )`}, ${vector} )`;
}

/** The textures, and the vertex shader that says where on its triangle a fragment is. */
function feed(shader, tables) {
  Object.assign(shader.uniforms, {
    heatskinFaces: { value: tables.faces }, heatskinRecords: { value: tables.records }, heatskinKernels: { value: tables.kernels },
    heatskinFootprint: tables.footprint,
  });
  if (tables.proxy) Object.assign(shader.uniforms, { heatskinProxy: { value: tables.proxy }, heatskinLists: { value: tables.lists } });
  shader.vertexShader = after(after(shader.vertexShader, 'common', vertexDeclarations(tables)), 'begin_vertex', vertexCode(tables));
}

/** A copy that has whatever physical materials have: products carry no extension for anisotropy that kernels hold. */
function physicalCopy(original) {
  const material = MeshStandardMaterial.prototype.copy.call(new MeshPhysicalMaterial(), original);
  return Object.assign(material, { defines: { STANDARD: '', PHYSICAL: '' } });
}

const usesNormals = (names) => ['normal', 'clearcoat_normal', 'anisotropy'].some((name) => names.has(name));

/** A copy of a material whose channels come from kernels. It goes with geometries that have heatskinCorner. */
export function patchMaterial(original, tables, groups) {
  const anisotropic = groups.some(({ name }) => name === 'anisotropy') && original.isMeshStandardMaterial;
  const material = anisotropic && !original.isMeshPhysicalMaterial ? physicalCopy(original) : original.clone(), { product } = tables;
  if (anisotropic) material.anisotropy = 1;
  const shown = groups.filter(({ name }) => SLOTS[name].needs === undefined || material[SLOTS[name].needs] !== undefined);
  const names = new Set(shown.map(({ name }) => name));
  for (const name of names) for (const map of SLOTS[name].maps || []) if (material[map]) material[map] = null;
  // The fallback: colours of vertices, or a texture. Its alpha counts where no kernels say it.
  if (names.has('alpha') || !(material.transparent || material.alphaTest > 0)) Object.assign(material, { map: null, vertexColors: false });
  const before = original.onBeforeCompile, key = original.customProgramCacheKey;
  material.onBeforeCompile = function (shader, renderer) {
    before.call(this, shader, renderer);
    feed(shader, tables);
    let fragment = after(shader.fragmentShader, 'common', fragmentDeclarations(tables) + (usesNormals(names) ? NORMAL_FUNCTION : ''));
    const added = new Map();
    for (const group of shown) {
      const slot = SLOTS[group.name];
      added.set(slot.after, `${added.get(slot.after) || ''}\n${slot.code(valueOf(product, group))}\n`);
    }
    // Colours are the first thing that is needed.
    added.set('color_fragment', `heatskinEvaluate();\n${added.get('color_fragment') || ''}`);
    for (const [chunk, code] of added) fragment = after(fragment, chunk, code);
    shader.fragmentShader = fragment;
  };
  material.customProgramCacheKey = function () {
    return `${key.call(original)} heatskin ${[...names]} ${fragmentDeclarations(tables)}`;
  };
  return material;
}

/**
 * What casts the shadow of a material with holes (alpha mode MASK) whose alpha kernels decide: materials for a mesh's
 * customDepthMaterial and customDistanceMaterial (point lights). Undefined if three's own do.
 */
export function shadowMaterials(original, tables, groups) {
  const alpha = groups.find(({ name }) => name === 'alpha');
  if (alpha === undefined || !(original.alphaTest > 0)) return undefined;
  const value = valueOf(tables.product, alpha);
  const [depth, distance] = [new MeshDepthMaterial({ depthPacking: RGBADepthPacking }), new MeshDistanceMaterial()];
  for (const material of [depth, distance]) {
    material.onBeforeCompile = (shader) => {
      feed(shader, tables);
      // Maps of the fallback do not count.
      shader.fragmentShader = after(after(shader.fragmentShader, 'common', fragmentDeclarations(tables)), 'alphamap_fragment',
                                    `heatskinEvaluate();\ndiffuseColor.a = ${value};`);
    };
    material.customProgramCacheKey = () => `heatskin shadow ${fragmentDeclarations(tables)}`;
  }
  return { depth, distance };
}

function after(code, chunk, added) {
  return code.replace(`#include <${chunk}>`, (include) => `${include}\n${added}`);
}

/**
 * A material that shows what `code` says instead of a lit colour: GLSL that sets diffuseColor (linear) and may use
 * heatskinValues, heatskinCoverage, vHeatskinFace and whatever `declarations` declares. For views that explain a texture.
 */
export function inspectionMaterial(original, tables, code, declarations = '', uniforms = {}) {
  const material = new MeshBasicMaterial({ side: original.side, toneMapped: false });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    feed(shader, tables);
    shader.fragmentShader = after(after(shader.fragmentShader, 'common', fragmentDeclarations(tables) + declarations),
                                  'color_fragment', code);
  };
  material.customProgramCacheKey = () => `heatskin inspection ${code} ${declarations} ${fragmentDeclarations(tables)}`;
  return material;
}

export { valueOf as channelExpression };

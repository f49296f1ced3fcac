import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { HSKKernelTexture } from 'heatskin-three';

/** What a shader writes instead of a lit colour; those of MeshStandardMaterial's variables. */
const OUTPUTS = {
  point: 'vec4( float( vHeatskinFace ), vHeatskinBarycentric.xy, 1.0 )',
  base_color: 'vec4( sRGBTransferOETF( vec4( diffuseColor.rgb, 1.0 ) ).rgb, diffuseColor.a )',
  material: 'vec4( metalnessFactor, roughnessFactor, 0.0, 1.0 )',
  emissive: 'vec4( totalEmissiveRadiance, 1.0 )',
  normal: 'vec4( ( vec4( normal, 0.0 ) * viewMatrix ).xyz, faceDirection )',
  clearcoat_normal: 'vec4( ( vec4( clearcoatNormal, 0.0 ) * viewMatrix ).xyz, 1.0 )',
  anisotropy: 'vec4( ( vec4( material.anisotropy * material.anisotropyT, 0.0 ) * viewMatrix ).xyz, 1.0 )',
};

/** Those that a material has only where kernels (or its maps) say so. */
const SOMETIMES = ['clearcoat_normal', 'anisotropy'];

/** A copy of a patched material that writes an output; alpha does not blend. */
function writing(material, output) {
  const copy = material.clone();
  Object.assign(copy, { transparent: false, alphaTest: 0, toneMapped: false, blending: THREE.NoBlending });
  copy.onBeforeCompile = (shader, renderer) => {
    material.onBeforeCompile(shader, renderer);
    shader.fragmentShader = shader.fragmentShader.replace('#include <dithering_fragment>', `gl_FragColor = ${OUTPUTS[output]};`);
  };
  copy.customProgramCacheKey = () => material.customProgramCacheKey() + output;
  return copy;
}

function lookAt(camera, scene) {
  const box = new THREE.Box3().setFromObject(scene), center = box.getCenter(new THREE.Vector3());
  const radius = box.getSize(new THREE.Vector3()).length() / 2;
  camera.position.copy(center).addScaledVector(new THREE.Vector3(0.5, 0.4, 1).normalize(), 2.6 * radius);
  Object.assign(camera, { near: 0.1 * radius, far: 10 * radius });
  camera.lookAt(center);
  camera.updateProjectionMatrix();
  return { center, radius };
}

function lights(scene, { center, radius }) {
  const sun = new THREE.DirectionalLight(0xffffff, 2);
  sun.position.copy(center).add(new THREE.Vector3(radius, 2 * radius, 1.5 * radius));
  sun.target.position.copy(center);
  sun.castShadow = true;
  Object.assign(sun.shadow.camera, { left: -radius, right: radius, top: radius, bottom: -radius, near: 0, far: 6 * radius });
  scene.add(sun, sun.target);
}

/** Pixels that show kernels, at most `most`, evenly over the picture; not those that rounding moved out of their triangle. */
function pick(points, most) {
  const covered = [];
  for (let i = 0; i < points.length / 4; ++i) {
    const [, b0, b1, shown] = points.subarray(4 * i, 4 * i + 4);
    if (shown === 1 && b0 >= 0 && b1 >= 0 && b0 + b1 <= 1) covered.push(i);
  }
  return covered.filter((_, i) => i % Math.ceil(covered.length / most) === 0);
}

window.measure = async (address, size, lit) => {
  const loader = new GLTFLoader();
  loader.register((parser) => new HSKKernelTexture(parser, window.pluginOptions));
  const gltf = await loader.loadAsync(address);
  const { shown = false, reason } = gltf.userData.heatskin || {};
  const renderer = new THREE.WebGLRenderer({ antialias: false, preserveDrawingBuffer: true });
  renderer.setSize(size, size);
  const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(35, 1, 0.1, 10);
  scene.add(gltf.scene);
  scene.updateMatrixWorld(true);
  const about = lookAt(camera, gltf.scene), out = { shown, reason, outputs: {} };
  if (lit) {
    const room = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment(), 0.04).texture;
    renderer.shadowMap.enabled = true;
    renderer.toneMapping = THREE.ACESFilmicToneMapping;
    lights(scene, about);
    gltf.scene.traverse((mesh) => { mesh.castShadow = mesh.receiveShadow = true; });
    Object.assign(scene, { environment: room, background: new THREE.Color(0x303438) });
    renderer.render(scene, camera);
    out.picture = renderer.domElement.toDataURL('image/png');
  }
  if (!shown) return out;
  const patched = [];
  gltf.scene.traverse((mesh) => {
    if (mesh.isMesh && mesh.geometry.attributes.heatskinCorner) patched.push([mesh, mesh.material]);
    else if (mesh.isMesh) mesh.visible = false;
  });
  Object.assign(scene, { environment: null, background: null });
  const target = new THREE.WebGLRenderTarget(size, size, { type: THREE.FloatType, minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter });
  renderer.setRenderTarget(target);
  renderer.setClearColor(0x000000, 0);
  renderer.shadowMap.enabled = false;
  const standard = patched.every(([, material]) => material.isMeshStandardMaterial);
  let picked;
  const channels = gltf.userData.heatskin.product.groups.map(({ name }) => name);
  const wanted = Object.keys(OUTPUTS).filter((name) => !SOMETIMES.includes(name) || channels.includes(name));
  for (const output of standard ? wanted : ['point', 'base_color']) {
    for (const [mesh, material] of patched) mesh.material = writing(material, output);
    renderer.clear();
    renderer.render(scene, camera);
    const pixels = new Float32Array(4 * size * size);
    renderer.readRenderTargetPixels(target, 0, 0, size, size, pixels);
    picked = picked || pick(pixels, 2000);
    out.outputs[output] = picked.map((i) => Array.from(pixels.subarray(4 * i, 4 * i + 4)));
  }
  out.version = THREE.REVISION;
  return out;
};
/**
 * The shadow of a flat mesh in the plane z = 0, along z, as a picture of what lies behind it: for pixels of the mesh the point
 * of the surface and whether its shadow is there. `light`: 'directional', 'point', or 'plain': as 'directional', with three's own
 * shadows.
 */
window.measureShadow = async (address, size, light) => {
  const loader = new GLTFLoader();
  loader.register((parser) => new HSKKernelTexture(parser));
  const gltf = await loader.loadAsync(address);
  const renderer = new THREE.WebGLRenderer({ antialias: false });
  renderer.setSize(size, size);
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.BasicShadowMap;
  const scene = new THREE.Scene();
  scene.add(gltf.scene);
  scene.updateMatrixWorld(true);
  const box = new THREE.Box3().setFromObject(gltf.scene), center = box.getCenter(new THREE.Vector3());
  const half = 0.55 * Math.max(...box.getSize(new THREE.Vector3()).toArray());
  // Seen from where the light is, a shadow lies behind what casts it.
  const camera = light === 'point' ? new THREE.PerspectiveCamera(60, 1, 0.1 * half, 20 * half) :
    new THREE.OrthographicCamera(-half, half, half, -half, 0.1 * half, 20 * half);
  camera.position.copy(center).z += 2 * half;
  const lamp = light === 'point' ? new THREE.PointLight(0xffffff, 10 * half * half) : new THREE.DirectionalLight(0xffffff, 1);
  lamp.position.copy(camera.position);
  lamp.castShadow = true;
  lamp.shadow.mapSize.set(2 * size, 2 * size);  // software renderers are slow
  Object.assign(lamp.shadow.camera, { near: 0.1 * half, far: 20 * half });
  if (light !== 'point') {
    lamp.target.position.copy(center);
    Object.assign(lamp.shadow.camera, { left: -half, right: half, top: half, bottom: -half });
    scene.add(lamp.target);
  }
  const ground = new THREE.Mesh(new THREE.PlaneGeometry(20 * half, 20 * half), new THREE.MeshLambertMaterial({ color: 0xffffff }));
  ground.position.copy(center).z -= 0.5 * half;
  ground.receiveShadow = true;
  scene.add(lamp, ground);
  const target = new THREE.WebGLRenderTarget(size, size, { type: THREE.FloatType, minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter });
  const pixels = () => {
    const out = new Float32Array(4 * size * size);
    renderer.setRenderTarget(target);
    renderer.clear();
    renderer.render(scene, camera);
    renderer.readRenderTargetPixels(target, 0, 0, size, size, out);
    return out;
  };
  const meshes = [];
  gltf.scene.traverse((mesh) => { if (mesh.isMesh) meshes.push(mesh); });
  for (const mesh of meshes) {
    mesh.castShadow = true;
    if (light === 'plain') Object.assign(mesh, { customDepthMaterial: undefined, customDistanceMaterial: undefined });
    Object.assign(mesh.material, { colorWrite: false, depthWrite: false });
  }
  const lit = pixels();
  ground.visible = false;
  renderer.shadowMap.enabled = false;
  for (const mesh of meshes) mesh.material = writing(mesh.material, 'point');
  for (const mesh of meshes) Object.assign(mesh.material, { colorWrite: true, depthWrite: true });
  renderer.setClearColor(0x000000, 0);
  const points = pixels(), picked = pick(points, 4000);
  return { points: picked.map((i) => Array.from(points.subarray(4 * i, 4 * i + 4))), shadow: picked.map((i) => lit[4 * i] < 1e-3) };
};
window.ready = true;

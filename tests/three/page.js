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
};

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
  for (const output of standard ? Object.keys(OUTPUTS) : ['point', 'base_color']) {
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
window.ready = true;

import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { HSKKernelTexture } from 'heatskin-three';

const FINER = 8;  // samples of the truth along each side of a pixel

/** A copy of a patched material that writes the linear base colour. */
function writing(material) {
  const copy = material.clone();
  Object.assign(copy, { transparent: false, alphaTest: 0, toneMapped: false, blending: THREE.NoBlending });
  copy.onBeforeCompile = (shader, renderer) => {
    material.onBeforeCompile(shader, renderer);
    shader.fragmentShader = shader.fragmentShader.replace('#include <dithering_fragment>', 'gl_FragColor = vec4( diffuseColor.rgb, 1.0 );');
  };
  copy.customProgramCacheKey = () => `${material.customProgramCacheKey()} linear`;
  return copy;
}

const encode = (x) => 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);

/** Errors of pictures of one sample with and without kernels widened to pixels, against means of FINER^2 samples. */
window.measure = async (address, size) => {
  const loader = new GLTFLoader();
  loader.register((parser) => new HSKKernelTexture(parser));
  const gltf = await loader.loadAsync(address), { tables } = gltf.userData.heatskin;
  const renderer = new THREE.WebGLRenderer({ antialias: false }), scene = new THREE.Scene();
  scene.add(gltf.scene);
  scene.updateMatrixWorld(true);
  gltf.scene.traverse((mesh) => { if (mesh.isMesh) mesh.material = writing(mesh.material); });
  const box = new THREE.Box3().setFromObject(gltf.scene), center = box.getCenter(new THREE.Vector3());
  const radius = box.getSize(new THREE.Vector3()).length() / 2, camera = new THREE.PerspectiveCamera(35, 1, 0.1 * radius, 10 * radius);
  camera.position.copy(center).addScaledVector(new THREE.Vector3(0.5, 0.4, 1).normalize(), 3.4 * radius);
  camera.lookAt(center);
  renderer.setClearColor(0x000000, 0);
  const picture = (pixels, footprint) => {
    const target = new THREE.WebGLRenderTarget(pixels, pixels, { type: THREE.FloatType });
    tables.footprint.value = footprint;
    renderer.setRenderTarget(target);
    renderer.clear();
    renderer.render(scene, camera);
    const out = new Float32Array(4 * pixels * pixels);
    renderer.readRenderTargetPixels(target, 0, 0, pixels, pixels, out);
    target.dispose();
    return out;
  };
  const fine = picture(FINER * size, 0), truth = [];
  for (let i = 0; i < size * size; ++i) {
    const sum = [0, 0, 0, 0];
    for (let s = 0; s < FINER * FINER; ++s) {
      const x = FINER * (i % size) + s % FINER, y = FINER * Math.floor(i / size) + Math.floor(s / FINER);
      for (let c = 0; c < 4; ++c) sum[c] += fine[4 * (FINER * size * y + x) + c] / FINER ** 2;
    }
    truth.push(sum);
  }
  // Pixels at the outline are for whoever smooths edges.
  const inside = truth.map((pixel, i) => [pixel, i]).filter(([pixel]) => pixel[3] > 0.999);
  const error = (footprint) => {
    const found = picture(size, footprint);
    let sum = 0;
    for (const [pixel, i] of inside) for (let c = 0; c < 3; ++c) sum += (encode(found[4 * i + c]) - encode(pixel[c])) ** 2;
    return Math.sqrt(sum / (3 * inside.length));
  };
  return { pixels: inside.length, exact: error(0), widened: error(1), again: error(0) };
};
window.ready = true;

import * as THREE from 'three';
import { USDLoader } from 'three/addons/loaders/USDLoader.js';

const SAMPLES = 400;

/** The image of a texture as pixels, when it has come. */
async function pixelsOf(texture) {
  for (let waited = 0; !texture.image?.complete; ++waited) {
    if (waited > 300) throw new Error('an image does not come');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { naturalWidth: width, naturalHeight: height } = texture.image, canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  context.drawImage(texture.image, 0, 0);
  return { width, height, data: context.getImageData(0, 0, width, height).data };
}

/** What a bilinear sampler gives, 0..1; rows of the image go down, v goes up. */
function sample({ width, height, data }, u, v) {
  const x = u * width - 0.5, y = (1 - v) * height - 0.5, x0 = Math.floor(x), y0 = Math.floor(y);
  const at = (i, j, c) => data[4 * ((((j % height) + height) % height) * width + (((i % width) + width) % width)) + c] / 255;
  return [0, 1, 2].map((c) => {
    const low = at(x0, y0, c) * (x0 + 1 - x) + at(x0 + 1, y0, c) * (x - x0);
    const high = at(x0, y0 + 1, c) * (x0 + 1 - x) + at(x0 + 1, y0 + 1, c) * (x - x0);
    return low * (y0 + 1 - y) + high * (y - y0);
  });
}

window.measure = async (address, size) => {
  const group = await new USDLoader().loadAsync(address), out = { meshes: [], samples: [] };
  group.updateMatrixWorld(true);
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const found = [];
  // The loader gives the outermost object the first mesh once more.
  group.traverse((object) => { if (object.isMesh && object.parent !== group) found.push(object); });
  for (const mesh of found) {
    const { position, uv, normal } = mesh.geometry.attributes, { map } = mesh.material;
    out.meshes.push({
      name: mesh.name, triangles: position.count / 3, uv: Boolean(uv), normal: Boolean(normal), map: Boolean(map),
      roughnessMap: Boolean(mesh.material.roughnessMap), normalMap: Boolean(mesh.material.normalMap),
      roughness: mesh.material.roughness, metalness: mesh.material.metalness, color: mesh.material.color.toArray(),
    });
    if (!map) continue;
    const pixels = await pixelsOf(map), corner = new THREE.Vector3();
    for (let i = 0; i < SAMPLES; ++i) {
      const t = Math.floor(random() * position.count / 3), [a, b] = [random(), random()].sort((x, y) => x - y);
      const weights = [a, b - a, 1 - b], place = new THREE.Vector3();
      let [u, v] = [0, 0];
      weights.forEach((w, c) => {
        place.addScaledVector(corner.fromBufferAttribute(position, 3 * t + c), w);
        u += w * uv.getX(3 * t + c);
        v += w * uv.getY(3 * t + c);
      });
      place.applyMatrix4(mesh.matrixWorld);
      out.samples.push([...place.toArray(), ...sample(pixels, u, v)]);
    }
  }
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.setSize(size, size);
  const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(35, 1, 0.1, 10);
  scene.background = new THREE.Color(0x303438);
  scene.add(group, new THREE.HemisphereLight(0xffffff, 0x888888, 3));
  const box = new THREE.Box3().setFromObject(group), center = box.getCenter(new THREE.Vector3());
  const radius = box.getSize(new THREE.Vector3()).length() / 2;
  camera.position.copy(center).addScaledVector(new THREE.Vector3(0.5, 0.4, 1).normalize(), 3.6 * radius);
  Object.assign(camera, { near: 0.1 * radius, far: 10 * radius });
  camera.lookAt(center);
  camera.updateProjectionMatrix();
  renderer.render(scene, camera);
  out.picture = renderer.domElement.toDataURL('image/png');
  out.version = THREE.REVISION;
  return out;
};
window.ready = true;

// The triangles of a document in the order of docs/format.md: over the nodes of the scene (depth first), their
// instances, primitives, triangles. Strips and fans count as the triangles they stand for.

const TRIANGLES = 4, TRIANGLE_STRIP = 5, TRIANGLE_FAN = 6;

/** Three indices into the vertices of a primitive for every triangle. */
export function triangleIndices(mode, indices, vertexCount) {
  const at = (i) => (indices ? indices[i] : i);
  const count = indices ? indices.length : vertexCount;
  if (mode === TRIANGLES) {
    const out = new Uint32Array(count - (count % 3));
    for (let i = 0; i < out.length; ++i) out[i] = at(i);
    return out;
  }
  if (mode !== TRIANGLE_STRIP && mode !== TRIANGLE_FAN) return new Uint32Array(0);
  const out = new Uint32Array(3 * Math.max(0, count - 2));
  for (let i = 0; i + 2 < count; ++i) {
    const corners = mode === TRIANGLE_FAN ? [i + 1, i + 2, 0] : [i, i + 1 + (i % 2), i + 2 - (i % 2)];
    for (let c = 0; c < 3; ++c) out[3 * i + c] = at(corners[c]);
  }
  return out;
}

function multiply(a, b) {
  const out = new Array(16).fill(0);
  for (let column = 0; column < 4; ++column)
    for (let row = 0; row < 4; ++row)
      for (let k = 0; k < 4; ++k) out[4 * column + row] += a[4 * k + row] * b[4 * column + k];
  return out;
}

function compose(t, r, s) {
  const [x, y, z, w] = r;
  return [
    (1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + z * w) * s[0], 2 * (x * z - y * w) * s[0], 0,
    2 * (x * y - z * w) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + x * w) * s[1], 0,
    2 * (x * z + y * w) * s[2], 2 * (y * z - x * w) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0,
    t[0], t[1], t[2], 1,
  ];
}

/** World matrices of a node: one, or one for each instance of EXT_mesh_gpu_instancing. */
function worldMatrices(node) {
  const world = node.getWorldMatrix();
  const instanced = node.getExtension('EXT_mesh_gpu_instancing');
  if (!instanced) return [world];
  const attributes = ['TRANSLATION', 'ROTATION', 'SCALE'].map((name) => instanced.getAttribute(name));
  const count = Math.max(0, ...attributes.filter(Boolean).map((accessor) => accessor.getCount()));
  const plain = [[0, 0, 0], [0, 0, 0, 1], [1, 1, 1]];
  return Array.from({ length: count }, (_, i) =>
    multiply(world, compose(...attributes.map((accessor, a) => (accessor ? accessor.getElement(i, []) : plain[a])))));
}

/**
 * @param document a glTF-Transform Document
 * @param indicesOf the indices of an accessor as the written file will have them
 * @returns corners: Float64Array of nine numbers per triangle in world coordinates; parts: for every primitive of
 *   every instance, its first triangle, its number of triangles and the primitive
 */
export function listTriangles(document, indicesOf = (accessor) => accessor.getArray()) {
  const root = document.getRoot();
  const scene = root.getDefaultScene() || root.listScenes()[0];
  const parts = [], blocks = [];
  let first = 0;
  scene?.traverse((node) => {
    const mesh = node.getMesh();
    if (!mesh) return;
    for (const m of worldMatrices(node)) {
      for (const primitive of mesh.listPrimitives()) {
        const positions = primitive.getAttribute('POSITION');
        if (!positions) continue;
        const indices = primitive.getIndices();
        const triangles = triangleIndices(primitive.getMode(), indices && indicesOf(indices), positions.getCount());
        if (triangles.length === 0) continue;
        const corners = new Float64Array(3 * triangles.length);
        const p = [0, 0, 0];
        for (let i = 0; i < triangles.length; ++i) {
          positions.getElement(triangles[i], p);
          for (let k = 0; k < 3; ++k)
            corners[3 * i + k] = m[k] * p[0] + m[4 + k] * p[1] + m[8 + k] * p[2] + m[12 + k];
        }
        blocks.push(corners);
        parts.push({ first, count: triangles.length / 3, primitive });
        first += triangles.length / 3;
      }
    }
  });
  const corners = new Float64Array(9 * first);
  let at = 0;
  for (const block of blocks) {
    corners.set(block, at);
    at += block.length;
  }
  return { corners, parts };
}

/** Corners moved and scaled evenly: the bounding box is centred and its longest side is 2. */
export function normalised(corners) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < corners.length; ++i) {
    low[i % 3] = Math.min(low[i % 3], corners[i]);
    high[i % 3] = Math.max(high[i % 3], corners[i]);
  }
  const extent = Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
  const out = new Float64Array(corners.length);
  if (!(extent > 0) || !Number.isFinite(extent)) return out;
  for (let i = 0; i < corners.length; ++i) out[i] = (2 * corners[i] - low[i % 3] - high[i % 3]) / extent;
  return out;
}

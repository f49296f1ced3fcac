// What a fragment shader makes of Product.faceTable(), beside evaluate(): node face_table_test.js PRODUCT.glb
// Prints the largest difference, in parts of 1.
const fs = require('fs');
const path = require('path');
const {Product} = require(path.join(__dirname, '..', '..', 'examples', 'read_product.js'));

const logistic = z => 1 / (1 + Math.exp(-z));

/** As a shader reads the arrays: every record of the triangle, the nearest candidates, the 30 strongest. */
function shade(product, table, triangle, b) {
  const channels = product.mean.length, q = product.position(triangle, b).map((x, i) => x - table.origin[i]), found = [];
  if (product.proxy) ({face: triangle, b} = product.proxy.place(triangle, product.position(triangle, b)));
  for (let r = table.begin[triangle]; r < table.begin[triangle + 1]; ++r) {
    const k = table.kernel[r], m = table.map.subarray(6 * r, 6 * r + 6);
    const x = m[0] * b[0] + m[1] * b[1] + m[2], y = m[3] * b[0] + m[4] * b[1] + m[5];
    const [px, py, pz, inverse] = table.space.subarray(4 * k, 4 * k + 4);
    const chord = ((q[0] - px) ** 2 + (q[1] - py) ** 2 + (q[2] - pz) ** 2) * inverse ** 2;
    const plane = x * x + y * y, d2 = chord > 1.0001 * plane ? chord : plane;
    const [anisotropy, threshold, sharpness, weight] = table.shape.subarray(4 * k, 4 * k + 4);
    const share = plane > 1e-18 ? y * y / plane : 0;
    const response = Math.exp(-d2 * (product.heat * (1 + anisotropy * share) + product.window));
    const floor = logistic(-sharpness * threshold), range = logistic(sharpness * (1 - threshold)) - floor + 1e-8;
    const f = Math.min(Math.max((logistic(sharpness * (response - threshold)) - floor) / range, 0), 1);
    found.push({k, f, rank: d2 * weight / inverse ** 2});
  }
  const near = found.sort((a, c) => a.rank - c.rank).slice(0, product.options.candidates);
  const kept = near.sort((a, c) => c.f - a.f).slice(0, 30), sum = Math.max(kept.reduce((s, {f}) => s + f, 0), 1);
  return product.mean.slice(0, 3).map((mean, c) => {
    const value = mean + kept.reduce((s, {k, f}) => s + f * table.residual[k * channels + c], 0) / sum;
    return Math.min(Math.max(value, 0), 1);
  });
}

(async () => {
  const bytes = fs.readFileSync(process.argv[2]);
  const product = await Product.open(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const table = product.faceTable();
  if (table.dropped !== 0) throw new Error('records were dropped');
  const few = product.faceTable(20);
  for (let t = 0; t + 1 < few.begin.length; ++t)
    if (few.begin[t + 1] - few.begin[t] > 20) throw new Error('more records than asked for');
  if (few.dropped !== table.kernel.length - few.kernel.length) throw new Error('records were miscounted');
  let state = 1, worst = 0;
  const random = () => (state = (1103515245 * state + 12345) % 2147483648) / 2147483648;
  for (let i = 0; i < 300; ++i) {
    const [a, c] = [random(), random()].sort(), b = [a, c - a, 1 - c];
    const triangle = Math.floor(random() * product.mesh.count);
    if (product.constant(triangle).coverage || product.mesh.repeats[triangle] !== triangle) continue;
    const expected = product.evaluate(triangle, b).base_color;
    shade(product, table, triangle, b).forEach((x, j) => { worst = Math.max(worst, Math.abs(x - expected[j])); });
  }
  console.log(worst);
})().catch(error => {
  console.error(error.message);
  process.exit(1);
});

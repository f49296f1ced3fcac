// Products in three.js, in headless Chromium: node render.js PACKAGES CHROMIUM PRODUCT.glb SIZE [PICTURE.png | shadows]
//
// PACKAGES is a folder with node_modules/three and node_modules/playwright-core. Prints JSON: `shown` and `reason` of the
// plugin, and for 1,000 to 2,000 pixels the point of the surface (triangle, b0, b1) and what the shader had there: base_color
// and alpha, metallic and roughness, emissive, normal (in the axes of the scene). PICTURE.png: a lit picture. shadows: instead, for
// each kind of light, points of a flat mesh and whether it casts a shadow there; with three's own shadows, too.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import url from 'node:url';

const [packages, executablePath, product, size, picture] = process.argv.slice(2);
const root = path.join(path.dirname(url.fileURLToPath(import.meta.url)), '..', '..');
const { chromium } = createRequire(path.join(path.resolve(packages), 'x.js'))('playwright-core');
const ORIGIN = 'http://heatskin.test';
const TYPES = { '.js': 'text/javascript', '.html': 'text/html', '.glb': 'model/gltf-binary' };

const places = [['/three/', path.join(packages, 'node_modules', 'three')], ['/heatskin/', path.join(root, 'packages', 'three', 'src')],
                ['/page/', path.join(root, 'tests', 'three')]];

const browser = await chromium.launch({
  executablePath, headless: true,
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
try {
  const page = await browser.newPage({ viewport: { width: Number(size), height: Number(size) } });
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  await page.route(`${ORIGIN}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    const place = places.find(([prefix]) => pathname.startsWith(prefix));
    const file = pathname === '/product.glb' ? product : place && path.join(place[1], pathname.slice(place[0].length));
    if (!file || !fs.existsSync(file)) return route.fulfill({ status: 404, body: '' });
    return route.fulfill({ body: fs.readFileSync(file), contentType: TYPES[path.extname(file)] || 'application/octet-stream' });
  });
  await page.goto(`${ORIGIN}/page/page.html`);
  await page.waitForFunction('window.ready', undefined, { timeout: 60000 });
  let found = {};
  if (picture === 'shadows') {
    for (const light of ['directional', 'point', 'plain'])
      found[light] = await page.evaluate(([pixels, kind]) => window.measureShadow('/product.glb', pixels, kind), [Number(size), light]);
  } else {
    found = await page.evaluate(([pixels, lit]) => window.measure('/product.glb', pixels, lit), [Number(size), Boolean(picture)]);
    if (picture) fs.writeFileSync(picture, Buffer.from(found.picture.split(',')[1], 'base64'));
    delete found.picture;
  }
  process.stdout.write(JSON.stringify({ ...found, problems }) + '\n');
} finally {
  await browser.close();
}

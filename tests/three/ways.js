// Files that other programs read, in headless Chromium: node ways.js PACKAGES CHROMIUM FILE.usdz|FILE.glb SIZE LEVEL [PICTURE.png]
//
// Prints JSON. Of a USDZ file what three's USDLoader makes of it: meshes, and colours of their textures at places in space. Of a
// GLB what render.js prints, for a level of detail.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import url from 'node:url';

const [packages, executablePath, file, size, level, picture] = process.argv.slice(2);
const root = path.join(path.dirname(url.fileURLToPath(import.meta.url)), '..', '..');
const { chromium } = createRequire(path.join(path.resolve(packages), 'x.js'))('playwright-core');
const ORIGIN = 'http://heatskin.test';
const TYPES = { '.js': 'text/javascript', '.html': 'text/html', '.glb': 'model/gltf-binary', '.usdz': 'model/vnd.usdz+zip' };
const usdz = path.extname(file) === '.usdz', address = usdz ? '/model.usdz' : '/model.glb';

const places = [['/three/', path.join(packages, 'node_modules', 'three')], ['/heatskin/', path.join(root, 'packages', 'three', 'src')],
                ['/page/', path.join(root, 'tests', 'three')]];

const browser = await chromium.launch({
  executablePath, headless: true,
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
         '--disable-sync', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
try {
  const page = await browser.newPage({ viewport: { width: Number(size), height: Number(size) } });
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  await page.addInitScript((chosen) => { window.pluginOptions = { level: chosen }; }, Number(level));
  await page.route(`${ORIGIN}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    const place = places.find(([prefix]) => pathname.startsWith(prefix));
    const found = pathname === address ? file : place && path.join(place[1], pathname.slice(place[0].length));
    if (!found || !fs.existsSync(found)) return route.fulfill({ status: 404, body: '' });
    return route.fulfill({ body: fs.readFileSync(found), contentType: TYPES[path.extname(found)] || 'application/octet-stream' });
  });
  await page.goto(`${ORIGIN}/page/${usdz ? 'usdz' : 'page'}.html`);
  await page.waitForFunction('window.ready', undefined, { timeout: 60000 });
  const found = await page.evaluate(([where, pixels]) => window.measure(where, pixels), [address, Number(size)]);
  if (picture && found.picture) fs.writeFileSync(picture, Buffer.from(found.picture.split(',')[1], 'base64'));
  delete found.picture;
  process.stdout.write(JSON.stringify({ ...found, problems }) + '\n');
} finally {
  await browser.close();
}

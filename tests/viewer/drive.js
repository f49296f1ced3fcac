// Drives the viewer in headless Chromium: node drive.js PACKAGES CHROMIUM ADDRESS JOB FOLDER [FILE]
//
// PACKAGES is a folder with node_modules/playwright-core and axe-core; ADDRESS is of a page with a product and its original. Prints JSON:
// `problems` (of the page's console) and what the JOB found. Pictures go to FOLDER.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [packages, executablePath, address, job, folder, file] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(packages), 'x.js')), { chromium } = require('playwright-core');
const SOFTWARE = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const QUIET = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const PATIENCE = 120000;  // software renderers on busy machines

const browser = await chromium.launch({ executablePath, headless: true, args: [...QUIET, ...(job === 'no_webgl' ? ['--disable-3d-apis'] : SOFTWARE)] });
const problems = [];

async function open({ hash = '', viewport = { width: 460, height: 300 }, ...options } = {}) {
  const page = await browser.newPage({ viewport, ...options });
  page.setDefaultTimeout(PATIENCE);
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  await page.goto(`${address}#samples=1&${hash}`);
  if (job !== 'no_webgl') await ready(page);
  return page;
}

const ready = (page) => page.waitForFunction(() => document.querySelectorAll('#statistics dd').length > 2 &&
  document.getElementById('progress').hidden, undefined, { timeout: PATIENCE });
const settle = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 50)))));

/** Different colours in a PNG of the canvas: a blank picture has one. */
async function colors(page, name) {
  await settle(page);
  const png = await page.locator('#canvas').screenshot();
  if (name) fs.writeFileSync(path.join(folder, `${name}.png`), png);
  return page.evaluate(async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: image.width, height: image.height });
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height), seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  }, png.toString('base64'));
}

const jobs = {
  /** Every view and every comparison. */
  async views() {
    const page = await open(), out = {};
    for (const [id, how] of [['mode', 'kernels'], ['compare', 'unlit']]) {
      if (id === 'compare') await page.selectOption('#mode', how);
      const values = await page.locator(`#${id} option:not([disabled])`).evaluateAll((options) => options.map(({ value }) => value));
      for (const value of values) {
        await page.selectOption(`#${id}`, value);
        out[`${id} ${value}`] = await colors(page, `${id}_${value.replace(':', '_')}`);
      }
    }
    await page.selectOption('#compare', 'kernels');
    await page.check('#wireframe');
    out.wireframe = await colors(page, 'wireframe');
    return { colors: out };
  },

  /** Clicks on the surface: triangles, barycentric coordinates and colours that the page says. */
  async picks() {
    const page = await open({ hash: 'mode=footprints', viewport: { width: 640, height: 340 } }), box = await page.locator('#canvas').boundingBox(), found = [];
    for (let i = 0; i < 30; ++i) {
      const x = box.width * (0.4 + 0.2 * ((i * 0.7548776662) % 1)), y = box.height * (0.45 + 0.2 * ((i * 0.569840291) % 1));
      await page.mouse.click(box.x + x, box.y + y);
      const said = await page.locator('#pick').evaluate(({ dataset, children }) => children.length > 0 ?
        { triangle: Number(dataset.triangle), barycentric: dataset.barycentric.split(',').map(Number), color: dataset.color.split(',').map(Number),
          rows: document.querySelectorAll('#pick tr').length - 1 } : null);
      if (said) found.push(said);
    }
    await colors(page, 'picked');
    return { found };
  },

  /** The budget slider: words and pictures change. */
  async budget() {
    const page = await open({ hash: 'mode=unlit' }), all = await colors(page), out = [];
    for (const value of ['0', '300', '700', '1000']) {
      await page.locator('#budget').fill(value);
      out.push({ value, says: await page.textContent('#budget-says'), count: await page.textContent('#budget-value'), colors: await colors(page, `budget_${value}`) });
    }
    return { all, out };
  },

  /** Saved pictures: size, and how many pixels are transparent. */
  async picture() {
    const page = await open(), out = {};
    await page.selectOption('#size', '512');
    for (const transparent of [true, false]) {
      await page.setChecked('#transparent', transparent);
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
      const target = path.join(folder, `saved_${transparent}.png`);
      await download.saveAs(target);
      out[transparent] = { name: download.suggestedFilename(), file: target };
    }
    return out;
  },

  /** Keyboard alone, then a link that restores what was seen. */
  async keyboard() {
    const page = await open();
    await page.keyboard.press('Tab');
    for (let i = 0; i < 30 && await page.evaluate(() => document.activeElement.id) !== 'canvas'; ++i) await page.keyboard.press('Tab');
    const reached = await page.evaluate(() => document.activeElement.id), before = await page.evaluate(() => location.hash);
    for (const key of ['ArrowRight', 'ArrowUp', 'Shift+ArrowLeft', '+', 'm', 'c', 'p', 'l']) await page.keyboard.press(key);
    const state = () => page.evaluate(() => ({ mode: document.getElementById('mode').value, compare: document.getElementById('compare').value }));
    const left = await state(), hash = await page.evaluate(() => location.hash), picked = await page.locator('#pick tr').count();
    await page.keyboard.press('Space');
    const toggled = await state();
    await page.goto('about:blank');
    await page.goto(`${address}${hash}`);
    await ready(page);
    return { reached, before, hash, left, toggled, picked, restored: await state() };
  },

  /** A file dropped on the page. */
  async drop() {
    const page = await open(), text = fs.readFileSync(file).toString('base64');
    const before = await page.textContent('#statistics');
    await page.evaluate(({ text, name }) => {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], name));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    }, { text, name: path.basename(file) });
    await page.waitForFunction((name) => document.querySelector('#file').selectedOptions[0]?.textContent === name, path.basename(file));
    await ready(page);
    await page.waitForFunction((old) => document.getElementById('statistics').textContent !== old, before);
    return { colors: await colors(page, 'dropped'), message: await page.textContent('#message') };
  },

  /** A phone: nothing is wider than the screen, and touch turns the object. */
  async phone() {
    const page = await open({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    await page.screenshot({ path: path.join(folder, 'phone.png') });
    return { widths, colors: await colors(page) };
  },

  /** What axe finds. */
  async accessibility() {
    const out = {};
    for (const colorScheme of ['light', 'dark']) {
      const page = await open({ colorScheme, viewport: { width: 900, height: 600 } });
      await page.addScriptTag({ path: path.join(packages, 'node_modules', 'axe-core', 'axe.min.js') });
      const { violations } = await page.evaluate(() => window.axe.run());
      out[colorScheme] = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
      await page.screenshot({ path: path.join(folder, `${colorScheme}.png`) });
    }
    return out;
  },

  async no_webgl() {
    const page = await open();
    await page.waitForFunction(() => !document.getElementById('message').hidden);
    return { message: await page.textContent('#message') };
  },
};

try {
  process.stdout.write(`${JSON.stringify({ ...(await jobs[job]()), problems })}\n`);
} finally {
  await browser.close();
}

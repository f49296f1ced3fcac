// Drives the viewer in headless Chromium:
//
//     node drive.js PACKAGES CHROMIUM FOLDER [JOB ADDRESS [FILE]]
//
// PACKAGES is a folder with node_modules/playwright-core and axe-core; ADDRESS is of a page with a product and its original. Pictures go to FOLDER.
// Without a JOB, jobs come one by one on stdin, each a line with the JSON array [JOB, ADDRESS, FILE]: all of them share one browser, which
// compiles the shaders of the page once. For each job a line of JSON: `problems` (of the page's console) and what the job found, or `error`.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const [packages, executablePath, folder, ...single] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(packages), 'x.js')), { chromium } = require('playwright-core');
const SOFTWARE = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const QUIET = ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const PATIENCE = 120000;  // software renderers on busy machines

// Of the job that runs now.
let browser, job, address, file, problems = [], pages = [];

async function newPage(options) {
  const page = await browser.newPage(options);
  pages.push(page);
  page.setDefaultTimeout(PATIENCE);
  return page;
}

/** The viewer. Light takes a software renderer seconds to prepare: without `hash` there is none. */
async function open({ hash = 'mode=unlit', viewport = { width: 460, height: 300 }, ...options } = {}) {
  const page = await newPage({ viewport, ...options }), mine = problems;
  page.on('pageerror', (error) => mine.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error') mine.push(message.text()); });
  await page.goto(`${address}#samples=1&${hash}`);
  if (job !== 'no_webgl') await ready(page);
  return page;
}

/** Any page. */
async function plain(options, hash = '') {
  const page = await newPage(options), mine = problems;
  page.on('pageerror', (error) => mine.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error' && !/ERR_CONNECTION_REFUSED/.test(message.text())) mine.push(message.text()); });
  await page.goto(`${address}${hash}`);
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
    const page = await open({ hash: '' }), out = {};
    for (const [id, how] of [['environment', ''], ['mode', ''], ['compare', 'unlit']]) {
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
    const page = await open({ hash: '' });
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

  /** Another mesh under the texture: errors against its own colours. */
  async carry() {
    const page = await open({ viewport: { width: 900, height: 460 } }), text = fs.readFileSync(file).toString('base64');
    const box = await page.locator('#canvas').boundingBox();
    await page.evaluate(({ text, name, clientX }) => {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], name));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer, clientX, bubbles: true, cancelable: true }));
    }, { text, name: path.basename(file), clientX: box.x + 0.75 * box.width });
    await page.waitForFunction(() => /dB|cannot/.test(document.getElementById('carry-says').textContent));
    const says = await page.textContent('#carry-says'), errors = await colors(page, 'carry_errors');
    await page.selectOption('#mode', 'unlit');
    const unlit = await colors(page, 'carry_unlit');
    await page.selectOption('#mode', 'carried:distance');
    return { says, errors, unlit, distances: await colors(page, 'carry_distances'), scale: await page.textContent('#scale') };
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

  /** A thousand pixels: the triangle and the point behind each, and its colour as it is drawn. */
  async probes() {
    const page = await open({ hash: 'mode=unlit', viewport: { width: 900, height: 500 } });
    await page.selectOption('#background', 'black');
    await settle(page);
    const found = await page.evaluate(async () => {
      const { stage } = globalThis.heatskinViewer, bitmap = await createImageBitmap(await stage.picture(0, false));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext('2d');
      context.drawImage(bitmap, 0, 0);
      const { data, width, height } = context.getImageData(0, 0, bitmap.width, bitmap.height), box = stage.canvas.getBoundingClientRect(), out = [];
      for (let i = 0; i < 60000 && out.length < 1000; ++i) {
        const x = Math.floor(width * ((0.5 + i * 0.7548776662) % 1)), y = Math.floor(height * ((0.5 + i * 0.569840291) % 1)), at = 4 * (y * width + x);
        if (data[at] + data[at + 1] + data[at + 2] === 0) continue;
        const pick = (u, v) => stage.pick((x + u) * box.width / width, (y + v) * box.height / height), hit = pick(0.5, 0.5);
        // Pixels that show two triangles show the mean of both.
        if (!hit || [[0, 0], [1, 0], [0, 1], [1, 1]].some(([u, v]) => pick(u, v)?.triangle !== hit.triangle)) continue;
        // Rasterisers place corners to a sixteenth of a pixel (WebGL2 asks for four bits): so much uncertainty has a point.
        const around = [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]].map(([u, v]) => pick(0.5 + u / 16, 0.5 + v / 16));
        out.push({ points: around.map(({ triangle, barycentric }) => [triangle, ...barycentric]), color: [0, 1, 2].map((c) => data[at + c] / 255) });
      }
      return out;
    });
    return { found };
  },

  /** How far pictures from afar are from the mean of very many, in 8-bit levels; and with how many each is made. */
  async afar() {
    const page = await open({ hash: 'mode=unlit', viewport: { width: 400, height: 240 } });
    return { errors: await page.evaluate(async () => {
      const { stage } = globalThis.heatskinViewer, pixels = {};
      stage.zoom(3);
      for (const samples of [256, 32, 4, 1]) {
        Object.assign(stage, { mostSamples: samples, exactSamples: true });
        const bitmap = await createImageBitmap(await stage.picture(0, false)), canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext('2d');
        context.drawImage(bitmap, 0, 0);
        pixels[samples] = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
      }
      const ground = pixels[256].slice(0, 3), out = {};
      for (const samples of [32, 4, 1]) {
        let sum = 0, count = 0;
        for (let i = 0; i < pixels[256].length; i += 4) {
          if ([0, 1, 2].every((c) => Math.abs(pixels[256][i + c] - ground[c]) < 3)) continue;  // background
          ++count;
          for (let c = 0; c < 3; ++c) sum += (pixels[samples][i + c] - pixels[256][i + c]) ** 2;
        }
        out[samples] = { rms: Math.sqrt(sum / (3 * count)), pixels: count };
      }
      return out;
    }) };
  },

  /** A fit that goes on: frames come, it waits and goes on, ends as it is, and its history stays. */
  async live() {
    const page = await plain({ viewport: { width: 760, height: 460 } }, '#samples=1&mode=unlit');
    const step = () => page.evaluate(() => document.getElementById('live-figures').textContent.match(/Step([\d,]+)/)?.[1].replaceAll(',', '') ?? '-1').then(Number);
    await page.waitForFunction(() => document.getElementById('live-frame-says').textContent !== '');
    await page.screenshot({ path: path.join(folder, 'live.png') });
    await page.click('#live-pause');
    await page.waitForFunction(() => document.getElementById('live-phase').textContent === 'Paused');
    await page.waitForTimeout(1200);
    const paused = await step();
    await page.waitForTimeout(1500);
    const still = await step();
    await page.click('#live-pause');
    await page.waitForFunction((from) => Number(document.getElementById('live-figures').textContent.match(/Step([\d,]+)/)[1].replaceAll(',', '')) > from, paused);
    await page.waitForFunction(() => Number(document.getElementById('live-frame').max) >= 2);
    await page.click('#live-finish');
    await page.waitForFunction(() => document.getElementById('live-phase').textContent.startsWith('Ended'));
    await page.waitForFunction(() => document.getElementById('live-frame-says').textContent.startsWith('product'));
    const last = await colors(page, 'live_ended'), frames = Number(await page.inputValue('#live-frame'));
    // The program has gone; the history is still there.
    await page.waitForTimeout(1500);
    await page.fill('#live-frame', '0');
    await page.waitForFunction(() => document.getElementById('live-frame-says').textContent.startsWith('step'));
    const first = await colors(page, 'live_first'), curve = await page.locator('#live-psnr .curve').getAttribute('points');
    return { paused, still, frames, first, last, curve: curve.split(' ').length, result: await page.textContent('#live-result') };
  },

  /** A report: slider, layers, views, the viewer inside of it, a phone, what axe finds. */
  async report() {
    const out = {};
    for (const colorScheme of ['light', 'dark']) {
      const page = await plain({ colorScheme, viewport: { width: 1000, height: 800 } });
      await page.addScriptTag({ path: path.join(packages, 'node_modules', 'axe-core', 'axe.min.js') });
      const { violations } = await page.evaluate(() => window.axe.run());
      out[colorScheme] = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
      await page.screenshot({ path: path.join(folder, `report_${colorScheme}.png`), fullPage: true });
      await page.close();
    }
    const page = await plain({ viewport: { width: 640, height: 480 } }), stack = page.locator('.compare .stack').first();
    const shown = () => stack.evaluate((element) => [...element.querySelectorAll('img')].flatMap((image, i) => image.className ? [`${i}:${image.className}`] : []));
    out.before = await shown();
    await stack.locator('input').fill('25');
    out.split = await stack.evaluate((element) => element.style.getPropertyValue('--split'));
    await page.selectOption('.compare select.right >> nth=0', 'error');
    await page.locator('.compare .views button').nth(3).click();
    out.after = await shown();
    out.curves = await page.locator('figure svg polyline, figure svg line').count();
    out.viewer = await page.locator('.page button').count();
    if (out.viewer > 0) {
      await page.click('.page button');
      const inner = page.frameLocator('.page iframe');
      await inner.locator('#statistics dd').nth(4).waitFor({ state: 'attached' });  // a narrow page hides them
      await inner.locator('#progress[hidden]').waitFor({ state: 'attached' });
      await page.screenshot({ path: path.join(folder, 'report_viewer.png') });
      out.inside = await inner.locator('#statistics').textContent();
    }
    await page.close();
    const phone = await plain({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });
    out.widths = await phone.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    await phone.screenshot({ path: path.join(folder, 'report_phone.png') });
    return out;
  },

  /** A gallery: cards, order, search, a phone, what axe finds. */
  async gallery() {
    const out = {};
    for (const colorScheme of ['light', 'dark']) {
      const page = await plain({ colorScheme, viewport: { width: 1000, height: 800 } });
      await page.addScriptTag({ path: path.join(packages, 'node_modules', 'axe-core', 'axe.min.js') });
      const { violations } = await page.evaluate(() => window.axe.run());
      out[colorScheme] = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
      await page.screenshot({ path: path.join(folder, `gallery_${colorScheme}.png`), fullPage: true });
      await page.close();
    }
    const page = await plain({ viewport: { width: 1000, height: 800 } });
    const names = () => page.locator('.card:not([hidden]) h2').allTextContents();
    out.names = await names();
    await page.selectOption('#sort', 'kernels');
    out.falling = await names();
    await page.click('#order');
    out.rising = await names();
    await page.fill('#search', 'BROKEN');
    out.found = await names();
    out.count = await page.textContent('#count');
    out.pictures = await page.locator('.card img').evaluateAll((images) => Promise.all(images.map((image) => image.decode().then(() => image.naturalWidth, () => 0))));
    const phone = await plain({ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true });
    out.widths = await phone.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    await phone.screenshot({ path: path.join(folder, 'gallery_phone.png') });
    return out;
  },

  /** Pictures for the documentation (scripts/tour.sh): ADDRESS is of a page with product and original; FILE: of a report. */
  async tour() {
    const viewport = { width: 960, height: 600 }, shot = (page, name) => page.screenshot({ path: path.join(folder, `tour_${name}.jpg`), type: 'jpeg', quality: 82 });
    const page = await newPage({ viewport });
    await page.goto(`${address}#samples=4&compare=slider`);
    await ready(page);
    const rest = () => page.waitForFunction(() => globalThis.heatskinViewer.stage.atRest);
    await rest();
    await shot(page, 'slider');
    await page.selectOption('#compare', 'kernels');
    await page.selectOption('#mode', 'footprints');
    const box = await page.locator('#canvas').boundingBox();
    await page.mouse.click(box.x + 0.46 * box.width, box.y + 0.56 * box.height);
    await page.locator('#pick').scrollIntoViewIfNeeded();
    await rest();
    await shot(page, 'point');
    await page.close();
    const report = await newPage({ viewport: { width: 960, height: 860 } });
    await report.goto(file);
    await report.locator('.compare').first().scrollIntoViewIfNeeded();
    await report.evaluate(() => window.scrollBy(0, document.querySelector('.compare').getBoundingClientRect().top - 20));
    await shot(report, 'report');
    return {};
  },

  /** A picture of a fit that goes on, for the same purpose. */
  async tour_live() {
    const page = await newPage({ viewport: { width: 960, height: 600 } });
    await page.goto(`${address}#samples=1`);
    await page.waitForFunction(() => Number(document.getElementById('live-frame').max) >= 2);
    // Moments that keep coming would begin the picture anew, again and again where drawing is slow.
    await page.uncheck('#live-follow');
    await page.waitForFunction(() => globalThis.heatskinViewer.stage.atRest);
    await page.waitForTimeout(2000);
    await page.screenshot({ path: path.join(folder, 'tour_live.jpg'), type: 'jpeg', quality: 82 });
    return {};
  },

  async no_webgl() {
    const page = await open();
    await page.waitForFunction(() => !document.getElementById('message').hidden);
    return { message: await page.textContent('#message') };
  },
};

// The browsers that jobs share: one with a software renderer, one without any.
const browsers = {};

async function run([name, ...rest]) {
  [job, [address, file]] = [name, rest];
  [problems, pages] = [[], []];
  try {
    if (!(job in jobs)) throw new Error(`there is no job ${job}`);
    const renderer = job === 'no_webgl' ? ['--disable-3d-apis'] : SOFTWARE;
    if (!browsers[renderer]?.isConnected()) browsers[renderer] = await chromium.launch({ executablePath, headless: true, args: [...QUIET, ...renderer] });
    browser = browsers[renderer];
    return { ...(await jobs[job]()), problems };
  } catch (error) {
    return { error: String(error?.stack ?? error), problems };
  } finally {
    for (const page of pages) await page.close().catch(() => {});
  }
}

const answer = (found) => new Promise((resolve) => process.stdout.write(`${JSON.stringify(found)}\n`, resolve));
try {
  if (single.length > 0) {
    const found = await run(single);
    await answer(found);
    process.exitCode = 'error' in found ? 1 : 0;
  } else {
    for await (const line of readline.createInterface({ input: process.stdin })) await answer(await run(JSON.parse(line)));
  }
} finally {
  for (const one of Object.values(browsers)) await one.close().catch(() => {});
}

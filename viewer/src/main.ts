// The page: controls, files, and what they do to the stage.

import './style.css';
import * as THREE from 'three';
import { bytesOf, givenFiles, type GivenFile, type Progress } from './files';
import { carry } from './carry';
import { Budget, css, partsAt } from './kernels';
import { Live, liveAddress } from './live';
import { Model } from './model';
import { Stage, heatCss, type Comparison } from './stage';

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const select = (id: string) => $<HTMLSelectElement>(id);
const input = (id: string) => $<HTMLInputElement>(id);

interface Entry { name: string; file: GivenFile | File; original?: GivenFile | File }

class Page {
  readonly stage: Stage;
  private readonly entries: Entry[] = [];
  private kernels?: Model;
  private original?: Model;
  private budget?: Budget;
  private used = 0;
  private before: Comparison = 'original';
  private pressed = { x: 0, y: 0 };
  private carrying = 0;  // counts the meshes that were to get the texture: only the latest one goes on

  constructor() {
    this.stage = new Stage($<HTMLCanvasElement>('canvas'));
    this.stage.onFrame = () => this.statistics();
    this.connect();
    if (window.parent !== window) this.embed();
    for (const file of givenFiles()) this.entries.push({ name: file.name, file, original: file.original });
    this.list();
    if (this.entries.length > 0) void this.load(this.wanted());
    else if (liveAddress() === undefined) this.say('Drop a product of heatskin or a GLB file here.');
    const live = liveAddress();
    if (live !== undefined) new Live(live, (name, bytes) => this.replace(name, bytes));
  }

  /** Inside of another page (a report) there is less room, and the file is given. */
  private embed(): void {
    const { classList } = document.body;
    classList.add('embedded');
    classList.toggle('closed', innerWidth < 820);
    const panel = $('panel'), told = () => panel.setAttribute('aria-expanded', String(!classList.contains('closed')));
    panel.hidden = false;
    told();
    panel.addEventListener('click', () => { classList.toggle('closed'); told(); });
  }

  private wanted(): number {
    const number = Number(new URLSearchParams(location.hash.slice(1)).get('file') ?? 0);
    return Number.isInteger(number) && number >= 0 && number < this.entries.length ? number : 0;
  }

  private list(): void {
    select('file').replaceChildren(...this.entries.map(({ name }, i) => new Option(name, String(i))));
    select('file').disabled = this.entries.length < 2;
  }

  private say(words: string): void {
    $('message').textContent = words;
    $('message').hidden = words === '';
  }

  private readonly progress: Progress = (fraction, words) => {
    const bar = $('progress').querySelector('progress')!;
    if (fraction === undefined) bar.removeAttribute('value');
    else bar.value = Math.min(fraction, 1);
    $('progress').querySelector('span')!.textContent = words;
    $('progress').hidden = words === '';
  };

  private async load(number: number, variant?: string): Promise<void> {
    const entry = this.entries[number];
    this.say('');
    select('file').value = String(number);
    try {
      const bytes = await bytesOf(entry.file, this.progress);
      this.progress(undefined, 'Unfolding kernels');
      await new Promise((resolve) => setTimeout(resolve, 20));  // the words are seen before the work
      const model = await Model.load(entry.name, bytes, variant);
      const original = entry.original ? await Model.load(`${entry.original.name}`, await bytesOf(entry.original, this.progress)) : undefined;
      this.adopt(model, original, variant);
    } catch (error) {
      this.say(`${entry.name} cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.progress(undefined, '');
    }
  }

  private adopt(model: Model, original: Model | undefined, variant: string | undefined): void {
    // A file without kernels is its own original.
    const before = [this.kernels, this.original];
    [this.kernels, this.original] = model.product ? [model, original] : [undefined, original ?? model];
    for (const old of before) if (old && old !== this.kernels && old !== this.original) old.dispose();
    if (model.reason) this.say(`The kernels of ${model.name} cannot be drawn here (the file ${model.reason}): this is its fallback.`);
    this.offer();
    this.stage.look.comparison = this.kernels ? 'kernels' : 'original';
    this.stage.show(this.kernels, this.original);
    if (variant === undefined) this.restore();
    select('variant').replaceChildren(new Option('Default', ''), ...model.variants.map((name) => new Option(name, name)));
    select('variant').value = variant ?? '';
    this.describe(model);
    this.sync();
  }

  /** Other kernels in the same view: a fit that goes on. */
  private async replace(name: string, bytes: ArrayBuffer): Promise<void> {
    const model = await Model.load(name, bytes), old = this.kernels;
    if (!model.product) {
      this.say(`The kernels cannot be drawn here (the file ${model.reason ?? 'has none'}).`);
      model.dispose();
      return;
    }
    const mode = this.stage.look.mode;
    this.kernels = model;
    this.offer();
    if (!old) {
      this.stage.look.comparison = this.original ? 'slider' : 'kernels';
      this.stage.look.mode = 'unlit';
    } else if (Array.from(select('mode').options).some(({ value }) => value === mode)) {
      this.stage.look.mode = mode;
    }
    this.stage.show(this.kernels, this.original);
    if (!old) this.restore();
    old?.dispose();
    this.describe(model);
    this.sync();
  }

  /** The choices there are for what is loaded. */
  private offer(): void {
    this.budget = undefined;
    this.used = this.kernels?.product?.kernels.length ?? 0;
    for (const option of Array.from(select('compare').options)) {
      option.disabled = option.value === 'kernels' ? !this.kernels : option.value === 'original' ? !this.original : !(this.kernels && this.original);
    }
    const modes = (this.kernels ?? this.original!).modes();
    if (this.original?.carried) modes.push({ mode: 'carried:error', label: 'Mesh: errors' }, { mode: 'carried:distance', label: 'Mesh: distances' });
    select('mode').replaceChildren(...modes.map(({ mode, label }) => new Option(label, mode)));
    $('budget-part').hidden = $('pick-part').hidden = $('carry-part').hidden = !this.kernels;
    $('pick').replaceChildren();
    input('budget').value = input('budget').max;
    $('budget-value').textContent = $('budget-says').textContent = '';
  }

  private describe(model: Model): void {
    $('canvas').setAttribute('aria-label', `3D view of ${model.name}: ${model.triangles.toLocaleString('en')} triangles` +
      (this.used > 0 ? `, ${this.used.toLocaleString('en')} kernels` : ''));
  }

  /** View and camera from the address; without a camera there, the whole object. */
  private restore(): void {
    const from = new URLSearchParams(location.hash.slice(1)), { stage } = this, { look } = stage;
    if (Array.from(select('mode').options).some(({ value }) => value === from.get('mode'))) look.mode = from.get('mode')!;
    const comparison = Array.from(select('compare').options).find(({ value, disabled }) => value === from.get('compare') && !disabled);
    if (comparison) look.comparison = comparison.value as Comparison;
    const split = Number(from.get('split') ?? NaN);
    if (split >= 0 && split <= 1) look.split = split;
    const samples = Number(from.get('samples') ?? NaN);
    if (samples >= 1) Object.assign(stage, { mostSamples: Math.min(samples, 1024), exactSamples: true });
    if (Array.from(select('environment').options).some(({ value }) => value === from.get('light'))) look.environment = from.get('light')!;
    const camera = (from.get('camera') ?? '').split(',').map(Number);
    if (camera.length === 6 && camera.every(Number.isFinite)) {
      stage.camera.position.fromArray(camera, 0);
      stage.controls.target.fromArray(camera, 3);
      stage.controls.update();
    } else {
      stage.reset();  // how much room there is depends on the comparison
    }
    stage.apply();
  }

  private link(): string {
    const { camera, controls, look } = this.stage;
    const hash = new URLSearchParams({
      file: select('file').value || '0', mode: look.mode, compare: look.comparison, split: look.split.toFixed(3), light: look.environment,
      camera: [...camera.position.toArray(), ...controls.target.toArray()].map((x) => Number(x.toPrecision(6))).join(','),
    });
    const address = new URL(location.href);
    address.hash = hash.toString();
    return address.href;
  }

  /** Controls show what the look is. */
  private sync(): void {
    const { look } = this.stage, two = look.comparison === 'slider' || look.comparison === 'side';
    if (!Array.from(select('mode').options).some(({ value }) => value === look.mode)) look.mode = 'lit';
    select('mode').value = look.mode;
    select('compare').value = look.comparison;
    input('split').hidden = look.comparison !== 'slider';
    input('split').value = String(100 * look.split);
    select('environment').value = look.environment;
    $('gain-label').hidden = look.comparison !== 'difference' && look.comparison !== 'error';
    const carried = this.original?.carried && look.mode.startsWith('carried:') && look.comparison !== 'kernels', distance = look.mode === 'carried:distance';
    $('gain-label').hidden &&= !carried || distance;
    $('scale').hidden = look.comparison !== 'error' && !carried;
    $('scale-says').textContent = carried && distance ? 'distance, of the size' : 'difference of a channel, of 255';
    $('scale-most').textContent = carried && distance ? '1 %+' : `${128 / look.gain}+`;
    if (carried && !distance) this.original!.rescale?.(128 / look.gain);
    for (const [id, text] of [['tag-left', 'Kernels'], ['tag-right', this.original?.carried ? this.original.name : 'Original']]) {
      $(id).textContent = text;
      $(id).hidden = !two;
    }
    const variants = this.kernels?.variants ?? [];
    $('variant-label').hidden = variants.length === 0;
    this.stage.apply();
    this.statistics();
  }

  private statistics(): void {
    const shown = this.kernels ?? this.original;
    if (!shown) return;
    const size = (bytes: number) => bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
    const { kernels, charts } = shown.kernelBytes, rows: [string, string][] = [
      ['Triangles', shown.triangles.toLocaleString('en')], ['File', size(shown.bytes)],
      ['Frame', `${this.stage.frameMs.toFixed(1)} ms`],
    ];
    if (shown.product) {
      rows.push(['Kernels', shown.product.kernels.length.toLocaleString('en')], ['Kernels in the file', size(kernels)], ['Charts in the file', size(charts)],
                ['Most kernels on a triangle', String(shown.tables!.most)]);
    }
    if (this.original && this.original !== shown) rows.push(['Original file', size(this.original.bytes)]);
    $('statistics').replaceChildren(...rows.flatMap(([term, value]) => {
      const dt = document.createElement('dt'), dd = document.createElement('dd');
      dt.textContent = term;
      dd.textContent = value;
      return [dt, dd];
    }));
  }

  /** The texture on another mesh, beside the product. */
  private async carry(file: File): Promise<void> {
    const product = this.kernels, says = $('carry-says'), { stage } = this, number = ++this.carrying;
    if (!product?.product) return;
    const cancelled = () => number !== this.carrying || this.kernels !== product;
    says.textContent = `Reading ${file.name}`;
    try {
      const mesh = await Model.load(file.name, await file.arrayBuffer());
      if (cancelled()) return mesh.dispose();
      mesh.carried = true;
      const old = this.original;
      this.original = mesh;
      if (old && old !== mesh) old.dispose();
      this.offer();
      stage.look.mode = 'carried:error';
      stage.look.comparison = 'side';
      let begun = false;
      const outcome = await carry(product, mesh, () => 128 / stage.look.gain, (part) => {
        if (!begun) { stage.show(this.kernels, mesh); stage.frame(); this.sync(); begun = true; }
        says.textContent = `${Math.round(100 * part)} % of the points`;
        stage.changed();
      }, cancelled);
      if (cancelled()) return;
      const words = [`Base colours at ${outcome.points.toLocaleString('en')} points of ${file.name}, linear between them; heatskin transfer puts the kernels themselves on it.`];
      if (outcome.psnr !== undefined) words.push(`${outcome.psnr.toFixed(1)} dB against its own colours, ${outcome.mean!.toFixed(1)} of 255 in the mean.`);
      else words.push('It has no colours of its own to compare with.');
      words.push(`Nineteen of twenty lie within ${(100 * outcome.distance).toPrecision(2)} % of the size.`);
      if (outcome.moved) words.push('It was moved and scaled onto the product.');
      says.textContent = words.join(' ');
      if (outcome.psnr === undefined) { stage.look.mode = 'carried:distance'; }
      this.sync();
    } catch (error) {
      says.textContent = `${file.name} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  private setBudget(): void {
    const { product, tables } = this.kernels!;
    if (!product || !tables) return;
    this.budget ??= new Budget(product, tables);
    const all = product.kernels.length, part = Number(input('budget').value) / Number(input('budget').max);
    this.used = Math.round(all * part ** 2);  // small budgets are where things change
    this.budget.apply(this.used);
    const psnr = this.budget.psnr(this.used), bytes = this.kernels!.kernelBytes.kernels * this.used / Math.max(all, 1);
    $('budget-value').textContent = `${this.used.toLocaleString('en')} of ${all.toLocaleString('en')}`;
    $('budget-says').textContent = `${Number.isFinite(psnr) ? `${psnr.toFixed(1)} dB` : 'The same colours'} against all kernels, about ${(bytes / 1e3).toFixed(1)} kB`;
    this.stage.changed();
  }

  private pick(x: number, y: number): void {
    const product = this.kernels?.product, hit = this.stage.pick(x, y), out = $('pick');
    if (!product || !hit) {
      out.replaceChildren();
      this.kernels?.outline([]);
      this.stage.changed();
      return;
    }
    const parts = partsAt(product, hit.triangle, hit.barycentric), values = product.evaluate(hit.triangle, hit.barycentric);
    const color = css(values.base_color ?? values[product.groups[0].name]), table = document.createElement('table');
    const cells = (tag: 'td' | 'th', texts: (string | Node)[]) => {
      const row = document.createElement('tr');
      row.append(...texts.map((text) => { const cell = document.createElement(tag); cell.append(text); return cell; }));
      return row;
    };
    const swatch = (background: string, text: string) => {
      const cell = document.createElement('span'), box = document.createElement('span');
      box.className = 'swatch';
      box.style.background = background;
      cell.append(box, text);
      return cell;
    };
    table.append(cells('th', ['Kernel', 'Share', 'Weight', 'Length', 'Anisotropy']));
    for (const { kernel, share, weight, color: own } of parts.slice(0, 12)) {
      const { length, anisotropy } = product.kernels[kernel];
      table.append(cells('td', [swatch(own, String(kernel)), `${(100 * share).toFixed(1)} %`, weight.toFixed(3), length.toPrecision(3), anisotropy.toPrecision(3)]));
    }
    const head = document.createElement('p');
    head.append(swatch(color, color), `, triangle ${hit.triangle}, coverage ${values.coverage.toFixed(3)}, ${parts.length} kernels` + (parts.length > 12 ? ', the strongest:' : ':'));
    out.replaceChildren(head, table);
    out.dataset.triangle = String(hit.triangle);
    out.dataset.barycentric = hit.barycentric.join(',');
    out.dataset.color = (values.base_color ?? []).join(',');
    this.kernels!.outline(parts.map(({ kernel }) => kernel));
    this.stage.changed();
  }

  private async save(): Promise<void> {
    try {
      const blob = await this.stage.picture(Number(select('size').value), input('transparent').checked), anchor = document.createElement('a');
      anchor.href = URL.createObjectURL(blob);
      anchor.download = `${(this.kernels ?? this.original)?.name.replace(/\.[^.]*$/, '') ?? 'heatskin'}.png`;
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
    } catch (error) {
      this.say(`The picture could not be saved: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private add(files: File[]): void {
    const glbs = files.filter(({ name }) => /\.(glb|gltf)$/i.test(name));
    if (glbs.length === 0) { this.say('Only products of heatskin and GLB files can be shown.'); return; }
    for (const file of glbs) this.entries.push({ name: file.name, file });
    this.list();
    void this.load(this.entries.length - 1);
  }

  private async copyLink(): Promise<void> {
    const address = this.link();
    try { history.replaceState(null, '', address); } catch { /* pages inside of pages have no address */ }
    try { await navigator.clipboard.writeText(address); } catch { /* it is in the address bar */ }
    $('link').textContent = 'Copied';
    setTimeout(() => { $('link').textContent = 'Copy link'; }, 1500);
  }

  private connect(): void {
    const { stage } = this, change = (id: string, does: () => void) => $(id).addEventListener('change', does);
    const look = (id: string, does: () => void) => change(id, () => { does(); this.sync(); });
    look('mode', () => { stage.look.mode = select('mode').value; });
    look('compare', () => {
      const side = stage.look.comparison === 'side';
      stage.look.comparison = select('compare').value as Comparison;
      if (side !== (stage.look.comparison === 'side')) stage.frame();  // half of the width, or all of it
    });
    look('gain', () => { stage.look.gain = Number(select('gain').value); });
    look('environment', () => { stage.look.environment = select('environment').value; });
    look('background', () => { stage.look.background = select('background').value; });
    look('wireframe', () => { stage.look.wireframe = input('wireframe').checked; });
    change('turn', () => { stage.controls.autoRotate = input('turn').checked; this.turn(); });
    change('variant', () => void this.load(Number(select('file').value), select('variant').value || undefined));
    change('file', () => void this.load(Number(select('file').value)));
    change('carry', () => { const [file] = Array.from(input('carry').files ?? []); if (file) void this.carry(file); input('carry').value = ''; });
    change('open', () => this.add(Array.from(input('open').files ?? [])));
    input('split').addEventListener('input', () => { stage.look.split = Number(input('split').value) / 100; stage.changed(); });
    input('budget').addEventListener('input', () => this.setBudget());
    const click = (id: string, does: () => void) => $(id).addEventListener('click', does);
    click('fit', () => stage.frame());
    click('reset', () => stage.reset());
    click('save', () => void this.save());
    click('link', () => void this.copyLink());
    click('help', () => this.help());
    const canvas = stage.canvas;
    canvas.addEventListener('pointerdown', (event) => { this.pressed = { x: event.clientX, y: event.clientY }; });
    canvas.addEventListener('pointerup', (event) => {
      if (Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y) > 4) return;
      const { left, top } = canvas.getBoundingClientRect();
      this.pick(event.clientX - left, event.clientY - top);
    });
    canvas.addEventListener('webglcontextlost', () => this.say('The graphics driver gave up. Reload the page.'));
    document.addEventListener('keydown', (event) => this.key(event));
    const drop = $('drop');
    let inside = 0;
    document.addEventListener('dragenter', (event) => { event.preventDefault(); ++inside; drop.hidden = false; $('drop-carry').hidden = !this.kernels; });
    document.addEventListener('dragleave', () => { if (--inside <= 0) drop.hidden = true; });
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      inside = 0;
      drop.hidden = true;
      const files = Array.from(event.dataTransfer?.files ?? []), box = canvas.getBoundingClientRect();
      const right = event.clientX > box.left + box.width / 2 && event.clientX < box.right;
      if (this.kernels && right && files.length === 1) void this.carry(files[0]);
      else this.add(files);
    });
  }

  private turn(): void {
    if (!this.stage.controls.autoRotate) return;
    this.stage.controls.update();
    this.stage.changed();
    requestAnimationFrame(() => this.turn());
  }

  private help(): void {
    const keys = $('keys');
    keys.hidden = !keys.hidden;
    $('help').setAttribute('aria-expanded', String(!keys.hidden));
  }

  private next(id: string): void {
    const options = Array.from(select(id).options), from = select(id).selectedIndex;
    for (let i = 1; i <= options.length; ++i) {
      const option = options[(from + i) % options.length];
      if (option.disabled) continue;
      select(id).value = option.value;
      select(id).dispatchEvent(new Event('change'));
      return;
    }
  }

  private key(event: KeyboardEvent): void {
    const element = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(element.tagName)) return;
    const { stage } = this, step = 0.12, { width, height } = stage.canvas.getBoundingClientRect();
    const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (move) {
      if (event.shiftKey) stage.pan(0.05 * move[0], -0.05 * move[1]);
      else stage.orbit(step * move[0], step * move[1]);
    } else {
      const keys: Record<string, () => void> = {
        '+': () => stage.zoom(1 / 1.15), '=': () => stage.zoom(1 / 1.15), '-': () => stage.zoom(1.15), f: () => stage.frame(), r: () => stage.reset(),
        ' ': () => this.toggle(), m: () => this.next('mode'), c: () => this.next('compare'), w: () => input('wireframe').click(),
        p: () => this.pick(width / 2, height / 2), s: () => void this.save(), l: () => void this.copyLink(), '?': () => this.help(),
      };
      const does = keys[event.key.toLowerCase()];
      if (!does) return;
      does();
    }
    event.preventDefault();
  }

  /** Kernels or original, whichever is not seen. */
  private toggle(): void {
    if (!this.kernels || !this.original) return;
    const { look } = this.stage;
    if (look.comparison === 'kernels') look.comparison = this.before === 'kernels' ? 'original' : this.before;
    else { this.before = look.comparison; look.comparison = 'kernels'; }
    this.sync();
  }
}

function start(): void {
  const trial = document.createElement('canvas').getContext('webgl2');
  if (!trial) {
    $('message').textContent = 'This browser has no WebGL2, which drawing kernels needs. Try a current version of Firefox, Chrome, Edge or Safari, and switch hardware acceleration on.';
    $('message').hidden = false;
    return;
  }
  trial.getExtension('WEBGL_lose_context')?.loseContext();
  THREE.ColorManagement.enabled = true;
  $('scale').querySelector('i')!.style.background = `linear-gradient(to right, ${Array.from({ length: 17 }, (_, i) => heatCss(i / 16))})`;
  // For tests, and for whoever wants to look inside.
  (globalThis as unknown as { heatskinViewer: Page }).heatskinViewer = new Page();
}

start();

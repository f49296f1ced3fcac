// A fit that goes on (`heatskin fit --live`): asks its server how far it is, shows curves and frames, and steers it.

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

interface FrameInfo { number: number; step: number; stage: number; kernels: number; psnr: number | null; seconds: number; final: boolean; bytes: number }

interface State {
  phase: string; paused: boolean; finishing: boolean; end: '' | 'done' | 'stopped' | 'failed'; message: string;
  step: number; steps: number; total_steps: number; stage: number; kernels: number; loss: number | null; psnr: number | null;
  seconds: number; elapsed: number; left: number | null; profile: [string, number][]; curve: [number, number | null, number | null, number][];
  stages: { kernels: number; psnr: number | null }[]; frames: FrameInfo[]; figures: [string, string][];
}

/** Where the page finds the fit; undefined: it shows files. */
export function liveAddress(): string | undefined {
  const text = document.getElementById('heatskin-live')?.textContent;
  return text ? (JSON.parse(text) as string) : undefined;
}

const POLL_MS = 500;
/** Without an answer for so long the program is gone. */
const GONE_MS = 6000;

function seconds(x: number): string {
  if (x < 10) return `${x.toFixed(1)} s`;
  if (x < 120) return `${Math.round(x)} s`;
  return `${Math.floor(x / 60)} min ${Math.round(x % 60)} s`;
}

const whole = (x: number) => Math.round(x).toLocaleString('en');

function rows(list: HTMLElement, pairs: [string, string][]): void {
  list.replaceChildren(...pairs.flatMap(([term, value]) => {
    const dt = document.createElement('dt'), dd = document.createElement('dd');
    dt.textContent = term;
    dd.textContent = value;
    return [dt, dd];
  }));
}

/** A small curve; `cursor` is the step of the frame that is seen. */
function drawCurve(svg: SVGSVGElement, name: string, points: [number, number][], text: (y: number) => string, cursor?: number): void {
  const width = 268, height = 92, left = 44, right = 6, top = 6, bottom = 18;
  const values = points.map(([, y]) => y), x1 = Math.max(points.at(-1)?.[0] ?? 1, 1);
  let low = Math.min(...values), high = Math.max(...values);
  if (!(high > low)) { low -= 0.5; high += 0.5; }
  const px = (x: number) => left + x / x1 * (width - left - right), py = (y: number) => top + (high - y) / (high - low) * (height - top - bottom);
  const make = (tag: string, attributes: Record<string, string | number>, content?: string) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    if (content !== undefined) element.textContent = content;
    return element;
  };
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('aria-label', points.length > 0 ? `${name}: ${text(values[values.length - 1])} after ${whole(x1)} steps` : `${name}: nothing yet`);
  const parts: Element[] = [];
  for (const y of [high, low]) {
    parts.push(make('line', { x1: left, x2: width - right, y1: py(y), y2: py(y), class: 'grid' }));
    parts.push(make('text', { x: left - 5, y: py(y) + 4, 'text-anchor': 'end' }, points.length > 0 ? text(y) : ''));
  }
  parts.push(make('text', { x: left, y: height - 4 }, name), make('text', { x: width - right, y: height - 4, 'text-anchor': 'end' }, `${whole(x1)} steps`));
  if (cursor !== undefined) parts.push(make('line', { x1: px(Math.min(cursor, x1)), x2: px(Math.min(cursor, x1)), y1: top, y2: height - bottom, class: 'cursor' }));
  parts.push(make('polyline', { points: points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(' '), class: 'curve' }));
  svg.replaceChildren(...parts);
}

export class Live {
  private readonly frames = new Map<number, { info: FrameInfo; bytes: ArrayBuffer }>();
  private state?: State;
  private seen?: number;
  private busy = false;
  private gone = false;
  private answered = performance.now();

  /** `show`: puts a product on the stage. */
  constructor(private readonly address: string, private readonly show: (name: string, bytes: ArrayBuffer) => Promise<void>) {
    $('live').hidden = false;
    document.body.classList.add('live');
    $('live-pause').addEventListener('click', () => void this.command(this.state?.paused ? 'resume' : 'pause'));
    $('live-finish').addEventListener('click', () => void this.command('finish'));
    $<HTMLInputElement>('live-frame').addEventListener('input', () => {
      $<HTMLInputElement>('live-follow').checked = Number($<HTMLInputElement>('live-frame').value) === this.order().length - 1 && !this.over();
      void this.present();
    });
    $('live-follow').addEventListener('change', () => void this.present());
    // A page that is closed is not waited for.
    addEventListener('pagehide', () => { if (!this.over()) navigator.sendBeacon(`${this.address}bye`); });
    void this.poll();
  }

  private over(): boolean { return this.gone || !!this.state?.end; }

  private order(): { info: FrameInfo; bytes: ArrayBuffer }[] {
    return [...this.frames.values()].sort((a, b) => a.info.number - b.info.number);
  }

  private async command(name: string): Promise<void> {
    for (const id of ['live-pause', 'live-finish']) $<HTMLButtonElement>(id).disabled = true;
    try {
      await fetch(`${this.address}${name}`, { method: 'POST' });
      await this.ask();
    } catch { /* the next question shows it */ }
    this.tell();
  }

  private async ask(): Promise<void> {
    const response = await fetch(`${this.address}state`);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    this.state = await response.json() as State;
    this.answered = performance.now();
  }

  private async poll(): Promise<void> {
    for (;;) {
      try {
        await this.ask();
        this.tell();
        await this.fetchFrames();
        if (this.state!.end && this.state!.frames.every(({ number }) => this.frames.has(number))) {
          this.tell();
          await fetch(`${this.address}bye`, { method: 'POST' });
          return;
        }
      } catch {
        if (performance.now() - this.answered > GONE_MS) {
          this.gone = true;
          this.tell();
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  private async fetchFrames(): Promise<void> {
    const wanted = this.state!.frames, kept = new Set(wanted.map(({ number }) => number));
    for (const number of this.frames.keys()) if (!kept.has(number)) this.frames.delete(number);
    for (const info of wanted) {
      if (this.frames.has(info.number)) continue;
      const response = await fetch(`${this.address}frames/${info.number}.glb`);
      if (!response.ok) continue;  // it has just gone
      this.frames.set(info.number, { info, bytes: await response.arrayBuffer() });
    }
    const slider = $<HTMLInputElement>('live-frame'), order = this.order();
    slider.max = String(Math.max(order.length - 1, 0));
    $('live-history').hidden = order.length < 2;
    if ($<HTMLInputElement>('live-follow').checked) slider.value = slider.max;
    else if (this.seen !== undefined) slider.value = String(Math.max(order.findIndex(({ info }) => info.number === this.seen), 0));
    void this.present();
  }

  /** Shows the frame that is wanted; while one is being unfolded, the latest wish waits. */
  private async present(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      for (;;) {
        const order = this.order(), slider = $<HTMLInputElement>('live-frame');
        const at = $<HTMLInputElement>('live-follow').checked ? order.length - 1 : Number(slider.value), frame = order[at];
        if (!frame || frame.info.number === this.seen) break;
        const { info } = frame;
        await this.show(info.final ? 'The product' : `After ${whole(info.step)} steps`, frame.bytes.slice(0));
        this.seen = info.number;
        slider.value = String(at);
        slider.setAttribute('aria-valuetext', `after ${whole(info.step)} steps`);
        $('live-frame-says').textContent = `${info.final ? 'product' : `step ${whole(info.step)}`}, ${whole(info.kernels)} kernels`;
        this.tell();
      }
    } finally {
      this.busy = false;
    }
  }

  /** Everything that is read. */
  private tell(): void {
    const { state } = this;
    if (!state) return;
    const fitting = state.steps > 0 && state.step < state.steps && !state.end, progress = $<HTMLProgressElement>('live-progress');
    const ends = { done: 'Done: the product is written.', stopped: 'Ended as it was: the product is written, and the checkpoint is kept.', failed: `Failed: ${state.message}` };
    let words = state.end ? ends[state.end] : state.finishing ? 'Ending as it is' : state.paused ? 'Paused' : state.phase[0].toUpperCase() + state.phase.slice(1);
    if (!state.end && this.gone) words = 'The program that fits does not answer any more.';
    else if (state.end && this.gone) words += ' The history stays on this page.';
    if ($('live-phase').textContent !== words) $('live-phase').textContent = words;
    if (state.end) progress.value = 1;
    else if (fitting || state.step > 0) progress.value = state.step / Math.max(state.steps, 1);
    else progress.removeAttribute('value');
    const pause = $<HTMLButtonElement>('live-pause'), finish = $<HTMLButtonElement>('live-finish');
    pause.textContent = state.paused ? 'Go on' : 'Pause';
    pause.disabled = finish.disabled = this.over() || state.finishing;
    const figures: [string, string][] = [
      ['Step', state.stage > 0 || state.stages.length > 0 ? `${whole(state.step)} of ${whole(state.steps)}, stage ${state.stage + 1}` : `${whole(state.step)} of ${whole(state.steps)}`],
      ['Kernels', whole(state.kernels)],
      ['Loss', state.loss === null ? '' : state.loss.toPrecision(3)],
      ['PSNR', state.psnr === null ? '' : `${state.psnr.toFixed(2)} dB`],
      ['Optimised for', seconds(state.seconds)],
      ['Left', !fitting || state.left === null ? '' : `${seconds(state.left)}${state.stages.length > 0 || state.stage > 0 ? ' in this stage' : ''}`],
    ];
    rows($('live-figures'), figures.filter(([, value]) => value !== ''));
    const curve = (which: 1 | 2) => state.curve.filter((point) => point[which] !== null).map((point): [number, number] => [point[0], point[which]!]);
    const cursor = this.seen === undefined ? undefined : this.frames.get(this.seen)?.info.step;
    drawCurve($('live-loss') as unknown as SVGSVGElement, 'loss', curve(1).map(([x, y]): [number, number] => [x, Math.log10(Math.max(y, 1e-12))]), (y) => (10 ** y).toPrecision(2), cursor);
    drawCurve($('live-psnr') as unknown as SVGSVGElement, 'PSNR, dB', curve(2), (y) => y.toFixed(1), cursor);
    const all = state.profile.reduce((sum, [, time]) => sum + time, 0) || 1;
    rows($('live-profile'), state.profile.filter(([, time]) => time > 0).map(([name, time]) => [name, `${(100 * time / all).toFixed(0)} %`]));
    if (state.message && !state.end) { $('live-message').textContent = state.message; $('live-message').hidden = false; }
    if (state.figures.length > 0) { rows($('live-result'), state.figures.filter(([name]) => name !== 'command')); $('live-result-part').hidden = false; }
  }
}

// What kernels do: which of them make the colour of a point, and which are the most useful.

import type { KernelTables } from 'heatskin-three';
import type { Product } from './heatskin';

export interface Part { kernel: number; weight: number; share: number; color: string }

/** Colours relative to their range as CSS. */
export function css(rgb: number[]): string {
  const [r, g, b] = (rgb.length >= 3 ? rgb : [rgb[0], rgb[0], rgb[0]]).map((x) => Math.round(255 * Math.min(Math.max(x, 0), 1)));
  return `rgb(${r}, ${g}, ${b})`;
}

/** Where the first group that can be shown as a colour begins, and how many channels it has. */
export function colorChannels(product: Product): [number, number] {
  let first = 0;
  for (const { name, count } of product.groups) {
    if (name === 'base_color') return [first, count];
    first += count;
  }
  return [0, Math.min(product.mean.length, 3)];
}

/** The kernels that make the colour of a point, the strongest first. */
export function partsAt(product: Product, triangle: number, barycentric: number[]): Part[] {
  const t = product.mesh.repeats[triangle], turns = product.mesh.turns[triangle];
  const b = [0, 1, 2].map((c) => barycentric[(c + turns) % 3]), [first, count] = colorChannels(product);
  const kept = product.weights(t, b).kept.filter(({ weight }) => weight > 0), sum = kept.reduce((total, { weight }) => total + weight, 0);
  return kept.map(({ kernel, weight }) => ({
    kernel, weight, share: weight / Math.max(sum, 1),
    color: css(product.mean.slice(first, first + count).map((x, c) => x + product.kernels[kernel].residual[first + c])),
  })).sort((a, b) => b.share - a.share);
}

/** Numbers from 0 to 1 that are the same every time. */
function* draws(): Generator<number> {
  let state = 0x9e3779b9;
  for (;;) {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    yield ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
}

interface Sample { target: number[]; parts: { kernel: number; weight: number }[] }

/** How many points usefulness and PSNR are measured at: enough for a tenth of a decibel, quick enough to wait for. */
const SAMPLES = 3000;

/**
 * A texture with its most useful kernels alone. A kernel is the more useful the more squared colour its share moves, summed over
 * points drawn evenly from the surface.
 */
export class Budget {
  readonly order: Uint32Array;
  private readonly rank: Uint32Array;
  private readonly samples: Sample[] = [];
  private readonly range: Float32Array;
  private readonly first: number;
  private readonly channels: number;

  constructor(private readonly product: Product, private readonly tables: KernelTables) {
    [this.first, this.channels] = colorChannels(product);
    const count = product.kernels.length, use = new Float64Array(count);
    for (const { triangle, barycentric } of this.points()) {
      const parts = product.weights(triangle, barycentric).kept.filter(({ weight }) => weight > 0);
      this.samples.push({ target: this.colorOf(parts), parts });
      const sum = Math.max(parts.reduce((total, { weight }) => total + weight, 0), 1);
      for (const { kernel, weight } of parts) use[kernel] += (weight / sum) ** 2 * this.energy(kernel);
    }
    this.order = Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) => use[b] - use[a] || a - b);
    this.rank = new Uint32Array(count);
    this.order.forEach((kernel, i) => { this.rank[kernel] = i; });
    this.range = Float32Array.from(product.kernels, ({ range }) => 1 / range);
  }

  private energy(kernel: number): number {
    const { residual } = this.product.kernels[kernel];
    let sum = 0;
    for (let c = this.first; c < this.first + this.channels; ++c) sum += residual[c] ** 2;
    return sum;
  }

  private *points(): Generator<{ triangle: number; barycentric: number[] }> {
    const { mesh } = this.product, areas = new Float64Array(mesh.count);
    let total = 0;
    for (let t = 0; t < mesh.count; ++t) {
      const [p, q, r] = [0, 1, 2].map((c) => mesh.corner(t, c));
      const u = q.map((x, i) => x - p[i]), v = r.map((x, i) => x - p[i]);
      total += Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
      areas[t] = total;
    }
    const draw = draws(), next = () => draw.next().value as number;
    let t = 0;
    for (let i = 0; i < SAMPLES; ++i) {
      const at = (i + next()) / SAMPLES * total;
      while (t < mesh.count - 1 && areas[t] < at) ++t;
      const s = Math.sqrt(next()), v = next();
      yield { triangle: mesh.repeats[t], barycentric: [1 - s, s * (1 - v), s * v] };
    }
  }

  private colorOf(parts: { kernel: number; weight: number }[]): number[] {
    const sum = Math.max(parts.reduce((total, { weight }) => total + weight, 0), 1);
    const out = this.product.mean.slice(this.first, this.first + this.channels);
    for (const { kernel, weight } of parts) {
      const { residual } = this.product.kernels[kernel];
      for (let c = 0; c < out.length; ++c) out[c] += weight / sum * residual[this.first + c];
    }
    return out.map((x) => Math.min(Math.max(x, 0), 1));
  }

  /** PSNR of the first n kernels against all of them, dB. */
  psnr(n: number): number {
    let squared = 0;
    for (const { target, parts } of this.samples) {
      const color = this.colorOf(parts.filter(({ kernel }) => this.rank[kernel] < n));
      color.forEach((x, c) => { squared += (x - target[c]) ** 2; });
    }
    const mean = squared / Math.max(this.samples.length * this.channels, 1);
    return mean > 0 ? -10 * Math.log10(mean) : Infinity;
  }

  /** Shows the first n kernels: the others get a range of 0, hence no weight. */
  apply(n: number): void {
    const { data } = this.tables.kernels.image as { data: Float32Array }, { stride } = this.tables;
    this.rank.forEach((rank, kernel) => { data[4 * (stride * kernel + 2) + 1] = rank < n ? this.range[kernel] : 0; });
    this.tables.kernels.needsUpdate = true;
  }
}

// The same triangles in two lists, whatever order, rotation of corners and precision: what heatskin's matchFaces()
// (src/heatskin/surface/face_matching.h) does. Coordinates are normalised: the longest side is 2.

const FIRST_REACH = 1e-7, REACH_STEP = 4, LAST_REACH = 2 / 1024;
const FLOAT_ROUNDING = 4e-6;  // positions of float32, transformed and rounded again
const MOST_TO_MEDIAN = 2;     // a grid of step s moves the farthest of three corners by 0.62 s, and by 0.87 s at most
const THIN = 4;               // triangles lower than so many tolerances may lose or gain their area
const MOST_COMPARISONS = 1024;  // per triangle

/** The first three keep the direction of rotation. Corner c of one is corner ORDERS[o][c] of the other. */
export const ORDERS = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];

function compare(a, i, b, j) {
  let best = Infinity, order = 0;
  for (let o = 0; o < 6; ++o) {
    let move = 0;
    for (let c = 0; c < 3; ++c) {
      const p = 9 * i + 3 * c, q = 9 * j + 3 * ORDERS[o][c];
      const x = a[p] - b[q], y = a[p + 1] - b[q + 1], z = a[p + 2] - b[q + 2];
      move = Math.max(move, x * x + y * y + z * z);
    }
    if (move < best) [best, order] = [move, o];
  }
  return { move: Math.sqrt(best), order };
}

function height(a, i) {
  const edge = (p, q) => [0, 1, 2].map((k) => a[9 * i + 3 * q + k] - a[9 * i + 3 * p + k]);
  const u = edge(0, 1), v = edge(0, 2), w = edge(1, 2);
  const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const longest = Math.max(Math.hypot(...u), Math.hypot(...v), Math.hypot(...w));
  return longest > 0 ? Math.hypot(...n) / longest : 0;
}

/** True if both lists are the same, up to float32 rounding. */
function same(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; ++i) {
    if (!(Math.abs(a[i] - b[i]) <= FLOAT_ROUNDING)) return false;
  }
  // On a mesh of triangles that small, another order would look the same.
  let smallest = Infinity;
  for (let t = 0; t < a.length / 9; ++t) smallest = Math.min(smallest, height(a, t) || Infinity);
  return smallest > 4 * FLOAT_ROUNDING || a.every((v, i) => v === b[i]);
}

/**
 * @param partOf the part of the scene every triangle of `b` belongs to: each may have been rounded to a grid of its own
 * @returns null if the shape differs; otherwise `identical`, or for each triangle of `a` the triangle of `b` (-1:
 *   without area there) and the number of its order of corners
 */
export function matchTriangles(a, b, partOf) {
  const countA = a.length / 9, countB = b.length / 9;
  const to = new Int32Array(countA).fill(-1), order = new Uint8Array(countA);
  if (same(a, b)) {
    for (let i = 0; i < countA; ++i) to[i] = i;
    return { identical: true, to, order };
  }
  const move = new Float64Array(countA), taken = new Uint8Array(countB);
  let left = MOST_COMPARISONS * (countA + countB);
  const center = (list, i, k) => (list[9 * i + k] + list[9 * i + 3 + k] + list[9 * i + 6 + k]) / 3;
  const hash = (x, y, z) => (Math.imul(x, 73856093) ^ Math.imul(y, 19349663) ^ Math.imul(z, 83492791)) | 0;
  for (let reach = FIRST_REACH; ; reach = Math.min(REACH_STEP * reach, LAST_REACH)) {
    const cells = new Map();
    const cell = (list, i) => [0, 1, 2].map((k) => Math.floor(center(list, i, k) / reach));
    for (let j = 0; j < countB; ++j) {
      if (taken[j]) continue;
      const key = hash(...cell(b, j));
      if (cells.has(key)) cells.get(key).push(j);
      else cells.set(key, [j]);
    }
    const pairs = [];
    for (let i = 0; i < countA && cells.size > 0; ++i) {
      if (to[i] >= 0) continue;
      const [x, y, z] = cell(a, i);
      const seen = new Set();
      for (let d = 0; d < 27; ++d) {
        const key = hash(x + (d % 3) - 1, y + (Math.floor(d / 3) % 3) - 1, z + Math.floor(d / 9) - 1);
        if (seen.has(key)) continue;
        seen.add(key);
        for (const j of cells.get(key) || []) {
          if (--left < 0) return null;
          const pair = compare(a, i, b, j);
          if (pair.move <= reach) pairs.push({ ...pair, i, j });
        }
      }
    }
    pairs.sort((p, q) => p.move - q.move || (p.order >= 3) - (q.order >= 3) || p.i - q.i || p.j - q.j);
    for (const pair of pairs) {
      if (to[pair.i] >= 0 || taken[pair.j]) continue;
      to[pair.i] = pair.j;
      order[pair.i] = pair.order;
      move[pair.i] = pair.move;
      taken[pair.j] = 1;
    }
    if (reach >= LAST_REACH) break;
  }
  const moves = new Map();
  for (let i = 0; i < countA; ++i) {
    if (to[i] < 0) continue;
    const part = partOf[to[i]];
    if (moves.has(part)) moves.get(part).push(move[i]);
    else moves.set(part, [move[i]]);
  }
  if (moves.size === 0) return null;
  const tolerances = new Map();
  for (const [part, list] of moves) {
    list.sort((p, q) => p - q);
    tolerances.set(part, MOST_TO_MEDIAN * list[list.length >> 1] + FLOAT_ROUNDING);
  }
  const thin = THIN * Math.max(...tolerances.values());
  for (let i = 0; i < countA; ++i) {
    if (to[i] >= 0 && move[i] <= tolerances.get(partOf[to[i]])) continue;
    if (to[i] >= 0) taken[to[i]] = 0;
    to[i] = -1;
    if (height(a, i) > thin) return null;
  }
  for (let j = 0; j < countB; ++j) {
    if (!taken[j] && height(b, j) > thin) return null;
  }
  return { identical: false, to, order };
}

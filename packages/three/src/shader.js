// GLSL: "The colour of a point" of docs/format.md.

import { ROW, KERNEL_TEXELS } from './tables.js';

const number = (x) => {
  const text = String(Math.fround(x));
  return /[.e]/.test(text) ? text : `${text}.0`;
};

/** Whether vectors come from a proxy, whose faces do not lie in the planes of the triangles. */
const turnsVectors = ({ proxy, product }) => proxy !== null && product.vectors.length > 0;

export const vertexDeclarations = (tables) => /* glsl */`
attribute vec4 heatskinCorner;
flat varying int vHeatskinFace;
varying vec3 vHeatskinBarycentric;
varying vec3 vHeatskinRest;
${turnsVectors(tables) ? /* glsl */`attribute vec3 heatskinFirst, heatskinSecond;
flat varying vec3 vHeatskinFirst, vHeatskinSecond;` : ''}
`;

export const vertexCode = (tables) => /* glsl */`
{
  ${turnsVectors(tables) ? 'vHeatskinFirst = heatskinFirst; vHeatskinSecond = heatskinSecond;' : ''}
  int heatskinIndex = int(heatskinCorner.w + 0.5);
  vHeatskinFace = heatskinIndex / 3;
  int corner = heatskinIndex - 3 * vHeatskinFace;
  vHeatskinBarycentric = vec3(corner == 0, corner == 1, corner == 2);
  vHeatskinRest = heatskinCorner.xyz;
}
`;

/** "Charts on a proxy" of docs/format.md: heatskinPlace() finds the face that stands for a point, and where on it. */
const placeFunction = ({ mostListed, mostAround }) => /* glsl */`
uniform highp sampler2D heatskinProxy;
uniform highp usampler2D heatskinLists;

vec4 heatskinProxyTexel(int i) { return texelFetch(heatskinProxy, ivec2(i % ${ROW}, i / ${ROW}), 0); }
int heatskinListed(int i) { return int(texelFetch(heatskinLists, ivec2(i % ${ROW}, i / ${ROW}), 0).x); }

struct HeatskinPlace {
  int face;
  vec3 b;
  float squared;
  bool inside;
  vec3 normal;
};

HeatskinPlace heatskinNearest(int face) {
  vec3 c[3];
  for (int i = 0; i < 3; ++i) c[i] = heatskinProxyTexel(4 * face + i).xyz;
  HeatskinPlace place;
  place.face = face;
  place.normal = normalize(cross(c[1] - c[0], c[2] - c[0]));
  float height = dot(vHeatskinRest - c[0], place.normal);
  vec3 foot = vHeatskinRest - height * place.normal;
  vec3 areas = vec3(dot(cross(c[2] - c[1], foot - c[1]), place.normal), dot(cross(c[0] - c[2], foot - c[2]), place.normal),
                    dot(cross(c[1] - c[0], foot - c[0]), place.normal));
  place.b = areas / (areas.x + areas.y + areas.z);
  place.inside = all(greaterThanEqual(areas, vec3(0.0)));
  float least = place.inside ? 0.0 : 1e30;
  for (int e = 0; e < 3; ++e) {
    int n = e == 2 ? 0 : e + 1, apex = 3 - e - n;
    if (place.inside || areas[apex] >= 0.0) continue;
    vec3 side = c[n] - c[e], away = foot - c[e];
    float along = clamp(dot(side, away) / dot(side, side), 0.0, 1.0);
    vec3 rest = away - along * side;
    if (dot(rest, rest) >= least) continue;
    least = dot(rest, rest);
    place.b = vec3(0.0);
    place.b[e] = 1.0 - along;
    place.b[n] = along;
  }
  place.squared = height * height + least;
  return place;
}

float heatskinNearer(float squared) { return squared - 2e-6 * sqrt(squared); }

HeatskinPlace heatskinPlace(int begin, int count) {
  HeatskinPlace best = heatskinNearest(heatskinListed(begin));
  for (int i = 1; i < ${Math.max(mostListed, 1)}; ++i) {
    if (i >= count) break;
    HeatskinPlace other = heatskinNearest(heatskinListed(begin + i));
    if (other.squared < heatskinNearer(best.squared)) best = other;
  }
  vec3 normal = best.normal;
  int start = -1;
  for (int steps = 0; steps < 64; ++steps) {
    if (start == best.face || best.inside || best.squared <= 1e-12) break;
    start = best.face;
    int first = int(heatskinProxyTexel(4 * start + 2).w + 0.5), around = int(heatskinProxyTexel(4 * start + 3).x + 0.5);
    for (int i = 0; i < ${Math.max(mostAround, 1)}; ++i) {
      if (i >= around) break;
      HeatskinPlace other = heatskinNearest(heatskinListed(first + i));
      if (other.squared < heatskinNearer(best.squared) && dot(other.normal, normal) >= -0.25) best = other;
    }
  }
  return best;
}
`;

/** Turns a vector from the plane of a face of the proxy to that of the triangle. */
const TURN_FUNCTION = /* glsl */`
vec2 heatskinTurned(int face, vec2 v, bool mirrored) {
  vec3 corner = heatskinProxyTexel(4 * face).xyz;
  vec3 x = normalize(heatskinProxyTexel(4 * face + 1).xyz - corner), to = heatskinProxyTexel(4 * face + 2).xyz - corner;
  vec3 y = normalize(to - dot(to, x) * x);
  vec2 turn = vec2(dot(vHeatskinFirst, x) + dot(vHeatskinSecond, y), dot(vHeatskinSecond, x) - dot(vHeatskinFirst, y));
  turn = length(turn) > 1e-6 ? normalize(turn) : vec2(1.0, 0.0);
  v = vec2(turn.x * v.x - turn.y * v.y, turn.y * v.x + turn.x * v.y);
  return mirrored ? vec2(v.x, -v.y) : v;
}
`;

/**
 * Declares heatskinEvaluate(), which fills heatskinValues (relative to the ranges of the channels) and heatskinCoverage.
 * Loops are bounded by the largest number of records of a triangle.
 */
export function fragmentDeclarations(tables) {
  const { product, stride, channels, most } = tables, { options, mean, vectors } = product;
  const texels = Math.ceil(channels / 4), candidates = Math.min(options.candidates, Math.max(most, 1));
  const padded = [...mean, 0, 0, 0].slice(0, 4 * texels);
  const means = Array.from({ length: texels }, (_, i) => `vec4(${padded.slice(4 * i, 4 * i + 4).map(number)})`);
  const at = (c) => `heatskinValues[${c >> 2}].${'xyzw'[c & 3]}`;
  const part = (c) => `residual[${c >> 2}].${'xyzw'[c & 3]}`;
  return /* glsl */`
#define HEATSKIN_MOST ${Math.max(most, 1)}
#define HEATSKIN_CANDIDATES ${candidates}
#define HEATSKIN_KEPT ${Math.min(30, Math.max(most, 1))}
#define HEATSKIN_TEXELS ${texels}
uniform float heatskinFootprint;
uniform highp usampler2D heatskinFaces;
uniform highp sampler2D heatskinRecords;
uniform highp sampler2D heatskinKernels;
flat varying int vHeatskinFace;
varying vec3 vHeatskinBarycentric;
varying vec3 vHeatskinRest;
${turnsVectors(tables) ? 'flat varying vec3 vHeatskinFirst, vHeatskinSecond;' : ''}
vec4 heatskinValues[HEATSKIN_TEXELS];
float heatskinCoverage;
int heatskinBegin, heatskinCount;  // the records of the triangle, or of that face
vec2 heatskinB;  // barycentric coordinates on the triangle, or on the face of the proxy that stands for it
${tables.proxy ? placeFunction(tables) : ''}${turnsVectors(tables) ? TURN_FUNCTION : ''}

vec4 heatskinRecord(int i) { return texelFetch(heatskinRecords, ivec2(i % ${ROW}, i / ${ROW}), 0); }
vec4 heatskinKernel(int i) { return texelFetch(heatskinKernels, ivec2(i % ${ROW}, i / ${ROW}), 0); }

vec2 heatskinAcross = vec2(0.0), heatskinDown = vec2(0.0);  // of heatskinB, from pixel to pixel; 0: exact values

struct HeatskinPair {
  int first;      // texel of the kernel
  vec2 at;        // in the kernel's axes and lengths
  float squared;  // distance in lengths
  float length2;
  vec2 across, down;  // of at, from pixel to pixel
};

HeatskinPair heatskinPair(int record) {
  vec4 x = heatskinRecord(2 * record), y = heatskinRecord(2 * record + 1);
  HeatskinPair pair;
  pair.first = int(x.w + 0.5) * ${stride};
  pair.at = vec2(dot(x.xy, heatskinB) + x.z, dot(y.xy, heatskinB) + y.z);
  vec4 center = heatskinKernel(pair.first);
  vec3 chord = (vHeatskinRest - center.xyz) * center.w;
  float plane = dot(pair.at, pair.at), space = dot(chord, chord);
  pair.squared = space > 1.0001 * plane ? space : plane;
  pair.length2 = 1.0 / (center.w * center.w);
  pair.across = vec2(dot(x.xy, heatskinAcross), dot(y.xy, heatskinAcross));
  pair.down = vec2(dot(x.xy, heatskinDown), dot(y.xy, heatskinDown));
  return pair;
}

float heatskinWeight(HeatskinPair pair, vec4 shape) {
  float plane = dot(pair.at, pair.at);
  float share = plane > 1e-18 ? pair.at.y * pair.at.y / plane : 0.0;
  float response = exp(-pair.squared * (${number(product.heat)} * (1.0 + shape.x * share) + ${number(product.window)}));
  vec4 filtering = heatskinKernel(pair.first + 2);
  // Over the area that a sample stands for the response varies: the mean of the threshold's logistic curve is
  // about a flatter one.
  vec2 slope = -2.0 * response * (${number(product.heat + product.window)} * pair.at + vec2(0.0, ${number(product.heat)} * shape.x * pair.at.y));
  float along = dot(slope, pair.across), beside = dot(slope, pair.down);
  float variance = heatskinFootprint / 12.0 * (along * along + beside * beside);
  float sharpness = shape.z * inversesqrt(1.0 + ${number(Math.PI / 8)} * shape.z * shape.z * variance);
  float soft = 1.0 / (1.0 + exp(-sharpness * (response - shape.y)));
  return clamp((soft - filtering.x) * filtering.y, 0.0, 1.0);
}

void heatskinEvaluate() {
  heatskinValues = vec4[HEATSKIN_TEXELS](${means.join(', ')});
  uvec2 face = texelFetch(heatskinFaces, ivec2(vHeatskinFace % ${ROW}, vHeatskinFace / ${ROW}), 0).xy;
  int begin = int(face.x), count = int(face.y >> 3);
  heatskinB = vHeatskinBarycentric.xy;
  heatskinCoverage = 0.0;
  heatskinCount = 0;
  ${tables.proxy ? '' : 'if (heatskinFootprint > 0.0) { heatskinAcross = dFdx(heatskinB); heatskinDown = dFdy(heatskinB); }'}
  ${tables.proxy ? /* glsl */`if (count == 0) return;
  HeatskinPlace place = heatskinPlace(begin, count);
  heatskinB = place.b.xy;
  begin = int(heatskinProxyTexel(4 * place.face).w + 0.5);
  count = int(heatskinProxyTexel(4 * place.face + 1).w + 0.5);` : ''}

  heatskinBegin = begin;
  heatskinCount = count;

  // Where too many kernels reach the triangle, the largest rank of those that count: the nearest ones.
  float limit = 1e30;
  int ties = 0;
#if HEATSKIN_MOST > HEATSKIN_CANDIDATES
  if (count > HEATSKIN_CANDIDATES) {
    float ranks[HEATSKIN_CANDIDATES];
    int worst = 0;
    for (int i = 0; i < HEATSKIN_MOST; ++i) {
      if (i >= count) break;
      HeatskinPair pair = heatskinPair(begin + i);
      float rank = pair.squared * pair.length2 * heatskinKernel(pair.first + 1).w;
      if (i < HEATSKIN_CANDIDATES) {
        ranks[i] = rank;
        if (rank > ranks[worst]) worst = i;
      } else if (rank < ranks[worst]) {
        ranks[worst] = rank;
        for (int j = 0; j < HEATSKIN_CANDIDATES; ++j) if (ranks[j] > ranks[worst]) worst = j;
      }
    }
    limit = ranks[worst];
    for (int j = 0; j < HEATSKIN_CANDIDATES; ++j) if (ranks[j] == limit) ++ties;
  }
#endif

  // The largest weights.
  float weights[HEATSKIN_KEPT];
  int records[HEATSKIN_KEPT];
  int kept = 0, least = 0;
  for (int i = 0; i < HEATSKIN_MOST; ++i) {
    if (i >= count) break;
    HeatskinPair pair = heatskinPair(begin + i);
    vec4 shape = heatskinKernel(pair.first + 1);
    float rank = pair.squared * pair.length2 * shape.w;
    if (rank > limit || (rank == limit && --ties < 0)) continue;
    float weight = heatskinWeight(pair, shape);
    if (weight <= 0.0) continue;
    if (kept < HEATSKIN_KEPT) {
      weights[kept] = weight;
      records[kept] = begin + i;
      if (weight < weights[least]) least = kept;
      ++kept;
    } else if (weight > weights[least]) {
      weights[least] = weight;
      records[least] = begin + i;
      for (int j = 0; j < HEATSKIN_KEPT; ++j) if (weights[j] < weights[least]) least = j;
    }
  }
  for (int j = 0; j < HEATSKIN_KEPT; ++j) if (j < kept) heatskinCoverage += weights[j];
  for (int j = 0; j < HEATSKIN_KEPT; ++j) {
    if (j >= kept) break;
    float share = weights[j] / max(heatskinCoverage, 1.0);
    int first = int(heatskinRecord(2 * records[j]).w + 0.5) * ${stride} + ${KERNEL_TEXELS};
    vec4 residual[HEATSKIN_TEXELS];
    for (int c = 0; c < HEATSKIN_TEXELS; ++c) residual[c] = heatskinKernel(first + c);
    ${vectors.length === 0 ? '' : /* glsl */`float turn = heatskinRecord(2 * records[j] + 1).w;
    float cosine = cos(turn), sine = sin(turn), along;`}
    ${vectors.map((c) => /* glsl */`along = ${part(c)};
    ${part(c)} = cosine * along + sine * ${part(c + 1)};
    ${part(c + 1)} = cosine * ${part(c + 1)} - sine * along;`).join('\n    ')}
    for (int c = 0; c < HEATSKIN_TEXELS; ++c) heatskinValues[c] += share * residual[c];
  }
  ${vectors.map((c) => /* glsl */`{
    vec2 v = vec2(${at(c)}, ${at(c + 1)}) - 0.5;
    v /= max(2.0 * length(v), 1.0);
    ${turnsVectors(tables) ? 'v = heatskinTurned(place.face, v, (face.y & 4u) != 0u);' : ''}
    v += 0.5;
    ${at(c)} = v.x;
    ${at(c + 1)} = v.y;
  }`).join('\n  ')}
  for (int c = 0; c < HEATSKIN_TEXELS; ++c) heatskinValues[c] = clamp(heatskinValues[c], 0.0, 1.0);
}

vec3 heatskinLinear(vec3 c) {
  return mix(pow((c + 0.055) / 1.055, vec3(2.4)), c / 12.92, vec3(lessThanEqual(c, vec3(0.04045))));
}
`;
}

/**
 * "Normals" of docs/format.md in the view's axes, for the pose in which the surface is: n0 is the interpolated vertex normal,
 * or 0 where there are none. The edges of the triangle follow from how positions and barycentric coordinates change on the
 * screen. heatskinShaded() turns a vector of the triangle's plane into the plane of shading ("Anisotropy").
 */
export const NORMAL_FUNCTION = /* glsl */`
vec3 heatskinTurnedTo(vec3 n0, vec3 from, vec3 along, vec3 v) {
  float cosine = dot(from, n0);
  if (1.0 + cosine < 1e-6) return 2.0 * dot(along, v) * along - v;
  vec3 axis = cross(from, n0), turned = cross(axis, v);
  return v + turned + cross(axis, turned) / (1.0 + cosine);
}

vec3 heatskinTilted(vec3 position, vec3 n0, vec2 inFace, bool slope) {
  vec2 bx = dFdx(vHeatskinBarycentric.xy), by = dFdy(vHeatskinBarycentric.xy);
  vec3 px = dFdx(position), py = dFdy(position);
  // Corner 0 minus corner 2 and corner 1 minus corner 2, times the determinant.
  float sign_ = sign(bx.x * by.y - bx.y * by.x);
  vec3 toFirst = (px * by.y - py * bx.y) * sign_, toSecond = (py * bx.x - px * by.x) * sign_;
  vec3 along = toSecond - toFirst;
  vec3 flatNormal = cross(toFirst, toSecond);
  if (dot(along, along) <= 0.0 || dot(flatNormal, flatNormal) <= 0.0) return slope ? n0 : vec3(0.0);
  along = normalize(along);
  uint flags = texelFetch(heatskinFaces, ivec2(vHeatskinFace % ${ROW}, vHeatskinFace / ${ROW}), 0).y;
  flatNormal = normalize(flatNormal) * ((flags & 1u) != 0u ? -1.0 : 1.0);
  vec3 inSpace = inFace.x * along + inFace.y * cross(flatNormal, along);
  float side = (flags & 2u) != 0u ? -1.0 : 1.0;
  vec3 from = side * flatNormal, v = slope ? from + side * inSpace : inSpace;
  if (dot(n0, n0) > 0.0) v = heatskinTurnedTo(n0, from, along, v);
  return slope ? normalize(v) : v;
}

vec3 heatskinNormal(vec3 position, vec3 n0, vec2 slope) { return heatskinTilted(position, n0, slope, true); }
vec3 heatskinShaded(vec3 position, vec3 n0, vec2 inFace) { return heatskinTilted(position, n0, inFace, false); }
`;

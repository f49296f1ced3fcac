// GLSL: "The colour of a point" of docs/format.md.

import { ROW, KERNEL_TEXELS } from './tables.js';

const number = (x) => {
  const text = String(Math.fround(x));
  return /[.e]/.test(text) ? text : `${text}.0`;
};

export const VERTEX_DECLARATIONS = /* glsl */`
attribute vec4 heatskinCorner;
flat varying int vHeatskinFace;
varying vec3 vHeatskinBarycentric;
varying vec3 vHeatskinRest;
`;

export const VERTEX_CODE = /* glsl */`
{
  int heatskinIndex = int(heatskinCorner.w + 0.5);
  vHeatskinFace = heatskinIndex / 3;
  int corner = heatskinIndex - 3 * vHeatskinFace;
  vHeatskinBarycentric = vec3(corner == 0, corner == 1, corner == 2);
  vHeatskinRest = heatskinCorner.xyz;
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
uniform highp usampler2D heatskinFaces;
uniform highp sampler2D heatskinRecords;
uniform highp sampler2D heatskinKernels;
flat varying int vHeatskinFace;
varying vec3 vHeatskinBarycentric;
varying vec3 vHeatskinRest;
vec4 heatskinValues[HEATSKIN_TEXELS];
float heatskinCoverage;

vec4 heatskinRecord(int i) { return texelFetch(heatskinRecords, ivec2(i % ${ROW}, i / ${ROW}), 0); }
vec4 heatskinKernel(int i) { return texelFetch(heatskinKernels, ivec2(i % ${ROW}, i / ${ROW}), 0); }

struct HeatskinPair {
  int first;      // texel of the kernel
  vec2 at;        // in the kernel's axes and lengths
  float squared;  // distance in lengths
  float length2;
};

HeatskinPair heatskinPair(int record) {
  vec4 x = heatskinRecord(2 * record), y = heatskinRecord(2 * record + 1);
  HeatskinPair pair;
  pair.first = int(x.w + 0.5) * ${stride};
  vec2 b = vHeatskinBarycentric.xy;
  pair.at = vec2(dot(x.xy, b) + x.z, dot(y.xy, b) + y.z);
  vec4 center = heatskinKernel(pair.first);
  vec3 chord = (vHeatskinRest - center.xyz) * center.w;
  float plane = dot(pair.at, pair.at), space = dot(chord, chord);
  pair.squared = space > 1.0001 * plane ? space : plane;
  pair.length2 = 1.0 / (center.w * center.w);
  return pair;
}

float heatskinWeight(HeatskinPair pair, vec4 shape) {
  float plane = dot(pair.at, pair.at);
  float share = plane > 1e-18 ? pair.at.y * pair.at.y / plane : 0.0;
  float response = exp(-pair.squared * (${number(product.heat)} * (1.0 + shape.x * share) + ${number(product.window)}));
  vec4 filtering = heatskinKernel(pair.first + 2);
  float soft = 1.0 / (1.0 + exp(-shape.z * (response - shape.y)));
  return clamp((soft - filtering.x) * filtering.y, 0.0, 1.0);
}

void heatskinEvaluate() {
  heatskinValues = vec4[HEATSKIN_TEXELS](${means.join(', ')});
  uvec2 face = texelFetch(heatskinFaces, ivec2(vHeatskinFace % ${ROW}, vHeatskinFace / ${ROW}), 0).xy;
  int begin = int(face.x), count = int(face.y >> 2);

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
  heatskinCoverage = 0.0;
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
    v = 0.5 + v / max(2.0 * length(v), 1.0);
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
 * screen.
 */
export const NORMAL_FUNCTION = /* glsl */`
vec3 heatskinNormal(vec3 position, vec3 n0, vec2 slope) {
  vec2 bx = dFdx(vHeatskinBarycentric.xy), by = dFdy(vHeatskinBarycentric.xy);
  vec3 px = dFdx(position), py = dFdy(position);
  // Corner 0 minus corner 2 and corner 1 minus corner 2, times the determinant.
  float sign_ = sign(bx.x * by.y - bx.y * by.x);
  vec3 toFirst = (px * by.y - py * bx.y) * sign_, toSecond = (py * bx.x - px * by.x) * sign_;
  vec3 along = toSecond - toFirst;
  vec3 flatNormal = cross(toFirst, toSecond);
  if (dot(along, along) <= 0.0 || dot(flatNormal, flatNormal) <= 0.0) return n0;
  along = normalize(along);
  uint flags = texelFetch(heatskinFaces, ivec2(vHeatskinFace % ${ROW}, vHeatskinFace / ${ROW}), 0).y;
  flatNormal = normalize(flatNormal) * ((flags & 1u) != 0u ? -1.0 : 1.0);
  vec3 inSpace = slope.x * along + slope.y * cross(flatNormal, along);
  float side = (flags & 2u) != 0u ? -1.0 : 1.0;
  vec3 from = side * flatNormal, v = from + side * inSpace;
  if (dot(n0, n0) <= 0.0) return normalize(v);
  float cosine = dot(from, n0);
  if (1.0 + cosine < 1e-6) return normalize(2.0 * dot(along, v) * along - v);
  vec3 axis = cross(from, n0), turned = cross(axis, v);
  return normalize(v + turned + cross(axis, turned) / (1.0 + cosine));
}
`;

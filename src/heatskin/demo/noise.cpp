#include "heatskin/demo/noise.h"

#include <cmath>
#include <utility>

#include "heatskin/base/rng.h"
#include "heatskin/demo/portable_math.h"

namespace heatskin {
namespace {

double fade(double t) {
  return t * t * t * (t * (6 * t - 15) + 10);
}

/// Dot product with one of the twelve edge directions of a cube (four of them twice).
double slope(std::uint8_t hash, double x, double y, double z) {
  const int h = hash & 15;
  const double u = h < 8 ? x : y;
  const double v = h < 4 ? y : (h == 12 || h == 14 ? x : z);
  return ((h & 1) == 0 ? u : -u) + ((h & 2) == 0 ? v : -v);
}

/// The same in the plane. No direction lies along an axis: such a cell would be constant along the other one,
/// which shows as a square.
double slope(std::uint8_t hash, double x, double y) {
  const double u = (hash & 4) == 0 ? x : y, v = (hash & 4) == 0 ? y : x;
  return ((hash & 1) == 0 ? 1.25 * u : -1.25 * u) + ((hash & 2) == 0 ? 0.7 * v : -0.7 * v);
}

int wrapped(int x, int period) {
  const int r = x % period;
  return r < 0 ? r + period : r;
}

double byteUnit(std::uint8_t byte) {
  return byte / 256.0;
}

}  // namespace

LatticeNoise::LatticeNoise(std::uint64_t seed, std::uint64_t stream) : table_{}, salt_(0) {
  for (std::size_t i = 0; i < 256; ++i)
    table_[i] = static_cast<std::uint8_t>(i);
  const RandomStream random(seed, stream);
  for (std::size_t i = 255; i > 0; --i)
    std::swap(table_[i], table_[random.below(i, i + 1)]);
}

double LatticeNoise::at(const Vec3& p) const {
  const double fx = std::floor(p.x()), fy = std::floor(p.y()), fz = std::floor(p.z());
  const int ix = static_cast<int>(fx), iy = static_cast<int>(fy), iz = static_cast<int>(fz);
  const double x = p.x() - fx, y = p.y() - fy, z = p.z() - fz;
  const double u = fade(x), v = fade(y), w = fade(z);
  const auto corner = [&](int dx, int dy, int dz) {
    return slope(hash(ix + dx, iy + dy, iz + dz), x - dx, y - dy, z - dz);
  };
  return mix(mix(mix(corner(0, 0, 0), corner(1, 0, 0), u), mix(corner(0, 1, 0), corner(1, 1, 0), u), v),
             mix(mix(corner(0, 0, 1), corner(1, 0, 1), u), mix(corner(0, 1, 1), corner(1, 1, 1), u), v), w);
}

double LatticeNoise::at(double px, double py, int period_x) const {
  const double fx = std::floor(px), fy = std::floor(py);
  const int iy = static_cast<int>(fy);
  const int x0 = wrapped(static_cast<int>(fx), period_x), x1 = wrapped(static_cast<int>(fx) + 1, period_x);
  const double x = px - fx, y = py - fy;
  const double u = fade(x), v = fade(y);
  // x >> 8 enters the third index, so that periods above 256 cells do not repeat early.
  const auto corner = [&](int cx, int dx, int dy) {
    return slope(hash(cx, iy + dy, cx >> 8), x - dx, y - dy);
  };
  return mix(mix(corner(x0, 0, 0), corner(x1, 1, 0), u), mix(corner(x0, 0, 1), corner(x1, 1, 1), u), v);
}

double LatticeNoise::fractal(const Vec3& p, int octaves) const {
  double sum = 0, weight = 1;
  Vec3 q = p;
  for (int i = 0; i < octaves; ++i) {
    sum += weight * at(q);
    weight *= 0.5;
    // The shift keeps the lattice points of the octaves, where noise is zero, apart.
    q = 2.0 * q + Vec3(0.37, 0.61, 0.83);
  }
  return sum;
}

std::array<std::uint8_t, 4> LatticeNoise::cell(int x, int y, int z) const {
  // A permutation of 256 entries is too small for four independent bytes: mix all bits instead.
  std::uint32_t h = salt_ ^ (static_cast<std::uint32_t>(x) * 0x9E3779B1u) ^
                    (static_cast<std::uint32_t>(y) * 0x85EBCA77u) ^
                    (static_cast<std::uint32_t>(z) * 0xC2B2AE3Du);
  for (const std::uint32_t multiplier : {0x7FEB352Du, 0x846CA68Bu, 0x7FEB352Du}) {
    h = (h ^ (h >> 16)) * multiplier;
  }
  h ^= h >> 15;
  return {static_cast<std::uint8_t>(h), static_cast<std::uint8_t>(h >> 8), static_cast<std::uint8_t>(h >> 16),
          static_cast<std::uint8_t>(h >> 24)};
}

Dot dotAt(const LatticeNoise& noise, double x, double y, int period_x, double density, double min_radius,
          double max_radius) {
  const double fx = std::floor(x), fy = std::floor(y);
  const int cx = wrapped(static_cast<int>(fx), period_x);
  const auto bytes = noise.cell(cx, static_cast<int>(fy), 17);
  if (byteUnit(bytes[0]) >= density) return {};
  const double radius = mix(min_radius, max_radius, byteUnit(bytes[3]));
  const double px = mix(radius, 1 - radius, byteUnit(bytes[1]));
  const double py = mix(radius, 1 - radius, byteUnit(bytes[2]));
  const double dx = x - fx - px, dy = y - fy - py;
  return {std::sqrt(dx * dx + dy * dy) / radius, byteUnit(bytes[3])};
}

Dot dotAt(const LatticeNoise& noise, const Vec3& p, double density, double min_radius, double max_radius) {
  const Vec3 floor(std::floor(p.x()), std::floor(p.y()), std::floor(p.z()));
  const auto bytes =
      noise.cell(static_cast<int>(floor.x()), static_cast<int>(floor.y()), static_cast<int>(floor.z()));
  if (byteUnit(bytes[0]) >= density) return {};
  const double radius = mix(min_radius, max_radius, byteUnit(bytes[3]));
  const Vec3 center(mix(radius, 1 - radius, byteUnit(bytes[1])), mix(radius, 1 - radius, byteUnit(bytes[2])),
                    mix(radius, 1 - radius, byteUnit(bytes[3] ^ bytes[1])));
  return {(p - floor - center).norm() / radius, byteUnit(bytes[2])};
}

}  // namespace heatskin

#include "heatskin/product/quantize.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace heatskin {
namespace {

/// The largest 16-bit code; barycentric codes add up to it.
constexpr std::uint32_t kFull = 65535;

/// Codes of an angle: [0, pi) in 65,536 steps, because pi is 0 again.
constexpr double kAngleSteps = 65536;

/// Codes of further channels run from 0 (-1) over the middle (exactly 0) to twice the middle (+1).
constexpr std::uint32_t kChannelMiddle = 32767;

/// Colour codes run from 0 (-1) over the middle (exactly 0) to twice the middle (+1): 11, 11 and 10 bits.
constexpr std::array<std::uint32_t, 3> kColorMiddle = {1023, 1023, 511};
constexpr std::array<int, 3> kColorShift = {0, 11, 22};
constexpr std::array<std::uint32_t, 3> kColorMask = {2047, 2047, 1023};

void put(std::uint8_t*& at, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    *at++ = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint32_t take(const std::uint8_t*& at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(*at++) << (8 * i);
  return value;
}

/// Code of `x` on a scale that is even in g(x) between the ends of `range`.
template <class G>
std::uint32_t codeOf(double x, const std::array<double, 2>& range, const G& g) {
  const double unit = (g(x) - g(range[0])) / (g(range[1]) - g(range[0]));
  return static_cast<std::uint32_t>(std::lround(std::clamp(unit, 0.0, 1.0) * kFull));
}

template <class G, class Inverse>
float valueOf(std::uint32_t code, const std::array<double, 2>& range, const G& g, const Inverse& inverse) {
  const double x = inverse(g(range[0]) + (g(range[1]) - g(range[0])) * code / kFull);
  return static_cast<float>(std::clamp(x, range[0], range[1]));
}

double logarithm(double x) {
  return std::log(x);
}
double exponential(double y) {
  return std::exp(y);
}
/// A kernel's size follows 1 - eps, so the scale is even in its logarithm. 1 - x is exact for floats in
/// [0.5, 1].
double rarity(double x) {
  return -std::log(1 - x);
}
double fromRarity(double y) {
  return 1 - std::exp(-y);
}

/// Codes of barycentric coordinates that add up to kFull: rounded down, then what is missing goes to the
/// largest remainders.
std::array<std::uint32_t, 3> barycentricCodes(const Vec3& barycentric) {
  Vec3 b = barycentric.cwiseMax(0.0);
  b /= b.sum();
  std::array<std::uint32_t, 3> codes;
  std::array<double, 3> rest;
  std::uint32_t sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const double scaled = b[static_cast<Eigen::Index>(c)] * kFull;
    codes[c] = std::min(static_cast<std::uint32_t>(scaled), kFull - sum);
    rest[c] = scaled - codes[c];
    sum += codes[c];
  }
  for (; sum < kFull; ++sum) {
    const auto largest = static_cast<std::size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    ++codes[largest];
    rest[largest] -= 1;
  }
  return codes;
}

}  // namespace

void packKernel(const StoredKernel& kernel, const QuantizeRanges& ranges, std::span<std::uint8_t> out) {
  const auto channels = static_cast<std::size_t>(kernel.channels.size());
  assert(channels >= 3 && out.size() == kernelBytes(channels));
  const auto codeOfResidual = [&](std::size_t channel, std::uint32_t middle) {
    const auto value = static_cast<double>(kernel.channels[static_cast<Eigen::Index>(channel)]);
    return static_cast<std::uint32_t>(std::lround((std::clamp(value, -1.0, 1.0) + 1) * middle));
  };
  std::uint8_t* at = out.data();
  put(at, kernel.position.triangle, 4);
  const auto b = barycentricCodes(kernel.position.barycentric);
  put(at, b[0], 2);
  put(at, b[1], 2);
  const double turns = kernel.angle / std::numbers::pi;
  put(at, static_cast<std::uint32_t>(std::lround((turns - std::floor(turns)) * kAngleSteps)) % 65536u, 2);
  put(at, codeOf(kernel.anisotropy, ranges.anisotropy, logarithm), 2);
  put(at, codeOf(kernel.threshold, ranges.threshold, rarity), 2);
  put(at, codeOf(kernel.sharpness, ranges.sharpness, logarithm), 2);
  std::uint32_t color = 0;
  for (std::size_t c = 0; c < 3; ++c)
    color |= codeOfResidual(c, kColorMiddle[c]) << kColorShift[c];
  put(at, color, 4);
  for (std::size_t c = 3; c < channels; ++c)
    put(at, codeOfResidual(c, kChannelMiddle), 2);
}

std::optional<std::string> unpackKernel(std::span<const std::uint8_t> bytes, const QuantizeRanges& ranges,
                                        StoredKernel& out) {
  assert(bytes.size() >= kKernelBytes && bytes.size() <= kernelBytes(kMaxChannels) && bytes.size() % 2 == 0);
  const std::size_t channels = 3 + (bytes.size() - kKernelBytes) / 2;
  out.channels.resize(static_cast<Eigen::Index>(channels));
  const std::uint8_t* at = bytes.data();
  out.position.triangle = take(at, 4);
  const std::uint32_t b0 = take(at, 2), b1 = take(at, 2);
  if (b0 + b1 > kFull) return "its barycentric coordinates add up to more than 1";
  out.position.barycentric = Vec3(b0, b1, kFull - b0 - b1) / static_cast<double>(kFull);
  out.angle = take(at, 2) * std::numbers::pi / kAngleSteps;
  out.anisotropy = valueOf(take(at, 2), ranges.anisotropy, logarithm, exponential);
  out.threshold = valueOf(take(at, 2), ranges.threshold, rarity, fromRarity);
  out.sharpness = valueOf(take(at, 2), ranges.sharpness, logarithm, exponential);
  const std::uint32_t color = take(at, 4);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::uint32_t code = (color >> kColorShift[c]) & kColorMask[c];
    if (code > 2 * kColorMiddle[c]) return "its colour is outside [-1, 1]";
    out.channels[static_cast<Eigen::Index>(c)] =
        static_cast<float>(static_cast<double>(code) / kColorMiddle[c] - 1);
  }
  for (std::size_t c = 3; c < channels; ++c) {
    const std::uint32_t code = take(at, 2);
    if (code > 2 * kChannelMiddle) return "the value of a channel is outside [-1, 1]";
    out.channels[static_cast<Eigen::Index>(c)] =
        static_cast<float>(static_cast<double>(code) / kChannelMiddle - 1);
  }
  return std::nullopt;
}

}  // namespace heatskin

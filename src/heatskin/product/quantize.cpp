#include "heatskin/product/quantize.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace heatskin {
namespace {

/// The largest code of so many bits; barycentric codes add up to it.
constexpr std::uint32_t full(int bits) {
  return (std::uint32_t{1} << bits) - 1;
}

/// Codes of residuals run from 0 (-1) over the middle (exactly 0) to twice the middle (+1).
constexpr std::uint32_t middle(int bits) {
  return residualSteps(bits);
}

/// Code of `x` on a scale that is even in g(x) between the ends of `range`.
template <class G>
std::uint32_t codeOf(double x, const std::array<double, 2>& range, int bits, const G& g) {
  const double unit = (g(std::clamp(x, range[0], range[1])) - g(range[0])) / (g(range[1]) - g(range[0]));
  return static_cast<std::uint32_t>(std::lround(std::clamp(unit, 0.0, 1.0) * full(bits)));
}

template <class G, class Inverse>
float valueOf(std::uint32_t code, const std::array<double, 2>& range, int bits, const G& g,
              const Inverse& inverse) {
  const double x = inverse(g(range[0]) + (g(range[1]) - g(range[0])) * code / full(bits));
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

/// Codes of barycentric coordinates that add up to `sum_of_codes`: rounded down, then what is missing goes to
/// the largest remainders.
std::array<std::uint32_t, 3> barycentricCodes(const Vec3& barycentric, std::uint32_t sum_of_codes) {
  Vec3 b = barycentric.cwiseMax(0.0);
  b /= b.sum();
  std::array<std::uint32_t, 3> codes;
  std::array<double, 3> rest;
  std::uint32_t sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const double scaled = b[static_cast<Eigen::Index>(c)] * sum_of_codes;
    codes[c] = std::min(static_cast<std::uint32_t>(scaled), sum_of_codes - sum);
    rest[c] = scaled - codes[c];
    sum += codes[c];
  }
  for (; sum < sum_of_codes; ++sum) {
    const auto largest = static_cast<std::size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    ++codes[largest];
    rest[largest] -= 1;
  }
  return codes;
}

}  // namespace

std::vector<int> defaultChannelBits(const ChannelLayout& layout, int coarser) {
  std::vector<int> bits;
  for (const ChannelGroup& group : layout.groups()) {
    const int usual = group.name == "base_color" ? kColorBits : kOtherChannelBits;
    bits.insert(bits.end(), group.count, usual - coarser);
  }
  return bits;
}

KernelCodes encodeKernel(const StoredKernel& kernel, const KernelScales& scales) {
  const auto& [ranges, bits, channel_bits] = scales;
  assert(static_cast<std::size_t>(kernel.channels.size()) == channel_bits.size());
  KernelCodes codes;
  codes.triangle = kernel.position.triangle;
  const auto b = barycentricCodes(kernel.position.barycentric, full(bits.barycentric));
  codes.b0 = b[0];
  codes.b1 = b[1];
  // [0, pi) in 2^bits steps, because pi is 0 again.
  const double turns = kernel.angle / std::numbers::pi;
  const std::uint32_t steps = full(bits.angle) + 1;
  codes.angle = static_cast<std::uint32_t>(std::lround((turns - std::floor(turns)) * steps)) % steps;
  codes.anisotropy = codeOf(kernel.anisotropy, ranges.anisotropy, bits.anisotropy, logarithm);
  codes.threshold = codeOf(kernel.threshold, ranges.threshold, bits.threshold, rarity);
  codes.sharpness = codeOf(kernel.sharpness, ranges.sharpness, bits.sharpness, logarithm);
  codes.length = codeOf(kernel.length, ranges.length, bits.length, logarithm);
  for (std::size_t c = 0; c < channel_bits.size(); ++c) {
    const auto value = static_cast<double>(kernel.channels[static_cast<Eigen::Index>(c)]);
    codes.channels[c] =
        static_cast<std::uint16_t>(std::lround((std::clamp(value, -1.0, 1.0) + 1) * middle(channel_bits[c])));
  }
  return codes;
}

std::optional<std::string> decodeKernel(const KernelCodes& codes, const KernelScales& scales,
                                        StoredKernel& out) {
  const auto& [ranges, bits, channel_bits] = scales;
  const std::uint32_t sum = full(bits.barycentric);
  if (codes.b0 + codes.b1 > sum) return "its barycentric coordinates add up to more than 1";
  out.position.triangle = codes.triangle;
  out.position.barycentric = Vec3(codes.b0, codes.b1, sum - codes.b0 - codes.b1) / static_cast<double>(sum);
  out.angle = codes.angle * std::numbers::pi / (full(bits.angle) + 1);
  out.anisotropy = valueOf(codes.anisotropy, ranges.anisotropy, bits.anisotropy, logarithm, exponential);
  out.threshold = valueOf(codes.threshold, ranges.threshold, bits.threshold, rarity, fromRarity);
  out.sharpness = valueOf(codes.sharpness, ranges.sharpness, bits.sharpness, logarithm, exponential);
  out.length = valueOf(codes.length, ranges.length, bits.length, logarithm, exponential);
  out.channels.resize(static_cast<Eigen::Index>(channel_bits.size()));
  for (std::size_t c = 0; c < channel_bits.size(); ++c) {
    const std::uint32_t code = codes.channels[c], zero = middle(channel_bits[c]);
    if (code > 2 * zero)
      return c < 3 ? "its colour is outside [-1, 1]" : "the value of a channel is outside [-1, 1]";
    out.channels[static_cast<Eigen::Index>(c)] = static_cast<float>(static_cast<double>(code) / zero - 1);
  }
  return std::nullopt;
}

}  // namespace heatskin

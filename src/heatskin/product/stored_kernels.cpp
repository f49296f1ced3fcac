#include "heatskin/product/stored_kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/plural.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/kernel_records.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/closest_point.h"

namespace heatskin {
namespace {

/// Applies `turn` to the vectors of tangent groups.
template <class TurnVector>
void turnTangents(const ChannelLayout& layout, float* values, const TurnVector& turn) {
  for (const ChannelGroup& group : layout.groups()) {
    if (!group.isTangent()) continue;
    const Vec2 turned = turn(Vec2(values[group.first], values[group.first + 1]));
    values[group.first] = static_cast<float>(turned.x());
    values[group.first + 1] = static_cast<float>(turned.y());
  }
}

/// Carries kernels from the surface they were fitted on to the file's triangles. A triangle that rounding to
/// float32 has made degenerate cannot carry one; its kernels go to the nearest place that can.
class KernelWriter {
 public:
  KernelWriter(const Asset& asset, const Surface& surface, const Asset& stored, const Surface& stored_surface,
               Method method, const KernelBits& bits)
      : surface_(surface),
        stored_surface_(stored_surface),
        // HKTex's aligned bases at 0 and 180 degrees differ.
        period_(traits(method).periodic_angle),
        lengths_(traits(method).has_lengths),
        angle_step_(angleStep(bits.angle)),
        triangles_(asset, surface),
        stored_triangles_(stored, stored_surface) {}

  StoredKernel operator()(const KernelSet& kernels, std::size_t i) {
    StoredKernel out;
    out.anisotropy = kernels.anisotropies[i];
    out.threshold = kernels.thresholds[i];
    out.sharpness = kernels.sharpnesses[i];
    if (lengths_) out.length = kernels.lengths[i];
    out.channels = kernels.channels[i];
    const SurfacePoint& p = kernels.positions[i];
    const double angle = kernels.angles[i];
    out.position = triangles_.toTriangle(p);
    out.angle = triangles_.axisInTriangle(p.face, angle);
    turnTangents(kernels.layout, out.channels.data(),
                 [&](const Vec2& v) { return triangles_.vectorInTriangle(p.face, v); });
    if (const std::uint32_t face = stored_triangles_.faceOf(out.position.triangle); face != kNone) {
      if (!period_) out.angle = insideRange(face, angle, out.angle);
      return out;
    }

    if (!closest_) closest_.emplace(stored_surface_);
    const Vec3 place = surface_.assetFromSurface()(surface_.position(p));
    const SurfacePoint near = (*closest_)(stored_surface_.surfaceFromAsset()(place)).point;
    const Vec3 axis = surface_.frames()[p.face].directionFromFace(Vec2(std::cos(angle), std::sin(angle)));
    const Vec2 turned = stored_surface_.frames()[near.face].directionToFace(axis);
    out.position = stored_triangles_.toTriangle(near);
    out.angle = stored_triangles_.axisInTriangle(near.face, std::atan2(turned.y(), turned.x()));
    out.channels = kernels.channels[i];
    turnTangents(kernels.layout, out.channels.data(), [&](const Vec2& v) {
      const Vec3 in_space = surface_.frames()[p.face].directionFromFace(v);
      return stored_triangles_.vectorInTriangle(
          near.face, stored_surface_.frames()[near.face].directionToFace(in_space));
    });
    return out;
  }

  /// The longest edge of a stored triangle that carries kernels, in normalised coordinates.
  double longestEdge(std::uint32_t triangle) const {
    const auto& corners = stored_surface_.corners()[stored_triangles_.faceOf(triangle)];
    double longest = 0;
    for (std::size_t c = 0; c < 3; ++c)
      longest = std::max(longest, (corners[c] - corners[(c + 1) % 3]).norm());
    return longest;
  }

 private:
  /// `stored` for an angle that must not come back from the other end of [0, pi]: at least a code's step away
  /// from both ends, on its own side.
  double insideRange(std::uint32_t face, double angle, double stored) const {
    double there = stored_triangles_.axisInFace(face, stored);
    if (std::abs(there - angle) > std::numbers::pi / 2)
      there = angle < std::numbers::pi / 2 ? 0 : std::numbers::pi;
    return stored_triangles_.axisInTriangle(face,
                                            std::clamp(there, angle_step_, std::numbers::pi - angle_step_));
  }

  const Surface& surface_;
  const Surface& stored_surface_;
  bool period_, lengths_;
  double angle_step_;  // radians
  SourceTriangles triangles_, stored_triangles_;
  std::optional<ClosestPointQuery> closest_;
};

/// The bits for kernels of a method, those of positions aside.
KernelBits bitsFor(Method method, int coarser = 0) {
  KernelBits bits;
  if (!traits(method).has_lengths) {
    // No bits go into lengths. Heat that is not a closed form answers more strongly to both.
    bits.anisotropy += 1;
    bits.threshold += 1;
  }
  // Ends of the range that differ must not be confused, so none is nearer than a step.
  if (!traits(method).periodic_angle) bits.angle = 12;
  for (int KernelBits::*column :
       {&KernelBits::angle, &KernelBits::anisotropy, &KernelBits::threshold, &KernelBits::sharpness})
    bits.*column -= coarser;
  // A multiple of 3 (KernelBits::length).
  if (coarser >= 2) bits.length -= 3;
  return bits;
}

/// Half the width of a kernel across its long axis, where its support ends.
double halfWidth(const StoredKernel& kernel, const local::LocalOptions& options) {
  const double reach = kernel.length * local::supportRadius(kernel.sharpness, kernel.threshold, options);
  const double heat = 1 / (4 * options.diffusion_time);
  const double window =
      options.window_sigma > 0 ? 1 / (2 * options.window_sigma * options.window_sigma) : 0.0;
  const double across = options.isotropic ? 1.0 : 1.0 + kernel.anisotropy;
  return reach * std::sqrt((heat + window) / (heat * across + window));
}

/// Barycentric coordinates are so fine that for nine kernels of ten a step along the longest edge of their
/// triangle is at most this part of their half width: about 70 to 80 dB between exact and rounded positions,
/// on fine meshes (abalone, 9 bits) and coarse ones (fox, 12 bits).
constexpr double kPositionStep = 1.0 / 128;
constexpr double kWideShare = 0.1;
constexpr int kLeastBarycentricBits = 6, kMostBarycentricBits = 16;

/// The other methods have no width that could be told from the parameters alone.
constexpr int kOtherBarycentricBits = 14;

/// The bits of barycentric coordinates for kernels whose other codes are `codes`. It depends on values as
/// they will be read, so writing what was read finds the same number.
int barycentricBits(std::span<const KernelCodes> codes, const KernelScales& scales,
                    const KernelWriter& writer, const EvaluatorOptions& options, int coarser) {
  const auto* local = std::get_if<local::LocalOptions>(&options);
  if (local == nullptr) return kOtherBarycentricBits - coarser;
  std::vector<double> widths(codes.size());  // in longest edges
  for (std::size_t i = 0; i < codes.size(); ++i) {
    StoredKernel kernel;
    decodeKernel(codes[i], scales, kernel);
    widths[i] = halfWidth(kernel, *local) / writer.longestEdge(codes[i].triangle);
  }
  const auto at =
      widths.begin() + static_cast<std::ptrdiff_t>(kWideShare * static_cast<double>(codes.size()));
  std::nth_element(widths.begin(), at, widths.end());
  int bits = kLeastBarycentricBits;
  while (bits < kMostBarycentricBits && std::ldexp(1.0, -bits) > std::ldexp(kPositionStep, coarser) * *at)
    ++bits;
  return bits;
}

/// The first tangent group whose vector is longer than rounding a vector of length 1 can make it, or null.
const ChannelGroup* tooLong(const ChannelValues& values, const ProductExtension& extension) {
  for (const ChannelGroup& group : extension.layout.groups()) {
    const float step = 1 / static_cast<float>(residualSteps(extension.scales.channel_bits[group.first]));
    if (group.isTangent() && !(values.segment<2>(static_cast<Eigen::Index>(group.first)).norm() <= 1 + step))
      return &group;
  }
  return nullptr;
}

/// Channels of groups of a layout, in order.
std::vector<std::size_t> channelsOfGroups(const ChannelLayout& layout, std::span<const std::size_t> groups) {
  std::vector<std::size_t> channels;
  for (const std::size_t g : groups) {
    for (std::size_t c = 0; c < layout.groups()[g].count; ++c)
      channels.push_back(layout.groups()[g].first + c);
  }
  return channels;
}

/// What `codes`, of the same kernels as `base` and in the same order, have of their own.
PackedValues packVariant(std::span<const KernelCodes> codes, std::span<const KernelCodes> base,
                         const KernelSet& kernels, const ChannelValues& base_mean,
                         const KernelScales& scales) {
  PackedValues packed;
  packed.header.mean = kernels.mean.cwiseMax(0.0f).cwiseMin(1.0f);
  for (std::size_t g = 0; g < kernels.layout.groups().size(); ++g) {
    const ChannelGroup& group = kernels.layout.groups()[g];
    bool differs = false;
    for (std::size_t c = group.first; c < group.first + group.count && !differs; ++c) {
      differs = packed.header.mean[static_cast<Eigen::Index>(c)] != base_mean[static_cast<Eigen::Index>(c)];
      for (std::size_t i = 0; i < codes.size() && !differs; ++i)
        differs = codes[i].channels[c] != base[i].channels[c];
    }
    if (differs) packed.header.groups.push_back(g);
  }
  if (packed.header.groups.empty()) return packed;
  const std::vector<std::size_t> channels = channelsOfGroups(kernels.layout, packed.header.groups);
  packed.bytes = packValues(codes, {}, scales, channels);
  std::vector<std::uint8_t> differences = packValues(codes, base, scales, channels);
  packed.header.differences = differences.size() < packed.bytes.size();
  if (packed.header.differences) packed.bytes = std::move(differences);
  return packed;
}

/// The codes of a buffer, in its order.
Result<std::vector<KernelCodes>> readCodes(const ProductExtension& extension,
                                           std::span<const std::uint8_t> bytes) {
  if (!extension.records) return unpackColumns(bytes, extension.kernels, extension.scales);
  if (bytes.size() % kRecordBytes != 0 || bytes.size() / kRecordBytes != extension.kernels) {
    return inputError(fmt::format("{} bytes are expected for {}, the buffer view has {}",
                                  extension.kernels * kRecordBytes,
                                  plural(extension.kernels, "kernel", "kernels"), bytes.size()));
  }
  std::vector<KernelCodes> codes(extension.kernels);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = readRecord(bytes.subspan(i * kRecordBytes, kRecordBytes));
  return codes;
}

}  // namespace

PackedKernels packKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface,
                          const Asset& stored, const Surface& stored_surface, const EvaluatorOptions& options,
                          std::span<const VariantKernels> variants, const Rounding& rounding) {
  PackedKernels packed;
  KernelScales& scales = packed.scales;
  scales.bits = bitsFor(methodOf(options), rounding.coarser);
  scales.channel_bits = defaultChannelBits(kernels.layout, rounding.coarser);
  KernelWriter writer(asset, surface, stored, stored_surface, methodOf(options), scales.bits);
  std::vector<StoredKernel> values(kernels.size());
  std::vector<KernelCodes> codes(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    values[i] = writer(kernels, i);
    codes[i] = encodeKernel(values[i], scales);
  }
  scales.bits.barycentric = rounding.barycentric_bits > 0
                                ? rounding.barycentric_bits
                                : barycentricBits(codes, scales, writer, options, rounding.coarser);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    codes[i] = encodeKernel(values[i], scales);
  sortKernels(codes);
  scales.bits.triangle = triangleBits(codes);
  packed.bytes = packColumns(codes, scales);
  const ChannelValues mean = kernels.mean.cwiseMax(0.0f).cwiseMin(1.0f);
  std::vector<KernelCodes> other(kernels.size());
  for (const VariantKernels& variant : variants) {
    for (std::size_t i = 0; i < kernels.size(); ++i)
      other[i] = encodeKernel(writer(variant.kernels, i), scales);
    sortKernels(other);  // by what both have in common: the order is the same
    packed.variants.push_back(packVariant(other, codes, variant.kernels, mean, scales));
  }
  return packed;
}

Result<KernelSet> unpackKernels(const ProductExtension& extension, std::span<const std::uint8_t> bytes,
                                const Asset& asset, const Surface& surface, const StoredValues* variant,
                                std::span<const std::uint8_t> variant_bytes) {
  const SourceTriangles triangles(asset, surface);
  if (extension.triangles != triangles.size()) {
    return inputError(fmt::format("was made for {}, but the scene has {}: the geometry was edited",
                                  plural(extension.triangles, "triangle", "triangles"), triangles.size()));
  }
  auto codes = readCodes(extension, bytes);
  if (!codes) return codes.error();
  if (variant != nullptr) {
    const std::vector<std::size_t> channels = channelsOfGroups(extension.layout, variant->groups);
    if (auto done = unpackValues(variant_bytes, extension.scales, channels, variant->differences, *codes);
        !done)
      return done.error();
  }
  const bool has_lengths = traits(methodOf(extension.options)).has_lengths;
  KernelSet kernels(extension.layout);
  kernels.mean = variant != nullptr ? variant->mean : extension.mean;
  kernels.resize(codes->size());
  for (std::size_t i = 0; i < codes->size(); ++i) {
    StoredKernel kernel;
    if (const auto problem = decodeKernel((*codes)[i], extension.scales, kernel)) {
      return inputError(fmt::format("kernel {}: {}", i, *problem));
    }
    if (extension.records) kernel.length = 1;
    if (!has_lengths && kernel.length != 1) {
      return inputError(fmt::format("kernel {}: its length is {}, but the method {} has no lengths", i,
                                    kernel.length, methodName(extension.options)));
    }
    const std::uint32_t triangle = kernel.position.triangle;
    if (triangle >= triangles.size()) {
      return inputError(fmt::format("kernel {}: triangle {} does not exist, the scene has {}", i, triangle,
                                    triangles.size()));
    }
    const std::uint32_t face = triangles.faceOf(triangle);
    if (face == kNone) {
      return inputError(fmt::format(
          "kernel {}: triangle {} has no area or repeats another, it cannot carry a kernel", i, triangle));
    }
    kernels.positions[i] = triangles.toSurface(kernel.position);
    kernels.angles[i] = static_cast<float>(triangles.axisInFace(face, kernel.angle));
    kernels.anisotropies[i] = kernel.anisotropy;
    kernels.thresholds[i] = kernel.threshold;
    kernels.sharpnesses[i] = kernel.sharpness;
    kernels.lengths[i] = kernel.length;
    kernels.channels[i] = kernel.channels;
    if (const ChannelGroup* group = tooLong(kernel.channels, extension))
      return inputError(fmt::format("kernel {}: the vector {} is longer than 1", i, group->name));
    turnTangents(kernels.layout, kernels.channels.row(i),
                 [&](const Vec2& v) { return triangles.vectorInFace(face, v); });
  }
  return kernels;
}

Result<KernelSet> roundedKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface,
                                 const EvaluatorOptions& options, const Rounding& rounding) {
  PackedKernels packed = packKernels(kernels, asset, surface, asset, surface, options, {}, rounding);
  ProductExtension extension;
  extension.options = options;
  extension.layout = kernels.layout;
  extension.scales = std::move(packed.scales);
  extension.mean = kernels.mean.cwiseMax(0.0f).cwiseMin(1.0f);
  extension.kernels = kernels.size();
  extension.triangles = SourceTriangles(asset, surface).size();
  return unpackKernels(extension, packed.bytes, asset, surface);
}

Rounding roundingOf(const KernelBits& bits, Method method) {
  return {bits.barycentric, std::clamp(bitsFor(method).angle - bits.angle, 0, kMostCoarser)};
}

}  // namespace heatskin

#pragma once

// The learned table (METHOD section 2): a mean of all channels and N kernels on a surface.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Allowed values; every optimiser step is followed by clamping (projected gradient descent).
struct KernelRanges {
  static constexpr float kMinAngle = 0.0f,
                         kMaxAngle = 3.14159265358979f;  ///< radians; the response has period pi
  static constexpr float kMinAnisotropy = 1.0f, kMaxAnisotropy = 200.0f;
  static constexpr float kMinThreshold = 0.3f;
  /// 1 - 1e-8 is 1 in float32; the largest float below 1 keeps the threshold a threshold.
  static constexpr float kMaxThreshold = 1.0f - 0x1.0p-24f;
  static constexpr float kMinSharpness = 10.0f, kMaxSharpness = 200.0f;
  /// From what the finest texture of a large asset could use to what covers everything with one kernel.
  static constexpr float kMinLength = 0x1.0p-10f, kMaxLength = 16.0f;
  static constexpr float kMaxResidual =
      1.0f;  ///< channels of a kernel lie in [-1, 1], vectors are up to 1 long
};

/// Kernel parameters as parallel arrays of one length.
struct KernelSet {
  ChannelLayout layout;                 ///< what the channels are
  ChannelValues mean;                   ///< [C] m, in [0, 1]: part of the channel's range; colours are sRGB
  std::vector<SurfacePoint> positions;  // [N]
  std::vector<float> angles;            // [N] theta: direction of the long axis against the face's first axis
  std::vector<float> anisotropies;      // [N] eta
  std::vector<float> thresholds;        // [N] eps
  std::vector<float> sharpnesses;       // [N] s
  std::vector<float> lengths;           // [N] h: distances count in units of it; 1 is the paper's kernel
  ChannelTable channels;  // [N, C] c, residual to the mean, also as part of the range; vectors of
                          // tangent groups in face coordinates of the kernel's face

  /// No kernels, a mean of 1/2.
  KernelSet() : KernelSet(ChannelLayout()) {}
  explicit KernelSet(ChannelLayout of) : layout(std::move(of)), channels{layout.size(), {}} {
    mean = ChannelValues::Constant(static_cast<Eigen::Index>(layout.size()), 0.5f);
  }

  std::size_t size() const { return positions.size(); }

  void resize(std::size_t count) {
    positions.resize(count);
    angles.resize(count);
    anisotropies.resize(count);
    thresholds.resize(count);
    sharpnesses.resize(count);
    lengths.resize(count, 1.0f);
    channels.resize(count);
  }

  /// Keeps the channels of kernel `i` within their ranges: values in [-1, 1], vectors of tangent groups not
  /// longer than 1.
  void clampChannels(std::size_t i) {
    constexpr float kMost = KernelRanges::kMaxResidual;
    float* values = channels.row(i);
    for (const ChannelGroup& group : layout.groups()) {
      if (group.isTangent()) {
        shortenTo(kMost, values[group.first], values[group.first + 1]);
      } else {
        for (std::size_t c = group.first; c < group.first + group.count; ++c)
          values[c] = std::clamp(values[c], -kMost, kMost);
      }
    }
  }

  /// Carries the vectors of kernel `i` along its walk to another face (WalkOutcome::end_from_start).
  void carryTangents(std::size_t i, const Rigid2& end_from_start) {
    carryTangents(layout, channels.row(i), end_from_start);
  }

  /// The same for any row of channels in face coordinates, such as an optimiser's moments.
  static void carryTangents(const ChannelLayout& of, float* values, const Rigid2& end_from_start) {
    for (const ChannelGroup& group : of.groups()) {
      if (!group.isTangent()) continue;
      const Vec2 turned = end_from_start.rotate({values[group.first], values[group.first + 1]});
      values[group.first] = static_cast<float>(turned.x());
      values[group.first + 1] = static_cast<float>(turned.y());
    }
  }

  /// Appends a copy of kernel `i`.
  void append(std::size_t i) {
    positions.push_back(positions[i]);
    angles.push_back(angles[i]);
    anisotropies.push_back(anisotropies[i]);
    thresholds.push_back(thresholds[i]);
    sharpnesses.push_back(sharpnesses[i]);
    lengths.push_back(lengths[i]);
    channels.resize(size());
    std::copy_n(channels.row(i), channels.channels, channels.row(size() - 1));
  }

  /// Keeps the kernels named in `kept` (increasing indices), in order.
  void select(const std::vector<std::uint32_t>& kept) {
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const std::size_t i = kept[k];
      positions[k] = positions[i];
      angles[k] = angles[i];
      anisotropies[k] = anisotropies[i];
      thresholds[k] = thresholds[i];
      sharpnesses[k] = sharpnesses[i];
      lengths[k] = lengths[i];
      std::copy_n(channels.row(i), channels.channels, channels.row(k));
    }
    resize(kept.size());
  }
};

}  // namespace heatskin

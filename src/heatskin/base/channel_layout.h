#pragma once

// What a texture holds at a point: C numbers, in named groups ("base_color" 3, "alpha" 1, ...). C is known at
// run time; arrays of such values are [N, C], row after row.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"

namespace heatskin {

/// Most channels of a texture.
inline constexpr std::size_t kMaxChannels = 32;

/// Values of the channels at one point; never allocates.
using ChannelValues = Eigen::Matrix<float, Eigen::Dynamic, 1, 0, static_cast<int>(kMaxChannels), 1>;

/// Channels rounded up to whole groups of four floats, which is how vectorised code reads them.
constexpr std::size_t paddedChannels(std::size_t channels) {
  return (channels + 3) / 4 * 4;
}

/// What the numbers of a group are to each other.
enum class ChannelKind : std::uint8_t {
  kPlain,    ///< numbers; the same whoever looks
  kTangent,  ///< two: a vector of the tangent plane, in face coordinates of the face it is given at
};

/// In files; in the order of the enum.
inline constexpr std::string_view kChannelKindNames[] = {"plain", "tangent"};

/// Channels that belong together, and how they are treated.
struct ChannelGroup {
  std::string name;  ///< lower-case letters, digits and underscores, at most kMaxChannelName
  std::size_t count = 0;
  std::size_t first = 0;                      ///< number of its first channel; set by ChannelLayout::make()
  std::array<float, 2> range = {0.0f, 1.0f};  ///< least and largest value
  // For training alone; files do not hold them.
  double rate = 1;          ///< factor of the learning rates of its channels
  double weight = 1;        ///< of its squared errors in the loss and in density control
  bool everywhere = false;  ///< matters also where nobody sees the surface (alpha); set by make()
  /// A tangent group has two channels and a range [-R, R]: vectors up to the length R. Kernels carry it from
  /// face to face by parallel transport; its mean is the vector 0.
  ChannelKind kind = ChannelKind::kPlain;

  bool isTangent() const { return kind == ChannelKind::kTangent; }
  bool operator==(const ChannelGroup&) const = default;
};

/// Longest name of a group, in bytes.
inline constexpr std::size_t kMaxChannelName = 64;

/// Largest end of a range: squares of what lies inside stay far from overflow.
inline constexpr float kMaxChannelValue = 1e6f;

/// Which channels there are, in order.
///
/// Kernels know channels as parts of their range: 0 is the least value and 1 the largest (toUnit(),
/// fromUnit()). A range of [0, 1], as base_color has it, changes nothing.
class ChannelLayout {
 public:
  /// base_color, three channels.
  ChannelLayout();

  /// Groups one after the other. Names must differ, and those heatskin knows (knownChannels()) have their
  /// number of channels; no group may be empty, there must be 1 to kMaxChannels channels, ranges are
  /// increasing and wide enough to be told apart in float, rates and weights are positive. Tangent groups
  /// have two channels and a symmetric range.
  static Result<ChannelLayout> make(std::vector<ChannelGroup> groups);

  /// Groups that heatskin knows: "base_color", "alpha".
  static Result<ChannelLayout> ofNames(std::span<const std::string_view> names);
  static Result<ChannelLayout> ofNames(std::initializer_list<std::string_view> names) {
    return ofNames(std::span(names.begin(), names.size()));
  }

  std::size_t size() const { return size_; }
  std::span<const ChannelGroup> groups() const { return groups_; }

  /// The group of a name, or null.
  const ChannelGroup* find(std::string_view name) const;

  /// The group of a channel.
  const ChannelGroup& groupOf(std::size_t channel) const;

  /// True when some group matters also where nobody sees the surface.
  bool everywhere() const;

  /// True when some group is a tangent group.
  bool hasTangents() const;

  /// Numbers of a point when vectors of tangent groups are given in space: three instead of two.
  std::size_t spaceSize() const;

  /// Sum of the groups' weights, each times its channels.
  double totalWeight() const;

  /// True when every range is [0, 1]: values are parts of their ranges as they are.
  bool isUnit() const { return unit_; }

  /// Parts of the ranges from values and back, in place; [N, C].
  void toUnit(std::span<float> values) const;
  void fromUnit(std::span<float> values) const;

  /// Same names, kinds, numbers and ranges, whatever training makes of them: a file of one can hold the
  /// other.
  bool sameChannels(const ChannelLayout& other) const;

  bool operator==(const ChannelLayout&) const = default;

 private:
  std::vector<ChannelGroup> groups_;
  std::size_t size_ = 0;
  bool unit_ = true;
};

/// The groups that have a meaning of their own, with their number of channels: base_color (sRGB), alpha.
std::span<const ChannelGroup> knownChannels();

/// Values of many points.
struct ChannelTable {
  std::size_t channels = 3;   ///< C
  std::vector<float> values;  // [N, C]

  using Row = Eigen::Map<ChannelValues>;
  using ConstRow = Eigen::Map<const ChannelValues>;

  std::size_t size() const { return values.size() / channels; }
  void resize(std::size_t count) { values.resize(count * channels); }
  Row operator[](std::size_t i) { return {row(i), static_cast<Eigen::Index>(channels)}; }
  ConstRow operator[](std::size_t i) const { return {row(i), static_cast<Eigen::Index>(channels)}; }
  float* row(std::size_t i) { return values.data() + i * channels; }
  const float* row(std::size_t i) const { return values.data() + i * channels; }

  bool operator==(const ChannelTable&) const = default;
};

/// The value 0 of a tangent group as part of its range: the middle, exactly.
inline constexpr float kTangentZero = 0.5f;

/// Shortens a vector to a length; its direction stays. Clamping each component would depend on the frame.
inline void shortenTo(float length, float& x, float& y) {
  const float squared = x * x + y * y;
  if (!(squared > length * length)) return;
  const float factor = length / std::sqrt(squared);
  x *= factor;
  y *= factor;
}

/// Sums over channels run from the last to the first: for three channels that is Eigen's order, which keeps
/// textures the same to the bit.
inline float sumOfSquares(const float* values, std::size_t channels) {
  float sum = 0;
  for (std::size_t c = channels; c-- > 0;)
    sum = values[c] * values[c] + sum;
  return sum;
}
inline float sumOfProducts(const float* a, const float* b, std::size_t channels) {
  float sum = 0;
  for (std::size_t c = channels; c-- > 0;)
    sum = a[c] * b[c] + sum;
  return sum;
}

}  // namespace heatskin

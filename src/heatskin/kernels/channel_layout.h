#pragma once

// What a texture holds at a point: C numbers, in named groups ("base_color" 3, "alpha" 1, ...). C is known at
// run time; arrays of such values are [N, C], row after row.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"

namespace heatskin {

/// Most channels of a texture.
inline constexpr std::size_t kMaxChannels = 16;

/// Values of the channels at one point; never allocates.
using ChannelValues = Eigen::Matrix<float, Eigen::Dynamic, 1, 0, static_cast<int>(kMaxChannels), 1>;

/// Channels rounded up to whole groups of four floats, which is how vectorised code reads them.
constexpr std::size_t paddedChannels(std::size_t channels) {
  return (channels + 3) / 4 * 4;
}

/// Channels that belong together.
struct ChannelGroup {
  std::string name;
  std::size_t count = 0;
  std::size_t first = 0;  ///< number of its first channel

  bool operator==(const ChannelGroup&) const = default;
};

/// Which channels there are, in order.
class ChannelLayout {
 public:
  /// base_color, three channels.
  ChannelLayout() : groups_{{"base_color", 3, 0}}, size_(3) {}

  /// Groups one after the other; their `first` is ignored. Names must differ, no group may be empty, and
  /// there must be 1 to kMaxChannels channels.
  static Result<ChannelLayout> make(std::vector<ChannelGroup> groups);

  std::size_t size() const { return size_; }
  std::span<const ChannelGroup> groups() const { return groups_; }

  /// The group of a name, or null.
  const ChannelGroup* find(std::string_view name) const;

  bool operator==(const ChannelLayout&) const = default;

 private:
  std::vector<ChannelGroup> groups_;
  std::size_t size_ = 0;
};

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

#pragma once

// Accessors: typed arrays inside buffer views. A view is checked once against its bytes; reading it
// afterwards cannot fail.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// The numbers are those of the file format.
enum class ComponentType : std::uint16_t {
  kByte = 5120,
  kUnsignedByte = 5121,
  kShort = 5122,
  kUnsignedShort = 5123,
  kUnsignedInt = 5125,
  kFloat = 5126,
};

/// Bytes of one component.
std::size_t componentBytes(ComponentType type);

/// `count` elements of `components` numbers each, `stride` bytes apart; nothing is aligned. Valid as long as
/// the Buffers it came from.
struct AccessorView {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;  ///< 0: every element is the same one (an accessor without a buffer view)
  std::size_t count = 0;
  ComponentType component = ComponentType::kFloat;
  std::size_t components = 1;
  bool normalized = false;
  std::shared_ptr<const std::vector<std::uint8_t>> owned;  ///< keeps patched or decoded data alive
};

/// Which elements of a view are read: all, or those listed.
struct Selection {
  bool all = true;
  std::span<const std::uint32_t> listed;

  std::size_t size(const AccessorView& view) const { return all ? view.count : listed.size(); }
};

class Accessors {
 public:
  Accessors(const Document& document, Buffers& buffers, MemoryBudget& budget)
      : document_(document), buffers_(buffers), budget_(budget) {}

  /// The elements of accessor `index`, sparse ones patched. Its type must be SCALAR or VECn. An accessor
  /// without data costs nothing, however many elements it claims.
  Result<AccessorView> view(std::size_t index);

 private:
  Result<AccessorView> patched(const AccessorView& base, const Json& sparse, const std::string& where);

  const Document& document_;
  Buffers& buffers_;
  MemoryBudget& budget_;
};

/// Elements as numbers; normalised integers become fractions in [0, 1] or [-1, 1]. `out` is
/// [selection.size, view.components]; listed elements are below view.count.
void readNumbers(const AccessorView& view, const Selection& selection, double* out);
void readNumbers(const AccessorView& view, const Selection& selection, float* out);

/// Elements of an unsigned scalar view; `out` is [view.count].
void readIndices(const AccessorView& view, std::uint32_t* out);

}  // namespace heatskin::gltf

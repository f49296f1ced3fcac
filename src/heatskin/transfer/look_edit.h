#pragma once

// Changes of a look, in the coordinates of an asset: strokes of a brush, and colours that are turned,
// stretched or looked up in a table. They do not know triangles or kernels: the same list can be applied to
// another mesh of the shape, or to another level of detail.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// How a new value meets the one that is there.
enum class EditBlend : std::uint8_t { kReplace, kMultiply, kAdd };
inline constexpr std::string_view kEditBlendNames[] = {"replace", "multiply", "add"};

/// A ball, or a chain of balls around a line. Its weight is 1 up to hardness times the radius and falls
/// smoothly to 0 at the radius.
struct EditRegion {
  std::vector<Vec3> path;  ///< at least one place
  double radius = 0;
  double hardness = 0.5;

  double weight(const Vec3& place) const;
};

/// Only what faces the way the brush came from counts, so that strokes never go through thin walls: the
/// normal of the surface where the path is nearest.
struct EditOperation {
  enum class Kind : std::uint8_t { kPaint, kRecolor };
  Kind kind = Kind::kPaint;
  std::vector<EditRegion> regions;              ///< where; empty: everywhere (recolouring only)
  std::vector<std::vector<EditRegion>> within;  ///< only inside one of each list; empty: everywhere
  std::vector<EditRegion> without;              ///< and not inside these
  double opacity = 1;

  /// In which looks: names of material variants, and "" for that of the default materials; nothing: in all.
  std::optional<std::vector<std::string>> variants;

  // Painting.
  EditBlend blend = EditBlend::kReplace;
  std::map<std::string, std::vector<float>> values;  ///< of groups of channels

  // Recolouring of base_color: levels, then hue and saturation, then the table.
  double hue = 0;                           ///< degrees
  double saturation = 1;                    ///< factor
  std::array<double, 2> levels = {0, 1};    ///< values that become 0 and 1
  double gamma = 1;                         ///< of the levels: x^(1 / gamma)
  std::array<std::vector<float>, 3> table;  ///< of red, green and blue, evenly spaced over [0, 1]; or empty
};

/// Limits an operation to the `within` and `without` of a mask as well.
void limitTo(EditOperation& operation, const EditOperation& mask);

/// Weights and new values of operations on one surface. The surface must outlive it.
class LookEdit {
 public:
  /// Refuses operations that name channels the layout does not have, or values of another number or out of
  /// range.
  static Result<LookEdit> create(std::vector<EditOperation> operations, const Surface& surface,
                                 const ChannelLayout& layout);

  const std::vector<EditOperation>& operations() const { return operations_; }

  /// The largest weight of an operation at a point.
  double weight(const SurfacePoint& point) const;

  /// Applies all operations to values of one point; `values` is [C], within the ranges.
  void apply(const SurfacePoint& point, std::span<float> values) const;

  /// Faces where some operation has a weight, nonzero; [F].
  std::vector<std::uint8_t> faces() const;

 private:
  double weight(const EditOperation& operation, std::size_t number, const SurfacePoint& point) const;

  std::vector<EditOperation> operations_;
  std::vector<std::vector<std::vector<Vec3>>> normals_;  // [operations][regions][places]
  const Surface* surface_ = nullptr;
  ChannelLayout layout_;
};

/// A look with an edit applied. Both must outlive it.
class EditedTarget final : public FitTarget {
 public:
  EditedTarget(const FitTarget& look, const LookEdit& edit) : look_(&look), edit_(&edit) {}
  const ChannelLayout& layout() const override { return look_->layout(); }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;

 private:
  const FitTarget* look_;
  const LookEdit* edit_;
};

/// Red, green and blue with their hue turned by degrees and their saturation multiplied, in HSV.
Vec3f recolored(const Vec3f& color, double hue, double saturation);

}  // namespace heatskin

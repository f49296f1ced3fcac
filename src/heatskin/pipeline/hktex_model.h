#pragma once

// The model files of the HKTex authors (METHOD section 15): an .npz with one array per property, kernels on
// faces of the mesh in the order of its file.
//
// Colours after an import agree only approximately with theirs: their interpolation between operators depends
// on how their eigenvectors happened to be aligned, and their axes on signs that are arbitrary (METHOD
// sections 6 and 7). The kernels are the same.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// More kernels than any of their models has by far; files that claim more are refused before anything is
/// unpacked.
inline constexpr std::size_t kMaxHktexKernels = 1'000'000;

/// What a model file holds, in its own conventions.
struct HktexModel {
  std::string name;  ///< of its file, for messages; may be empty
  Vec3f mean = Vec3f::Constant(0.5f);
  std::vector<Vec3f> colors;                                 // [G] residuals
  std::vector<float> angles;                                 // [G] radians, of the axis across the long one
  std::vector<float> anisotropies, thresholds, sharpnesses;  // [G]
  std::vector<std::uint32_t> faces;                          // [G] triangles of the mesh file
  std::vector<Vec2f> barycentric;  // [G] weights of the first two corners; may lie slightly outside

  std::size_t size() const { return faces.size(); }
};

/// Reads a model. Refuses arrays that are missing, of other types or shapes, not finite, or more than
/// kMaxHktexKernels.
Result<HktexModel> readHktexModel(const std::filesystem::path& path);

/// The same from bytes; `name` is used in messages.
Result<HktexModel> parseHktexModel(std::vector<std::uint8_t> bytes, const std::string& name);

/// The file: half precision but for positions, faces with 16 bits if they fit and 32 otherwise.
std::vector<std::uint8_t> encodeHktexModel(const HktexModel& model);

/// Kernels on the surface of an asset, and how many values had to be brought into their ranges: those that
/// rounding to half precision moved out count as well.
struct HktexKernels {
  KernelSet kernels;
  std::size_t clamped_values = 0;   ///< by more than half precision explains
  std::size_t moved_positions = 0;  ///< farther outside of their face than rounding explains
};

/// Refuses faces the asset does not have. The surface has principal axes, as their angles count from these;
/// here and below.
Result<HktexKernels> kernelsFromHktex(const HktexModel& model, const Asset& asset, const Surface& surface);

/// Refuses kernels the format has no place for: lengths other than 1, or no base_color. Of other channels it
/// keeps none.
Result<HktexModel> hktexFromKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface);

/// A model on its mesh, as a product.
struct HktexImport {
  std::vector<std::uint8_t> bytes;  ///< of the product, a GLB
  std::size_t kernels = 0;
  std::size_t clamped_values = 0, moved_positions = 0;  ///< as in HktexKernels
  std::vector<Notice> notices;                          ///< of the mesh
};

/// `method` evaluates the kernels; theirs is spectral. Whatever it is, angles count from the principal
/// directions of `mesh`, as theirs do. Of the options, `surface` and `method` do not count.
Result<HktexImport> importHktex(const HktexModel& model, Asset mesh, Method method,
                                const OpenOptions& options = {});

}  // namespace heatskin

#pragma once

// What Python holds. Everything inside is shared and counted: an asset, a texture and what was made from them
// may be deleted in any order, also while a call is under way.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/asset.h"
#include "heatskin/pipeline/loaded_file.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/texture/kernel_texture.h"

#include "convert.h"
#include "progress.h"

namespace heatskin::python {

/// A file without kernels, or arrays. Its surface and appearance are made when they are first needed.
class AssetHandle {
 public:
  explicit AssetHandle(Asset asset) : state_(std::make_shared<State>(std::move(asset))) {}

  const Asset& asset() const { return state_->asset; }

  /// For colours, pictures and comparisons. Without the GIL.
  const LoadedAsset& loaded() const;
  const SurfacePointFinder& points() const;

 private:
  struct State {
    explicit State(Asset of) : asset(std::move(of)) {}
    Asset asset;
    std::mutex mutex;
    std::unique_ptr<const LoadedAsset> loaded;
    std::unique_ptr<const SurfacePointFinder> points;
  };
  std::shared_ptr<State> state_;
};

/// A product, or one whose kernels were edited.
class TextureHandle {
 public:
  explicit TextureHandle(LoadedProduct product);

  /// The same product with another texture of it.
  TextureHandle edited(KernelTexture texture, bool moved) const;

  const Product& product() const { return state_->file->product; }
  const KernelTexture& texture() const { return state_->edit ? *state_->edit : state_->file->texture; }
  bool isEdited() const { return state_->edit.has_value(); }
  const SurfacePointFinder& points() const { return *state_->points; }

  /// Points of triangles as points of the surface.
  std::vector<SurfacePoint> surfacePoints(std::span<const TrianglePoint> points) const {
    return take(this->points().fromTriangles(points)).points;
  }

  /// Both together, with the kernels as they are now. Without the GIL.
  const LoadedProduct& whole() const;

  /// The product's file: the bytes it was read from, or, of an edited one, new ones. Without the GIL.
  std::shared_ptr<const std::vector<std::uint8_t>> bytes(PythonProgress& progress) const;

 private:
  struct State {
    std::shared_ptr<const LoadedProduct> file;
    std::optional<KernelTexture> edit;
    bool moved = false;                                ///< the edit has kernels at other places
    std::shared_ptr<const SurfacePointFinder> points;  ///< of `file`, which it needs
    std::mutex mutex;
    std::unique_ptr<const LoadedProduct> whole;
    std::shared_ptr<const std::vector<std::uint8_t>> bytes;
  };
  TextureHandle() = default;
  std::shared_ptr<State> state_;
};

/// The figures, with the names that `heatskin eval --json` gives them.
py::dict evaluationOf(const Evaluation& evaluation);

/// One of `names`; Python has looked.
template <class Enum, std::size_t kCount>
Enum named(const std::string_view (&names)[kCount], const std::string& name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  throw Failure(usageError("there is no '" + name + "'"));
}

}  // namespace heatskin::python

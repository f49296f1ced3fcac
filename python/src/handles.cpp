#include "handles.h"

#include <utility>

#include "heatskin/pipeline/rewrite_product.h"

namespace heatskin::python {

const LoadedAsset& AssetHandle::loaded() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->loaded == nullptr) {
    OpenOptions options;
    options.surface.principal_axes = false;  // colours do not depend on frames
    state_->loaded = std::make_unique<const LoadedAsset>(take(openAsset(Asset(state_->asset), options)));
  }
  return *state_->loaded;
}

const SurfacePointFinder& AssetHandle::points() const {
  const LoadedAsset& opened = loaded();
  const std::lock_guard lock(state_->mutex);
  if (state_->points == nullptr)
    state_->points = std::make_unique<const SurfacePointFinder>(opened.asset, *opened.surface);
  return *state_->points;
}

TextureHandle::TextureHandle(LoadedProduct product) : state_(std::make_shared<State>()) {
  auto file = std::make_shared<const LoadedProduct>(std::move(product));
  state_->points = std::make_shared<const SurfacePointFinder>(file->product.asset, file->texture.surface());
  state_->file = std::move(file);
}

TextureHandle TextureHandle::edited(KernelTexture texture, bool moved) const {
  TextureHandle other;
  other.state_ = std::make_shared<State>();
  other.state_->file = state_->file;
  other.state_->points = state_->points;
  other.state_->edit = std::move(texture);
  other.state_->moved = moved || state_->moved;
  return other;
}

const LoadedProduct& TextureHandle::whole() const {
  if (!state_->edit) return *state_->file;
  const std::lock_guard lock(state_->mutex);
  if (state_->whole == nullptr) {
    Product product = state_->file->product;
    product.kernels = state_->edit->kernels();
    product.supports = nullptr;  // of the kernels before
    state_->whole = std::make_unique<const LoadedProduct>(LoadedProduct{std::move(product), *state_->edit});
  }
  return *state_->whole;
}

std::shared_ptr<const std::vector<std::uint8_t>> TextureHandle::bytes(PythonProgress& progress) const {
  if (!state_->edit) return state_->file->product.asset.file;
  const std::lock_guard lock(state_->mutex);
  if (state_->bytes == nullptr) {
    const Product& product = state_->file->product;
    if (!product.variants.empty()) {
      progress.note(
          {"variants_left_out", "the values of material variants are left out; the default's were edited"});
    }
    OpenOptions options;
    options.progress = &progress;
    auto written = take(
        replaceKernels(product, state_->edit->kernels(), options, state_->moved ? 0 : positionBits(product)));
    state_->bytes = std::make_shared<const std::vector<std::uint8_t>>(std::move(written.bytes));
  }
  return state_->bytes;
}

py::dict evaluationOf(const Evaluation& evaluation) {
  py::dict out;
  out["surface_psnr"] = evaluation.surface_psnr_nearest;
  out["surface_psnr_filtered"] = evaluation.surface_psnr_filtered;
  py::dict channels;
  for (const ChannelQuality& channel : evaluation.channels) {
    py::dict figures;
    if (channel.angles) {
      figures["angle_mean_deg"] = channel.angles->mean_deg;
      figures["angle_p95_deg"] = channel.angles->p95_deg;
    }
    if (!channel.isNormal()) figures["psnr"] = channel.psnr;
    if (channel.iou) figures["iou"] = *channel.iou;
    channels[py::str(channel.name)] = figures;
  }
  out["channels"] = channels;
  out["surface_samples"] = evaluation.surface_samples;
  out["surface_max_error"] = evaluation.surface_max_error;
  out["filter"] = evaluation.filter_used;
  out["visible_share"] = evaluation.visible_share;
  const auto set = [&](const char* name, bool there, double value) {
    out[name] = there ? py::object(py::float_(value)) : py::object(py::none());
  };
  const bool views = !evaluation.views.empty();
  set("view_psnr", views, evaluation.view_mean.psnr);
  set("view_ssim", views, evaluation.view_mean.ssim);
  set("view_flip", views && evaluation.view_mean.flip.has_value(), evaluation.view_mean.flip.value_or(0));
  const auto& atlas = evaluation.atlas;
  set("atlas_psnr", atlas.has_value(), atlas ? atlas->psnr : 0);
  set("atlas_ssim", atlas.has_value(), atlas ? atlas->ssim : 0);
  out["coverage_below_half"] = evaluation.coverage_below_half;
  out["coverage_defect"] = evaluation.coverage_defect;
  out["coverage_below_one"] = evaluation.coverage_below_one;
  out["coverage_mean"] = evaluation.coverage_mean;
  const auto& seam = evaluation.seam;
  set("seam_jump_median", seam.has_value(), seam ? seam->median : 0);
  set("seam_jump_p99", seam.has_value(), seam ? seam->p99 : 0);
  set("seam_jump_max", seam.has_value(), seam ? seam->maximum : 0);
  set("query_mpoints_s", evaluation.query_mpoints_s > 0, evaluation.query_mpoints_s);
  return out;
}

}  // namespace heatskin::python

#include "heatskin/pipeline/sufficient_rounding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/stored_kernels.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

Result<Rounding> sufficientRounding(const LoadedAsset& asset, const FitConfig& config, const FitResult& fit,
                                    bool variants) {
  const ChannelLayout& layout = fit.kernels.layout;
  constexpr std::size_t kPoints = 1 << 16;
  constexpr double kLost = 0.0035;  // of the squared error
  constexpr std::uint64_t kSeed = 0x726f756e64;
  const EvaluatorOptions evaluator = config.evaluator.options();
  const AppearanceTarget target(asset.appearance, config.train.filter, layout);
  const ConstantFaces constants = constantFaces(asset.appearance, layout, variants);
  const std::vector<SurfacePoint> points = sampleSurface(*asset.surface, kPoints, kSeed);
  const std::size_t channels = layout.size();
  std::vector<float> wanted(points.size() * channels), exact(wanted.size()), rounded(wanted.size());
  std::vector<float> seen(points.size(), 1.0f);
  target.values(points, wanted);
  if (target.hasAlpha()) target.visibilities(points, seen);
  const auto evaluate = [&](const KernelSet& kernels, std::vector<float>& out) -> Result<void> {
    auto texture = KernelTexture::withEvaluator(asset.surface, kernels, evaluator, fit.evaluator, constants);
    if (!texture) return texture.error();
    texture->values(points, out);
    return {};
  };
  const auto squares = [&](const ChannelGroup& group, const std::vector<float>& a,
                           const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t c = group.first; c < group.first + group.count; ++c) {
        const auto difference = static_cast<double>(a[i * channels + c] - b[i * channels + c]);
        sum += (group.everywhere ? 1.0 : static_cast<double>(seen[i])) * difference * difference;
      }
    }
    return sum;
  };
  if (auto done = evaluate(fit.kernels, exact); !done) return done.error();
  for (Rounding rounding{0, kMostCoarser}; rounding.coarser > 0; --rounding.coarser) {
    const auto kernels = roundedKernels(fit.kernels, asset.asset, *asset.surface, evaluator, rounding);
    if (!kernels) return kernels.error();
    if (!evaluate(*kernels, rounded)) continue;  // rounded like this they would be too much work
    const auto groups = layout.groups();
    if (std::all_of(groups.begin(), groups.end(), [&](const ChannelGroup& group) {
          return squares(group, rounded, exact) <= kLost * squares(group, exact, wanted);
        })) {
      return rounding;
    }
  }
  return Rounding();
}

}  // namespace heatskin

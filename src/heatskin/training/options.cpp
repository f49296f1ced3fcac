#include "heatskin/training/options.h"

#include "heatskin/training/option_tables.h"

namespace heatskin {
namespace {

// In the order of the enums.
constexpr std::string_view kClampGradients[] = {"zero", "straight_through", "by_method"};
constexpr std::string_view kDecays[] = {"halving", "cosine"};
constexpr std::string_view kStartMeans[] = {"kernels", "surface"};
constexpr std::string_view kSamplings[] = {"paper", "stratified"};
constexpr std::string_view kDensities[] = {"paper", "budget"};

constexpr double kMaxRate = 1e4;
constexpr double kMaxSamples = 5e7;  // 2.4 GB of pool
constexpr double kMaxKernels = 1e6;
constexpr double kMaxLength = 10;  // five times the longest side of the bounding box

// clang-format off
constexpr Option kTrain[] = {
    option<&TrainOptions::steps>("steps", 1, 1e7, "optimisation steps"),
    option<&TrainOptions::batch>("batch", 1, 1e6, "samples per step"),
    option<&TrainOptions::rebuild_interval>("rebuild_interval", 1, 1e6, "steps between renewals of what depends on where kernels are"),
    option<&TrainOptions::seed>("seed", 0, 0x1p63, "seed of everything random"),
    choice<&TrainOptions::filter, kFilterNames>("filter", "how textures are read: auto is what the asset's samplers say; nearest and bilinear as in glTF; paper: round(u (W - 1)), for coordinates in [0, 1] only"),
    option<&TrainOptions::transport_angle>("transport_angle", "carry angles along a walk instead of keeping them relative to the frame of the new face").when("method", "local"),
    option<&TrainOptions::wrap_angle>("wrap_angle", "angles modulo pi instead of clamping").when("method", "local"),
    choice<&TrainOptions::clamp_gradient, kClampGradients>("clamp_gradient", "gradient where a colour was clamped to [0, 1]: zero (the clamp's own) or straight-through (as if it had not been clamped); by_method: zero for local, straight-through for the others"),
};

constexpr Option kSampling[] = {
    option<&SamplingOptions::pool>("pool", 1, kMaxSamples, "samples with known colours that batches are drawn from"),
    choice<&SamplingOptions::rule, kSamplings>("rule", "independent draws as in the paper, or one in each of `batch` equal parts of the pool"),
    option<&SamplingOptions::error_power>("error_power", 0, 4, "weight = (squared error + floor) ^ power").when("sampling.rule", "stratified"),
    option<&SamplingOptions::error_floor>("error_floor", 0, 3, "added to the squared error").when("sampling.rule", "stratified"),
    option<&SamplingOptions::correction>("correction", 0, 1, "losses are weighted by (mean weight / weight) ^ correction"),
};

constexpr Option kStart[] = {
    option<&StartOptions::kernels>("kernels", 1, kMaxKernels, "kernels at the start"),
    option<&StartOptions::texture_aware>("texture_aware", "colours from the surface instead of random ones"),
    option<&StartOptions::detail_share>("detail_share", 0, 1, "of the kernels: placed where colours change, the rest evenly"),
    choice<&StartOptions::mean, kStartMeans>("mean", "the mean colour is that of the kernels' first colours (METHOD), or that of the surface"),
};

constexpr Option kRates[] = {
    option<&LearningRates::mean_color>("mean_color", 0, kMaxRate, "learning rate of the mean colour"),
    option<&LearningRates::color>("color", 0, kMaxRate, "of residual colours"),
    option<&LearningRates::angle>("angle", 0, kMaxRate, "of angles"),
    option<&LearningRates::anisotropy>("anisotropy", 0, kMaxRate, "of anisotropies"),
    option<&LearningRates::threshold>("threshold", 0, kMaxRate, "of thresholds"),
    option<&LearningRates::sharpness>("sharpness", 0, kMaxRate, "of sharpnesses"),
    option<&LearningRates::position>("position", 0, kMaxRate, "of positions"),
    option<&LearningRates::momentum>("momentum", 0, 0.9999, "of positions"),
    choice<&LearningRates::decay, kDecays>("decay", "halve after each fifth of the steps, or half a cosine"),
    option<&LearningRates::final_rate>("final_rate", 0, 1, "factor at the end").when("rates.decay", "cosine"),
};

constexpr Option kDensity[] = {
    choice<&DensityOptions::rule, kDensities>("rule", "prune and densify as in the paper, or keep the budget full and move idle kernels to errors"),
    option<&DensityOptions::max_kernels>("max_kernels", 1, kMaxKernels, "kernel budget"),
    option<&DensityOptions::min_kernels>("min_kernels", 1, kMaxKernels, "pruning stops here"),
    option<&DensityOptions::growth>("growth", 0, 10, "of the present number: new kernels at once"),
    option<&DensityOptions::relocate_share>("relocate_share", 0, 1, "of the kernels, removed at once at most").when("density.rule", "budget"),
    option<&DensityOptions::relocate_below>("relocate_below", 0, 1e3, "of the median cost of removal; only kernels below it go").when("density.rule", "budget"),
    option<&DensityOptions::insert_share>("insert_share", 0, 1, "of the new kernels, at most, for places that no kernel covers; the rest splits").when("density.rule", "budget"),
    option<&DensityOptions::cover_share>("cover_share", 0, 1, "of the kernels, taken from detail at once at most when the budget is full and places are uncovered").when("density.rule", "budget"),
    option<&DensityOptions::cover_spare>("cover_spare", 0, 1e3, "fit: diffusion time, window and radius of local grow until the budget is so many times what covers the surface; 0: they stay"),
};

// clang-format on

}  // namespace

std::span<const Option> trainOptionTable() {
  return kTrain;
}
std::span<const Option> samplingOptionTable() {
  return kSampling;
}
std::span<const Option> startOptionTable() {
  return kStart;
}
std::span<const Option> rateOptionTable() {
  return kRates;
}
std::span<const Option> densityOptionTable() {
  return kDensity;
}

}  // namespace heatskin

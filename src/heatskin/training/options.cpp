#include <algorithm>

#include "heatskin/training/config.h"
#include "heatskin/training/option_tables.h"

namespace heatskin {
namespace {

// In the order of the enums.
constexpr std::string_view kClampGradients[] = {"zero", "straight_through", "by_method"};
constexpr std::string_view kRateUnits[] = {"paper", "kernel"};
constexpr std::string_view kDecays[] = {"halving", "cosine"};
constexpr std::string_view kIdle[] = {"coast", "rest"};
constexpr std::string_view kLengths[] = {"unit", "spacing"};
constexpr std::string_view kStartMeans[] = {"kernels", "surface"};
constexpr std::string_view kSamplings[] = {"paper", "stratified"};
constexpr std::string_view kDensities[] = {"paper", "budget"};
constexpr std::string_view kSplitAxes[] = {"long", "short"};

constexpr double kMaxRate = 1e4;
constexpr double kMaxSamples = 5e7;  // 2.4 GB of pool
constexpr double kMaxKernels = 1e6;
constexpr double kMaxLength = 10;  // five times the longest side of the bounding box

// clang-format off
constexpr Option kTrain[] = {
    option<&TrainOptions::steps>("steps", 0, 1e7, "optimisation steps; 0: 1,000, or 500 for each stage of an automatic budget"),
    option<&TrainOptions::batch>("batch", 0, 1e6, "samples per step; 0: 0.82 for each kernel of the budget"),
    option<&TrainOptions::rebuild_interval>("rebuild_interval", 1, 1e6, "steps between rebuilds of what depends on kernel positions (supports, neighbour lists)"),
    option<&TrainOptions::seed>("seed", 0, 0x1p63, "random seed"),
    choice<&TrainOptions::filter, kFilterNames>("filter", "texture filter: auto does what the asset's samplers say; nearest and bilinear are those of glTF; paper reads texel round(u (W - 1)), which is right for coordinates in [0, 1] only"),
    option<&TrainOptions::transport_angle>("transport_angle", "parallel transport of angles along walks; otherwise an angle keeps its value in the frame of the new face").when("method", "local"),
    option<&TrainOptions::wrap_angle>("wrap_angle", "angles wrap around modulo pi; otherwise they are clamped to [0, pi]").when("method", "local"),
    choice<&TrainOptions::clamp_gradient, kClampGradients>("clamp_gradient", "gradient where a colour was clamped to [0, 1]: zero (the derivative of the clamp) or straight_through (as if nothing had been clamped); by_method: zero for local, straight_through for the others"),
    choice<&TrainOptions::idle, kIdle>("idle", "kernels that no sample of a batch reaches: coast (their momentum moves them on, as in the paper) or rest (they stay as they are and cost nothing)"),
    option<&TrainOptions::solves>("solves", 0, 1e4, "how often the colours of all kernels are solved for by linear least squares, at equal intervals, the last time at the end"),
    choice<&TrainOptions::lengths, kLengths>("lengths", "lengths of kernels, the unit in which each counts distances: unit (1, as in the paper) or spacing (from the distance to the neighbours when a kernel starts, shorter after a split)").when("method", "local"),
};

constexpr Option kSampling[] = {
    option<&SamplingOptions::pool>("pool", 0, kMaxSamples, "size of the sample pool: with rule paper stored surface points from which batches are drawn, with rule stratified parts of the surface with an importance each; 0: 200 for each kernel of the budget"),
    choice<&SamplingOptions::rule, kSamplings>("rule", "how batches are drawn: paper draws samples independently, stratified draws one from each of `batch` equal parts of the pool"),
    option<&SamplingOptions::error_power>("error_power", 0, 4, "importance sampling: the importance of a sample is (squared error + error_floor) ^ error_power").when("sampling.rule", "stratified"),
    option<&SamplingOptions::error_floor>("error_floor", 0, 3, "importance sampling: added to the squared error of a sample").when("sampling.rule", "stratified"),
    option<&SamplingOptions::correction>("correction", 0, 1, "exponent of the inverse-probability weights of losses: (mean importance / importance) ^ correction"),
};

constexpr Option kStart[] = {
    option<&StartOptions::kernels>("kernels", 0, kMaxKernels, "initial number of kernels; 0: half of the budget"),
    option<&StartOptions::texture_aware>("texture_aware", "initial colours are those of the surface; otherwise random"),
    option<&StartOptions::detail_share>("detail_share", 0, 1, "share of the initial kernels placed where colours change; the others are spread evenly"),
    choice<&StartOptions::mean, kStartMeans>("mean", "initial mean colour: the mean of the kernels' initial colours, as in the paper, or of the surface"),
    option<&StartOptions::length_scale>("length_scale", 0.01, 100, "factor of the initial lengths; 1 gives 5,000 kernels spread evenly over the cow spot a length of 1").when("lengths", "spacing"),
};

constexpr Option kRates[] = {
    option<&LearningRates::mean_color>("mean_color", 0, kMaxRate, "learning rate of the mean colour"),
    option<&LearningRates::color>("color", 0, kMaxRate, "learning rate of residual colours"),
    option<&LearningRates::angle>("angle", 0, kMaxRate, "learning rate of angles"),
    option<&LearningRates::anisotropy>("anisotropy", 0, kMaxRate, "learning rate of anisotropies"),
    option<&LearningRates::threshold>("threshold", 0, kMaxRate, "learning rate of thresholds"),
    option<&LearningRates::sharpness>("sharpness", 0, kMaxRate, "learning rate of sharpnesses"),
    option<&LearningRates::position>("position", 0, kMaxRate, "learning rate of positions"),
    option<&LearningRates::momentum>("momentum", 0, 0.9999, "momentum of position updates").when("rates.units", "paper"),
    choice<&LearningRates::units, kRateUnits>("units", "what rates are measured in: paper (the parameters themselves; positions follow the gradient with momentum) or kernel (Adam moves kernels by fractions of their lengths, and changes sizes, sharpnesses and anisotropies by fractions of themselves)"),
    option<&LearningRates::beta2>("beta2", 0, 0.99999, "second decay factor of Adam: the larger, the longer it remembers the size of gradients"),
    choice<&LearningRates::decay, kDecays>("decay", "schedule of all learning rates: halved after each fifth of the steps, or half a period of a cosine"),
    option<&LearningRates::final_rate>("final_rate", 0, 1, "learning rates at the last step, as a fraction of the initial ones").when("rates.decay", "cosine"),
};

constexpr Option kDensity[] = {
    choice<&DensityOptions::rule, kDensities>("rule", "density control: paper prunes and densifies; budget keeps the budget full and moves kernels that contribute little to where errors are large"),
    option<&DensityOptions::max_kernels>("max_kernels", 1, kMaxKernels, "kernel budget: the largest number of kernels"),
    option<&DensityOptions::min_kernels>("min_kernels", 1, kMaxKernels, "pruning leaves at least this many kernels"),
    option<&DensityOptions::growth>("growth", 0, 10, "most kernels added at a time, as a fraction of the current number"),
    option<&DensityOptions::relocate_share>("relocate_share", 0, 1, "most kernels removed at a time, as a fraction of all").when("density.rule", "budget"),
    option<&DensityOptions::relocate_below>("relocate_below", 0, 1e3, "only kernels whose removal costs less than this fraction of the median cost are removed").when("density.rule", "budget"),
    option<&DensityOptions::insert_share>("insert_share", 0, 1, "largest fraction of new kernels inserted where the surface is uncovered; the others split existing kernels").when("density.rule", "budget"),
    option<&DensityOptions::cover_share>("cover_share", 0, 1, "most kernels taken from detail at a time, as a fraction of all, when the budget is full and part of the surface is uncovered").when("density.rule", "budget"),
    option<&DensityOptions::cover_spare>("cover_spare", 0, 1e3, "method local widens its diffusion time, window and radius until the budget is this many times what covers the surface; 0: never").when("lengths", "unit"),
    choice<&DensityOptions::split_axis, kSplitAxes>("split_axis", "axis along which the halves of a split kernel are moved apart: long (its own) or short (across it, for comparison with the paper's printed numbers)"),
};

constexpr Option kBudget[] = {
    option<&BudgetOptions::automatic>("automatic", "the fit decides how many kernels there are, in stages; otherwise there are density.max_kernels"),
    option<&BudgetOptions::target_psnr>("target_psnr", 0, 100, "more kernels until the fit reaches this PSNR (dB); 0: until a bound is reached or more do not pay").when("budget.automatic", "true"),
    option<&BudgetOptions::max_bytes>("max_bytes", 0, 1e12, "most bytes of kernels in the file; 0: any number").when("budget.automatic", "true"),
    option<&BudgetOptions::max_seconds>("max_seconds", 0, 1e9, "most seconds of optimisation, as far as they can be foretold; 0: any number. The result then depends on the speed of the machine").when("budget.automatic", "true"),
};

// clang-format on

}  // namespace

void followBudget(TrainOptions& options) {
  const std::size_t budget = options.density.max_kernels;
  const auto share = [&](double per_kernel, std::size_t least, std::size_t most) {
    return std::clamp(static_cast<std::size_t>(per_kernel * static_cast<double>(budget)), least, most);
  };
  if (options.batch == 0) {
    // 0.82 samples a kernel and step, as in the paper: whatever the budget, a step tells each kernel as much.
    options.batch = share(4096.0 / 5000, 1024, 1'000'000);
  }
  // Parts of the surface with an error of their own; fewer for each kernel where they would fill the memory.
  if (options.sampling.pool == 0)
    options.sampling.pool = share(200, std::size_t{1} << 17, std::size_t{1} << 25);
  if (options.start.kernels == 0) options.start.kernels = share(0.5, 1, budget);
  // Automatic budgets are several fits after one another.
  if (options.steps == 0) options.steps = options.budget.automatic ? 500 : 1000;
}

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
std::span<const Option> budgetOptionTable() {
  return kBudget;
}

}  // namespace heatskin

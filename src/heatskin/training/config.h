#pragma once

// Everything that decides the outcome of a fit besides its input: as data, whose defaults are the paper's,
// and as text (TOML files, presets, "key=value"). Every member has a line in a table, those of training in
// options.cpp, those of a method in its method.cpp.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin {

/// How learning rates fall over a run.
enum class Decay {
  kHalving,  ///< halves after each fifth of the steps (every 1,000 of 5,000)
  kCosine,   ///< half a cosine from 1 to `final_rate`
};

/// The gradient where a colour left [0, 1] and was clamped (METHOD does not say).
enum class ClampGradient {
  kZero,             ///< the clamp's own derivative
  kStraightThrough,  ///< as if it had not been clamped: the error leads back into the range
  kByMethod,         ///< whichever measured better: MethodTraits::straight_through_clamp
};

/// What learning rates are measured in.
enum class RateUnits {
  kPaper,  ///< parameters as they are; positions by the gradient with momentum (METHOD section 4)
  /// What a kernel looks like: Adam moves it by parts of its length, and changes its size (through the
  /// threshold), sharpness and anisotropy by parts of themselves. The same rates then suit kernels of any
  /// size and colours of any contrast.
  kKernel,
};

/// METHOD section 4.
struct LearningRates {
  double mean_color = 0.0009605697909535365;
  double color = 0.006154297191437912;
  double angle = 0.09925815390934509;
  double anisotropy = 0.0046734947696952505;
  double threshold = 0.0010937350855722754;
  double sharpness = 0.001288570245082531;
  double position = 0.09914527998776132;
  double momentum = 0.9;  ///< of the positions (GeodesicOpt)
  Decay decay = Decay::kHalving;
  double final_rate = 0.02;  ///< kCosine: factor at the end
  RateUnits units = RateUnits::kPaper;
  double beta2 = 0.999;  ///< Adam's; for how long it remembers the size of gradients
};

/// Which pool samples make up a batch.
enum class Sampling {
  kPaper,  ///< independent draws; METHOD section 1's error weights, which stay almost uniform (trap 11.2)
  kStratified,  ///< one draw in each of `batch` equal parts of the (error-weighted) pool in surface order
};

struct SamplingOptions {
  std::size_t pool = 1'000'000;
  Sampling rule = Sampling::kPaper;
  double error_power = 0.5;  ///< kStratified: weight = (squared error + error_floor)^power
  double error_floor = 0.0;  ///< kStratified: added to the squared error
  double correction = 0.0;   ///< losses are weighted by (mean weight / weight)^correction
};

/// What a step does with kernels that no sample of its batch reaches.
enum class Idle {
  kCoast,  ///< their momentum moves them on (Adam and GeodesicOpt with a gradient of zero): the paper
  kRest,   ///< nothing: a step costs what its batch touches
};

/// Where kernels get their lengths from (METHOD section 13).
enum class Lengths {
  kUnit,     ///< all are 1: the paper
  kSpacing,  ///< from the distance to their neighbours at birth; halves of a split kernel have shorter ones
};

/// What the mean colour is at the start. Where no kernel reaches, it is the colour of the texture.
enum class StartMean {
  kKernels,  ///< mean of the colours the kernels start with (METHOD section 2)
  kSurface,  ///< mean over the surface: of all constant colours the one with the least squared error
};

/// How kernels begin.
struct StartOptions {
  std::size_t kernels = 1000;
  bool texture_aware = false;  ///< colours from the surface instead of random ones (trap 11.1)
  double detail_share = 0;     ///< of the kernels: placed where colours change, the rest evenly
  StartMean mean = StartMean::kKernels;
  double length_scale = 1;  ///< Lengths::kSpacing: 1 gives 5,000 kernels spread over spot a length of 1
};

/// Who decides which kernels come and go.
enum class Density {
  kPaper,   ///< METHOD section 5
  kBudget,  ///< rebalance() of density.h at every densify step
};

/// Where the halves of a kernel that is split go.
enum class SplitAxis {
  kLong,   ///< along its long axis, in every method
  kShort,  ///< across it: LocalHK with the axis that is the long one of HKTex's kernels (METHOD section 5)
};

/// METHOD section 5; its constants are in constants.h.
struct DensityOptions {
  Density rule = Density::kPaper;
  std::size_t max_kernels = 5000;
  std::size_t min_kernels = 100;
  double growth = 0.4;           ///< of the present number at most
  double relocate_share = 0.02;  ///< kBudget: of the kernels, removed at once at most
  double relocate_below = 0.1;   ///< kBudget: of the median cost of removal; only kernels below it go
  double insert_share = 0.5;     ///< kBudget: of the new kernels, for uncovered places; the rest splits
  double cover_share = 0.05;     ///< kBudget: of the kernels, taken from detail for uncovered places
  double cover_spare = 0;        ///< local: lengths grow until the budget is this many times what covers the
                                 ///< surface (settleBudget()); 0: they stay
  SplitAxis split_axis = SplitAxis::kLong;
};

/// How many kernels there will be, when the fit decides (growth.h); density.max_kernels is the bound.
struct BudgetOptions {
  bool automatic = false;     ///< false: density.max_kernels
  double target_psnr = 0;     ///< dB; 0: none
  std::size_t max_bytes = 0;  ///< of the kernels in the file; 0: any
  double max_seconds = 0;     ///< of the optimisation; 0: any. The outcome then depends on the machine
};

struct TrainOptions {
  int steps = 5000;
  std::size_t batch = 4096;
  int rebuild_interval = 10;    ///< steps between two rebuilds of the evaluator, at the first learning rates
  double rebuild_slowdown = 1;  ///< up to so many times fewer as rates come down; the method's
  std::uint64_t seed = 0;
  Filter filter = Filter::kPaper;  ///< how the asset's textures are read
  SamplingOptions sampling;
  StartOptions start;
  LearningRates rates;
  DensityOptions density;
  BudgetOptions budget;
  bool transport_angle = true;  ///< carry theta along the walk instead of keeping it relative to the new
                                ///< face's frame; local only
  bool wrap_angle = true;       ///< theta modulo pi instead of clamping; local only
  ClampGradient clamp_gradient = ClampGradient::kByMethod;
  Lengths lengths = Lengths::kUnit;  ///< local only
  Idle idle = Idle::kCoast;
  int solves = 0;  ///< for the kernels' values (channel_solve.h), evenly over the steps, the last at the end
};

/// Batch, pool, initial kernels and steps that are 0 get the values that belong to the budget
/// (docs/fitting.md): each kernel then sees as many samples in a step, whatever the budget.
void followBudget(TrainOptions& options);

struct FitConfig {
  std::string preset;  ///< where the values come from; for reports, without influence on the fit
  MethodChoice evaluator;
  TrainOptions train;
};

/// `config.train` with what depends on the method settled, for a Trainer: that one does not know the method.
TrainOptions trainOptions(const FitConfig& config);

/// The steps of a fit, or of each of its stages: `config.train.steps`, or what follows from the budget.
int stepsOf(const FitConfig& config);

/// Names of the built-in presets: `default` first.
std::vector<std::string> presetNames();

/// A built-in preset. Unknown names are a usage error that lists the known ones.
Result<FitConfig> presetConfig(std::string_view name);

/// Reads a TOML text, `source` being its name in messages. Strict: an unknown key, another type, a value out
/// of range or options that contradict each other is an error of one line with the line number.
/// Two keys are no options: `base = "default"` names the preset that values start from (without it: `paper`,
/// the defaults of the structs), and `preset = "..."` is the name for reports (without it: the stem of
/// `source`).
Result<FitConfig> parseConfig(std::string_view text, const std::string& source);

/// parseConfig of a file.
Result<FitConfig> loadConfig(const std::filesystem::path& path);

/// The whole configuration as TOML: every option, in the order of the table. parseConfig() gets exactly the
/// same values from it.
std::string configToml(const FitConfig& config);

/// "key=value" as given on a command line; strings need no quotes.
Result<void> setOption(FitConfig& config, std::string_view assignment);

/// Fails if options that are each in range contradict each other (more kernels at the start than allowed).
Result<void> checkConfig(const FitConfig& config);

/// Changes the kernel budget; the start shrinks in proportion when the budget does.
void setKernelBudget(FitConfig& config, std::size_t kernels);

/// Options in which two configurations differ: key and both values as TOML. Names of presets are not
/// compared.
struct OptionDifference {
  std::string key, first, second;
};
std::vector<OptionDifference> configDifferences(const FitConfig& first, const FitConfig& second);

/// An option as people see it.
struct OptionInfo {
  std::string key;           ///< "rates.anisotropy"
  std::string type;          ///< "number", "integer", "true|false" or the choices, "halving|cosine"
  std::string range;         ///< "0 .. 1000", empty for choices
  std::string help;          ///< one line
  double low = 0, high = 0;  ///< ends of the range of a number
};

/// All options, in the order of the table.
std::vector<OptionInfo> fitOptions();

/// Why a fit with `config` does not look at an option ("method is local"); empty if it does.
std::string withoutEffect(const FitConfig& config, std::string_view key);

/// The value of an option as TOML; `key` is one of fitOptions().
std::string optionText(const FitConfig& config, std::string_view key);

}  // namespace heatskin

#include "heatskin/training/config.h"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

/// Converts to whatever a member needs: an aggregate with n members can be made from n of these, not from
/// n + 1.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT: implicit by design; never called
};

template <class T, class... Members>
constexpr std::size_t memberCount() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return memberCount<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

std::size_t optionsOf(const std::string& section) {
  std::size_t count = 0;
  for (const OptionInfo& option : fitOptions()) {
    const std::size_t dot = option.key.find('.');
    const bool here = section.empty() ? dot == std::string_view::npos : option.key.starts_with(section + ".");
    count += here ? 1 : 0;
  }
  return count;
}

// If one of these fails, an option was added to a struct: give it a line in the table of config.cpp.
TEST(Config, TheTableNamesEveryOption) {
  EXPECT_EQ(optionsOf("local"), memberCount<local::LocalOptions>());
  EXPECT_EQ(optionsOf("thermal"), memberCount<thermal::ThermalOptions>());
  EXPECT_EQ(optionsOf("spectral"), memberCount<spectral::HktexOptions>());
  EXPECT_EQ(optionsOf("sampling"), memberCount<SamplingOptions>());
  EXPECT_EQ(optionsOf("start"), memberCount<StartOptions>());
  EXPECT_EQ(optionsOf("rates"), memberCount<LearningRates>());
  EXPECT_EQ(optionsOf("density"), memberCount<DensityOptions>());
  constexpr std::size_t kSections = 5;  // of TrainOptions: sampling, start, rates, density, budget
  constexpr std::size_t kSettled = 1;   // rebuild_slowdown follows from the method
  EXPECT_EQ(optionsOf(""), memberCount<TrainOptions>() - kSections - kSettled + 1) << "one more is `method`";
  EXPECT_EQ(memberCount<MethodChoice>(), 4u) << "method, local, thermal, spectral";
  EXPECT_EQ(memberCount<FitConfig>(), 3u) << "preset, evaluator, train";
}

TEST(Config, MembersAreCountedRight) {
  struct Three {
    int a = 1;
    double b = 2;
    struct Inner {
      int x, y;
    } c = {};
  };
  EXPECT_EQ(memberCount<Three>(), 3u);
  struct FourFlat {
    int a = 1;
    double b = 2;
    bool c = false, d = false;
  };
  EXPECT_EQ(memberCount<FourFlat>(), 4u);
}

TEST(Config, KeysAreUniqueAndExplained) {
  std::set<std::string_view> keys;
  for (const OptionInfo& option : fitOptions()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_EQ(option.help.find('\n'), std::string_view::npos);
    EXPECT_FALSE(option.type.empty());
  }
}

/// A value each option accepts and that is not its default.
FitConfig everythingChanged() {
  FitConfig config;
  for (const OptionInfo& option : fitOptions()) {
    const std::string before = optionText(config, option.key);
    std::vector<std::string> candidates = {"7", "31", "0.12345678901234567", "0.30000000000000004", "1e-05"};
    for (std::size_t from = 0; from < option.type.size();) {  // "halving|cosine"
      const std::size_t bar = std::min(option.type.find('|', from), option.type.size());
      candidates.push_back(option.type.substr(from, bar - from));
      from = bar + 1;
    }
    for (const std::string& candidate : candidates) {
      FitConfig trial = config;
      if (setOption(trial, std::string(option.key) + "=" + candidate) &&
          optionText(trial, option.key) != before) {
        config = trial;
        break;
      }
    }
  }
  config.train.start.kernels = 7;
  config.train.density.max_kernels = 31;
  return config;
}

TEST(Config, WhatDependsOnTheMethodIsSettledForTheTrainer) {
  FitConfig config;
  ASSERT_EQ(config.train.clamp_gradient, ClampGradient::kByMethod);
  for (const Method method : kMethods) {
    config.evaluator.method = method;
    EXPECT_EQ(trainOptions(config).clamp_gradient,
              method == Method::kLocal ? ClampGradient::kZero : ClampGradient::kStraightThrough);
    config.train.idle = Idle::kCoast;
    EXPECT_EQ(trainOptions(config).rebuild_slowdown, method == Method::kLocal ? 1 : 4);
    config.train.idle = Idle::kRest;
    EXPECT_EQ(trainOptions(config).rebuild_slowdown, 4);
    // Angles of the other methods count from curvature directions: nothing to carry, nothing to wrap.
    EXPECT_EQ(trainOptions(config).transport_angle, method == Method::kLocal);
    EXPECT_EQ(trainOptions(config).wrap_angle, method == Method::kLocal);
  }
  for (const ClampGradient said : {ClampGradient::kZero, ClampGradient::kStraightThrough}) {
    config.train.clamp_gradient = said;
    EXPECT_EQ(trainOptions(config).clamp_gradient, said);
  }
}

TEST(Config, TextAndBackIsExact) {
  FitConfig config = everythingChanged();
  config.preset = "a \"quoted\" \\ name";
  const auto differences = configDifferences(config, FitConfig());
  EXPECT_EQ(differences.size(), fitOptions().size());
  const std::string text = configToml(config);
  const auto back = parseConfig(text, "x.toml");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(configDifferences(config, *back).empty());
  EXPECT_EQ(back->preset, config.preset);
  EXPECT_EQ(configToml(*back), text);
}

TEST(Config, SettingSetsTheRightMember) {
  FitConfig config;
  for (const char* assignment :
       {"rates.anisotropy=0.25", "local.window_sigma=0", "sampling.rule=stratified", "rates.decay=\"cosine\"",
        "local.candidate_rule=per_face", "density.max_kernels=2000", " seed = 9223372036854775807 ",
        "wrap_angle=false", "rebuild_interval=3"}) {
    const auto done = setOption(config, assignment);
    EXPECT_TRUE(done) << assignment << ": " << (done ? "" : done.error().message);
  }
  EXPECT_EQ(config.train.rates.anisotropy, 0.25);
  EXPECT_EQ(config.evaluator.local.window_sigma, 0);
  EXPECT_EQ(config.train.sampling.rule, Sampling::kStratified);
  EXPECT_EQ(config.train.rates.decay, Decay::kCosine);
  EXPECT_EQ(config.evaluator.local.rule, local::CandidateRule::kPerFace);
  EXPECT_EQ(config.train.density.max_kernels, 2000u);
  EXPECT_EQ(config.train.seed, 9223372036854775807u);
  EXPECT_FALSE(config.train.wrap_angle);
  EXPECT_EQ(config.train.rebuild_interval, 3);
  EXPECT_EQ(configDifferences(config, FitConfig()).size(), 9u);
}

TEST(Config, WrongAssignmentsAreUsageErrorsAndChangeNothing) {
  for (const auto& [assignment, part] : std::vector<std::pair<std::string, std::string>>{
           {"steps", "key=value"},
           {"=5", "there is no option ''"},
           {"stepz=5", "did you mean 'steps'?"},
           {"window_sigma=0.1", "did you mean 'local.window_sigma'?"},
           {"nothing.like.this=5", "there is no option"},
           {"steps=", "integer"},
           {"steps=5.5", "integer"},
           {"steps=5x", "integer"},
           {"steps=-1", "0 .. 10000000"},
           {"steps=99999999999999999999", "integer"},
           {"seed=-1", "9223372036854775807"},
           {"seed=9223372036854775808", "integer"},
           {"rates.color=nan", "outside"},
           {"rates.color=inf", "outside"},
           {"rates.color=-1e-9", "outside"},
           {"rates.color=fast", "number"},
           {"wrap_angle=1", "true or false"},
           {"rates.decay=linear", "halving, cosine"},
           {"method=magic", "not one of local"}}) {
    FitConfig config;
    const auto done = setOption(config, assignment);
    ASSERT_FALSE(done) << assignment;
    EXPECT_EQ(done.error().kind, ErrorKind::kUsage);
    EXPECT_NE(done.error().message.find(part), std::string::npos)
        << assignment << ": " << done.error().message;
    EXPECT_TRUE(configDifferences(config, FitConfig()).empty());
  }
}

TEST(Config, WrongFilesAreOneLineWithTheLineNumber) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"steps = 5\nstepz = 6\n", "f.toml:2: there is no option 'stepz'"},
           {"\n[rates]\n\ncolour = 0.1\n", "f.toml:4: there is no option 'rates.colour' (did you mean"},
           {"[rats]\ncolor = 0.1\n", "f.toml:1: there is no option 'rats'"},
           {"steps = 5.0\n", "f.toml:1: steps must be an integer"},
           {"steps = \"5\"\n", "f.toml:1: steps must be an integer"},
           {"[rates]\ncolor = true\n", "f.toml:2: rates.color must be a number"},
           {"[rates]\ncolor = nan\n", "f.toml:2: rates.color: nan is outside"},
           {"[rates]\ncolor = inf\n", "f.toml:2: rates.color: inf is outside"},
           {"[rates]\ncolor = -0.1\n", "f.toml:2: rates.color: -0.1 is outside 0 .. 10000"},
           {"[rates]\ndecay = \"slow\"\n", "f.toml:2: rates.decay: 'slow' is not one of"},
           {"[rates]\ndecay = 1\n", "f.toml:2: rates.decay must be one of"},
           {"rates = 1\n", "f.toml:1: rates is a section"},
           {"wrap_angle = 1\n", "f.toml:1: wrap_angle must be true or false"},
           {"steps = 1\nsteps = 2\n", "f.toml:2: "},
           {"steps = \n", "f.toml:1: "},
           {"steps = 1\n[rates\n", "f.toml:2: "},
           {"steps = 99999999999999999999\n", "f.toml:1: "},
           {"base = \"best\"\n", "f.toml:1: there is no preset 'best'; choose one of default, "},
           {"base = 3\n", "f.toml:1: base must be"},
           {"preset = 3\n", "f.toml:1: preset must be"},
           {"\xff\xfe", "f.toml:1: "},
           {"[start]\nkernels = 6000\n", "start.kernels (6000) is above density.max_kernels (5000)"}}) {
    const auto config = parseConfig(text, "f.toml");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().kind, ErrorKind::kInput);
    EXPECT_NE(config.error().message.find(part), std::string::npos) << text << config.error().message;
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos) << config.error().message;
  }
}

TEST(Config, WholeNumbersAreNumbers) {
  const auto config = parseConfig("[local]\nwindow_sigma = 0\n", "v0.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->evaluator.local.window_sigma, 0);
  EXPECT_EQ(config->preset, "v0");
}

TEST(Config, PaperIsTheDefaultsOfTheStructs) {
  const auto paper = presetConfig("paper");
  ASSERT_TRUE(paper) << paper.error().message;
  EXPECT_TRUE(configDifferences(*paper, FitConfig()).empty());
  EXPECT_EQ(paper->preset, "paper");
  // METHOD section 4 and traps 11.1, 11.2, in case the structs drift.
  const TrainOptions& t = paper->train;
  EXPECT_EQ(t.steps, 5000);
  EXPECT_EQ(t.batch, 4096u);
  EXPECT_EQ(t.rates.mean_color, 0.0009605697909535365);
  EXPECT_EQ(t.rates.color, 0.006154297191437912);
  EXPECT_EQ(t.rates.angle, 0.09925815390934509);
  EXPECT_EQ(t.rates.anisotropy, 0.0046734947696952505);
  EXPECT_EQ(t.rates.threshold, 0.0010937350855722754);
  EXPECT_EQ(t.rates.sharpness, 0.001288570245082531);
  EXPECT_EQ(t.rates.position, 0.09914527998776132);
  EXPECT_EQ(t.rates.decay, Decay::kHalving);
  EXPECT_FALSE(t.start.texture_aware);
  EXPECT_EQ(t.sampling.rule, Sampling::kPaper);
  EXPECT_EQ(t.start.kernels, 1000u);
  EXPECT_EQ(t.density.max_kernels, 5000u);
  EXPECT_EQ(paper->evaluator.local.window_sigma, 0.1);
  EXPECT_EQ(paper->evaluator.local.rule, local::CandidateRule::kPerQuery);
}

TEST(Config, OnlyThePaperReadsTexturesWithThePapersFormula) {
  EXPECT_EQ(presetConfig("paper")->train.filter, Filter::kPaper);
  EXPECT_EQ(presetConfig("compact")->train.filter, Filter::kAuto);
  EXPECT_EQ(presetConfig("draft")->train.filter, Filter::kAuto);
  FitConfig config = *presetConfig("compact");
  ASSERT_TRUE(setOption(config, "filter=bilinear"));
  EXPECT_EQ(config.train.filter, Filter::kBilinear);
  const auto differences = configDifferences(config, *presetConfig("compact"));
  ASSERT_EQ(differences.size(), 1u) << "a checkpoint of another filter is another fit's";
  EXPECT_EQ(differences[0].key, "filter");
}

TEST(Config, EveryPresetReadsAndDraftIsSmall) {
  const auto names = presetNames();
  EXPECT_EQ(names.front(), "default");
  for (const char* name : {"default", "paper", "draft"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const std::string& name : names) {
    const auto config = presetConfig(name);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->preset, name);
    EXPECT_EQ(config->train.seed, 0u) << "a preset has no say in seeds";
  }
  EXPECT_LE(presetConfig("draft")->train.steps, 1000);
  EXPECT_EQ(presetConfig("compact")->train.density.max_kernels,
            presetConfig("paper")->train.density.max_kernels)
      << "compared with the same budget";
  const auto unknown = presetConfig("fast");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
}

TEST(Config, AFileBuildsUponAPreset) {
  testing::TemporaryFolder folder;
  const std::string file = folder.write("mine.toml", "base = \"draft\"\nsteps = 123\n");
  const auto config = loadConfig(file);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->train.steps, 123);
  EXPECT_EQ(config->preset, "mine");
  FitConfig expected = *presetConfig("draft");
  expected.train.steps = 123;
  EXPECT_TRUE(configDifferences(*config, expected).empty());

  EXPECT_FALSE(loadConfig(folder / "missing.toml"));
  EXPECT_FALSE(loadConfig(folder.write("huge.toml", std::string(2 << 20, '#'))));
  const auto empty = loadConfig(folder.write("empty.toml", ""));
  ASSERT_TRUE(empty);
  EXPECT_TRUE(configDifferences(*empty, FitConfig()).empty());
}

TEST(Config, ASmallerBudgetHasASmallerStart) {
  FitConfig config;
  setKernelBudget(config, 500);
  EXPECT_EQ(config.train.density.max_kernels, 500u);
  EXPECT_EQ(config.train.start.kernels, 100u);
  EXPECT_TRUE(checkConfig(config));
  setKernelBudget(config, 1);
  EXPECT_EQ(config.train.start.kernels, 1u);
  EXPECT_EQ(config.train.density.min_kernels, 1u);
  config = FitConfig();
  setKernelBudget(config, 20000);
  EXPECT_EQ(config.train.start.kernels, 1000u) << "a larger budget is reached by densification";
}

TEST(FitConfig, OptionsNobodyLooksAtAreKnown) {
  FitConfig config;  // the structs' defaults: local, sampling and density of the paper, rates that halve
  EXPECT_EQ(withoutEffect(config, "thermal.rank"), "method is local");
  EXPECT_EQ(withoutEffect(config, "spectral.modes"), "method is local");
  EXPECT_EQ(withoutEffect(config, "local.window_sigma"), "");
  EXPECT_EQ(withoutEffect(config, "wrap_angle"), "");
  EXPECT_EQ(withoutEffect(config, "sampling.error_power"), "sampling.rule is paper");
  EXPECT_EQ(withoutEffect(config, "density.insert_share"), "density.rule is paper");
  EXPECT_EQ(withoutEffect(config, "rates.final_rate"), "rates.decay is halving");
  EXPECT_EQ(withoutEffect(config, "steps"), "");
  for (const char* assignment :
       {"method=thermal", "sampling.rule=stratified", "density.rule=budget", "rates.decay=cosine"})
    ASSERT_TRUE(setOption(config, assignment));
  EXPECT_EQ(withoutEffect(config, "thermal.rank"), "");
  EXPECT_EQ(withoutEffect(config, "local.window_sigma"), "method is thermal");
  EXPECT_EQ(withoutEffect(config, "wrap_angle"), "method is thermal");
  EXPECT_EQ(withoutEffect(config, "sampling.error_power"), "");
  EXPECT_EQ(withoutEffect(config, "density.insert_share"), "");
  EXPECT_EQ(withoutEffect(config, "rates.final_rate"), "");
}

}  // namespace
}  // namespace heatskin

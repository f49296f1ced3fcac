// A fit that was kept is the fit that would be made again: same figures, whichever method made it.

#include "heatskin/study/kept_fits.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/study/fit_run.h"

#include "support/temporary_folder.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;

class KeptFitsTest : public ::testing::Test {
 protected:
  RunContext context(bool fresh = false, const std::string& version = "1") {
    return {folder_.path(), folder_.path() / "fits", version, fresh, &silentProgress()};
  }
  fs::path theOnly(const std::string& extension) {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "fits")) {
      if (entry.path().extension() == extension) found = entry.path();
    }
    return found;
  }

  testing::TemporaryFolder folder_;
  const Json identity_ = {{"seed", 3}, {"mesh", {{"content", "abc"}, {"file", "/somewhere"}}}};
  const KeptFit fit_ = {{1, 2, 3, 4}, {{"init_s", 0.5}}};
};

TEST_F(KeptFitsTest, AreFoundByWhatDecidesAboutThem) {
  const KeptFits kept(context(), identity_);
  EXPECT_FALSE(kept.find().has_value());
  kept.keep(fit_);
  const auto found = kept.find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->product, fit_.product);
  EXPECT_EQ(found->timing, fit_.timing);

  Json moved = identity_, other = identity_;
  moved["mesh"]["file"] = "/elsewhere";
  other["seed"] = 4;
  EXPECT_TRUE(KeptFits(context(), moved).find().has_value()) << "where files lie does not count";
  EXPECT_FALSE(KeptFits(context(), other).find().has_value());
  EXPECT_FALSE(KeptFits(context(false, "2"), identity_).find().has_value());
  EXPECT_FALSE(KeptFits(context(true), identity_).find().has_value()) << "to be made afresh";
}

TEST_F(KeptFitsTest, DamagedOnesAreNotUsed) {
  const KeptFits kept(context(), identity_);
  kept.keep(fit_);
  std::ofstream(theOnly(".glb"), std::ios::app) << "more";
  EXPECT_FALSE(kept.find().has_value());
  kept.keep(fit_);
  EXPECT_TRUE(kept.find().has_value());
  for (const char* record : {"", "[]", "{}", "{\"digest\": 3}", "{\"digest\": \"0\", \"timing\": {}}"}) {
    std::ofstream(theOnly(".json")) << record;
    EXPECT_FALSE(kept.find().has_value()) << record;
  }
}

TEST_F(KeptFitsTest, WithoutAFolderNothingIsKept) {
  RunContext nowhere = context();
  nowhere.fits.clear();
  const KeptFits kept(nowhere, identity_);
  kept.keep(fit_);
  EXPECT_FALSE(kept.find().has_value());
}

class KeptFitsOf : public KeptFitsTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KeptFitsOf, HaveTheFiguresOfTheFitThatWasMade) {
  StudySettings settings;
  settings.quick = true;
  FitPlan plan;
  plan.meshes = meshesFor(settings, pumpkins());
  plan.methods = {{"any", "any", "paper", {std::string("method=") + GetParam()}}};
  plan.seeds = {0};
  auto runs = planFits(plan, settings);
  ASSERT_TRUE(runs.ok());
  const Json work = runs->front().work;

  StudyOutcome made, found, alone;
  ASSERT_TRUE(fitRun(work, context(), made).ok());
  // Another study has other names for the same thing.
  Json renamed = work;
  renamed["method"]["name"] = renamed["method"]["title"] = renamed["mesh"]["name"] = "else";
  ASSERT_TRUE(fitRun(renamed, context(), found).ok());
  RunContext nowhere = context();
  nowhere.fits.clear();
  ASSERT_TRUE(fitRun(work, nowhere, alone).ok());
  EXPECT_TRUE(made.values.contains("view_psnr"));
  EXPECT_EQ(found.timing["optimise_s"], made.timing["optimise_s"]) << "it was fitted again";
  EXPECT_NE(alone.timing["fit_cpu_s"], made.timing["fit_cpu_s"]) << "it was not fitted";
  EXPECT_EQ(found.values.dump(), made.values.dump());
  EXPECT_EQ(alone.values.dump(), made.values.dump());

  // Where time counts, a fit is made every time.
  StudyOutcome fresh;
  Json timed = work;
  timed["fresh"] = true;
  ASSERT_TRUE(fitRun(timed, context(), fresh).ok());
  EXPECT_NE(fresh.timing["fit_cpu_s"], made.timing["fit_cpu_s"]);
  EXPECT_EQ(fresh.values.dump(), made.values.dump());
}

INSTANTIATE_TEST_SUITE_P(Methods, KeptFitsOf, ::testing::Values("local", "spectral", "thermal"));

}  // namespace
}  // namespace heatskin::study

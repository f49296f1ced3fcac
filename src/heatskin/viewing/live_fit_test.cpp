#include "heatskin/viewing/live_fit.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heatskin {
namespace {

/// A fit of `steps` steps that nobody computes.
class FakeFit {
 public:
  explicit FakeFit(int steps, std::size_t frame_bytes = 10) : steps_(steps), frame_bytes_(frame_bytes) {
    kernels_.resize(7);
  }

  void step(
      LiveFit& live, const std::function<bool()>& cancelled = [] { return false; }) {
    ++step_;
    history_.losses.push_back(1.0f / static_cast<float>(step_));
    history_.optimise_seconds += 0.01;
    FitMoment moment;
    moment.step = step_;
    moment.steps = steps_;
    moment.loss = 1.0 / step_;
    moment.psnr = 20;
    moment.kernels = &kernels_;
    moment.history = &history_;
    moment.product = [this]() -> Result<std::vector<std::uint8_t>> {
      ++made;
      return std::vector<std::uint8_t>(frame_bytes_, static_cast<std::uint8_t>(made));
    };
    live.watch(moment, cancelled);
  }

  int made = 0;

 private:
  KernelSet kernels_;
  FitHistory history_;
  int steps_, step_ = 0;
  std::size_t frame_bytes_;
};

nlohmann::json stateOf(LiveFit& live) {
  return nlohmann::json::parse(live.state());
}

LiveFitOptions generous() {
  LiveFitOptions options;
  options.frame_share = 1e6;  // what a frame costs is for another test
  return options;
}

TEST(LiveFit, FramesAreDenseAtTheBeginningAndBounded) {
  LiveFit live(generous());
  FakeFit fit(1000);
  for (int i = 0; i < 1000; ++i)
    fit.step(live);
  EXPECT_GT(fit.made, 15);
  EXPECT_LE(fit.made, 26);
  const auto frames = stateOf(live)["frames"];
  ASSERT_EQ(frames.size(), static_cast<std::size_t>(fit.made));
  EXPECT_LT(frames[1]["step"].get<int>(), 20);
  EXPECT_LT(frames[frames.size() / 2]["step"].get<int>(), 400);
  EXPECT_EQ(live.frame(frames[0]["number"])->at(0), 1);
  EXPECT_EQ(live.frame(4711), nullptr);
}

TEST(LiveFit, OldFramesGoWhenThereAreTooMany) {
  LiveFitOptions options = generous();
  options.most_bytes = 1000;
  LiveFit live(options);
  FakeFit fit(1000, 99);
  for (int i = 0; i < 1000; ++i)
    fit.step(live);
  const auto frames = stateOf(live)["frames"];
  EXPECT_LE(frames.size(), 10U);
  EXPECT_GE(frames.size(), 4U);
  EXPECT_EQ(frames[0]["number"], 0) << "the first one stays";
  EXPECT_EQ(frames.back()["number"], fit.made - 1) << "and so does the last one";
}

TEST(LiveFit, FramesCostNoMoreThanTheirShare) {
  LiveFitOptions options;
  options.frame_share = 0;
  LiveFit live(options);
  FakeFit fit(1000);
  for (int i = 0; i < 1000; ++i)
    fit.step(live);
  EXPECT_LE(fit.made, 1) << "what the first one costs is not known before";
}

TEST(LiveFit, CurvesAreBounded) {
  LiveFit live(generous());
  FakeFit fit(5000);
  for (int i = 0; i < 5000; ++i)
    fit.step(live);
  const auto state = stateOf(live);
  EXPECT_LE(state["curve"].size(), 601U);
  EXPECT_GE(state["curve"].size(), 300U);
  // Means over steps whose mean is the place.
  for (std::size_t i = 1; i < state["curve"].size(); ++i) {
    EXPECT_GT(state["curve"][i][0], state["curve"][i - 1][0]);
    EXPECT_LT(state["curve"][i][1], state["curve"][i - 1][1]);
  }
  EXPECT_EQ(state["total_steps"], 5000);
}

TEST(LiveFit, AFitWaitsWhileItIsPaused) {
  LiveFit live(generous());
  FakeFit fit(10);
  fit.step(live);
  EXPECT_TRUE(live.command("pause"));
  EXPECT_TRUE(stateOf(live)["paused"].get<bool>());
  std::atomic<bool> over = false;
  std::thread thread([&] {
    fit.step(live);
    over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(over);
  EXPECT_TRUE(live.command("resume"));
  thread.join();
  // A wish to stop ends the waiting, too.
  live.command("pause");
  fit.step(live, [] { return true; });
  EXPECT_FALSE(live.finishAsked());
  live.command("finish");
  fit.step(live);
  EXPECT_TRUE(live.finishAsked());
  EXPECT_FALSE(live.command("rm -rf"));
  EXPECT_FALSE(live.command(""));
}

TEST(LiveFit, TheEndIsWaitedForAsLongAsSomebodyLooks) {
  LiveFit live(generous());
  const auto never = [] { return false; };
  live.done(std::vector<std::uint8_t>(3), {{"kernels", "7"}});
  live.waitForPages(3600, never);  // nobody ever asked
  EXPECT_EQ(stateOf(live)["end"], "done");
  EXPECT_EQ(stateOf(live)["figures"][0][1], "7");
  EXPECT_TRUE(live.command("bye"));
  live.waitForPages(3600, never);  // the only page has everything
  EXPECT_EQ(stateOf(live)["frames"].size(), 1U);
  LiveFit other(generous());
  stateOf(other);
  other.failed("no \xff memory");
  other.waitForPages(3600, [] { return true; });
  EXPECT_EQ(stateOf(other)["end"], "failed");
}

}  // namespace
}  // namespace heatskin

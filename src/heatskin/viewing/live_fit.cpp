#include "heatskin/viewing/live_fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <limits>
#include <mutex>

#include <nlohmann/json.hpp>

namespace heatskin {
namespace {

using LiveClock = std::chrono::steady_clock;

/// Points of a curve; when there are twice as many, neighbours become one.
constexpr std::size_t kLiveCurvePoints = 300;

/// A page that has not asked for so long is gone: it asks twice a second, unless it unfolds a frame.
constexpr double kSilentSeconds = 10;

/// After a page has said goodbye, others have so long to show that they are there.
constexpr double kGoodbyeSeconds = 1.5;

double secondsSince(LiveClock::time_point then) {
  return std::chrono::duration<double>(LiveClock::now() - then).count();
}

/// Of this process, all threads.
double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

nlohmann::json liveNumber(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace

struct LiveFit::Impl {
  struct Frame {
    std::size_t number = 0;
    std::size_t stage = 0, kernels = 0;
    int step = 0;
    double psnr = 0, seconds = 0;
    bool final = false;
    std::shared_ptr<const std::vector<std::uint8_t>> bytes;
  };

  /// Steps that have become one point of a curve.
  struct CurvePoint {
    double steps = 0, at = 0, loss = 0, psnr = 0, kernels = 0;  // sums
    void add(const CurvePoint& other) {
      steps += other.steps;
      at += other.at;
      loss += other.loss;
      psnr += other.psnr;
      kernels += other.kernels;
    }
  };

  explicit Impl(const LiveFitOptions& given) : options(given) {}

  void addToCurve(const FitMoment& moment) {
    const double total = static_cast<double>(moment.history->losses.size());
    pending.add({1, total, moment.loss, moment.psnr, static_cast<double>(moment.kernels->size())});
    if (pending.steps < per_point) return;
    curve.push_back(pending);
    pending = {};
    if (curve.size() < 2 * kLiveCurvePoints) return;
    for (std::size_t i = 0; i < kLiveCurvePoints; ++i) {
      curve[i] = curve[2 * i];
      curve[i].add(curve[2 * i + 1]);
    }
    curve.resize(kLiveCurvePoints);
    per_point *= 2;
  }

  /// Frames are dense where the texture changes fast: at the squares of equal steps.
  bool frameDue(const FitMoment& moment) const {
    if (!moment.product || frames_failed) return false;
    return moment.step >= next_frame;
  }

  void planNext(const FitMoment& moment, double fit_seconds) {
    // What frames may take until the end of the stage, as far as that can be foretold.
    const double done = static_cast<double>(std::max(moment.step, 1)) / std::max(moment.steps, 1);
    const double foretold = stage_began + (fit_seconds - stage_began) / done;
    const double left = options.frame_share * foretold - frame_seconds;
    const double affordable = frame_cost > 0 ? left / frame_cost : options.frames_per_stage;
    const double root = std::sqrt(done);
    if (affordable < 1) {
      // Looked at again when more of the time is over.
      next_frame = moment.step + std::max(1, moment.steps / 10);
      affordable_now = false;
      return;
    }
    affordable_now = true;
    const double apart = std::max(1.0 / options.frames_per_stage, (1 - root) / std::max(affordable, 1.0));
    next_frame = std::max(moment.step + 1,
                          static_cast<int>(std::ceil((root + apart) * (root + apart) * moment.steps)));
  }

  void keep(Frame frame) {
    frames.push_back(std::move(frame));
    const auto total = [&] {
      std::size_t bytes = 0;
      for (const Frame& f : frames)
        bytes += f.bytes->size();
      return bytes;
    };
    // The first and the last one stay.
    while (frames.size() > 2 && (frames.size() > options.most_frames || total() > options.most_bytes)) {
      std::vector<Frame> kept;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i % 2 == 0 || i + 1 == frames.size()) kept.push_back(std::move(frames[i]));
      }
      frames = std::move(kept);
    }
  }

  LiveFitOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;

  std::string phase = "starting", end, message;
  std::vector<std::pair<std::string, std::string>> figures;
  bool paused = false, finish = false;
  int step = 0, steps = 0;
  std::size_t stage = 0, kernels = 0, total_steps = 0;
  double loss = 0, psnr = 0, smooth_weight = 0, optimise_seconds = 0, stage_seconds = 0;
  TrainProfile profile;
  std::vector<CurvePoint> curve;
  CurvePoint pending;
  double per_point = 1;
  std::vector<GrowthStage> stages;
  std::vector<Frame> frames;
  std::size_t next_number = 0;
  LiveClock::time_point began = LiveClock::now();
  double paused_seconds = 0;

  // Of the fit's thread.
  std::size_t known_stage = std::numeric_limits<std::size_t>::max();
  int next_frame = 0;
  double frame_seconds = 0, frame_cost = 0, stage_began = 0, stage_time_began = 0;
  bool frames_failed = false, affordable_now = true;

  LiveClock::time_point asked;  // for the state, by a page
  bool ever_asked = false, goodbye = false;
};

LiveFit::LiveFit(LiveFitOptions options) : impl_(std::make_unique<Impl>(options)) {}
LiveFit::~LiveFit() = default;

void LiveFit::watch(const FitMoment& moment, const std::function<bool()>& cancelled) {
  Impl& live = *impl_;
  const double spent = processorSeconds() - live.frame_seconds;
  {
    const std::lock_guard lock(live.mutex);
    if (moment.stage != live.known_stage) {
      live.known_stage = moment.stage;
      live.stage_began = spent;
      live.stage_time_began = moment.history->optimise_seconds;
      live.next_frame = std::min(moment.step + 1, moment.steps);
    }
    constexpr double kKeep = 0.97;  // of the loss that people see: about the last 30 batches
    live.smooth_weight = kKeep * live.smooth_weight + (1 - kKeep);
    live.loss = kKeep * live.loss + (1 - kKeep) * moment.loss;
    live.psnr = kKeep * live.psnr + (1 - kKeep) * moment.psnr;
    live.step = moment.step;
    live.steps = moment.steps;
    live.stage = moment.stage;
    live.kernels = moment.kernels->size();
    live.total_steps = moment.history->losses.size();
    live.optimise_seconds = moment.history->optimise_seconds;
    live.stage_seconds = moment.history->optimise_seconds - live.stage_time_began;
    live.profile = moment.history->profile;
    live.stages = moment.history->stages;
    live.addToCurve(moment);
  }
  if (live.frameDue(moment)) {
    live.planNext(moment, spent);
    if (live.affordable_now) {
      const double before = processorSeconds();
      auto product = moment.product();
      const double cost = processorSeconds() - before;
      const std::lock_guard lock(live.mutex);
      live.frame_seconds += cost;
      live.frame_cost = cost;
      if (product) {
        Impl::Frame frame;
        frame.number = live.next_number++;
        frame.stage = moment.stage;
        frame.kernels = moment.kernels->size();
        frame.step = static_cast<int>(moment.history->losses.size());
        frame.psnr = live.psnr / live.smooth_weight;
        frame.seconds = live.optimise_seconds;
        frame.bytes = std::make_shared<const std::vector<std::uint8_t>>(std::move(*product));
        live.keep(std::move(frame));
      } else {
        live.frames_failed = true;
        live.message = "there are no pictures: " + product.error().message;
      }
      live.planNext(moment, spent);
    }
  }
  std::unique_lock lock(live.mutex);
  const auto before = LiveClock::now();
  bool waited = false;
  while (live.paused && !live.finish && !cancelled()) {
    live.changed.wait_for(lock, std::chrono::milliseconds(100));
    waited = true;
  }
  if (waited) live.paused_seconds += secondsSince(before);
}

bool LiveFit::finishAsked() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->finish;
}

void LiveFit::phase(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->phase = name;
}

void LiveFit::done(std::span<const std::uint8_t> product,
                   std::vector<std::pair<std::string, std::string>> figures) {
  const std::lock_guard lock(impl_->mutex);
  Impl::Frame frame;
  frame.number = impl_->next_number++;
  frame.stage = impl_->stage;
  frame.kernels = impl_->kernels;
  frame.step = static_cast<int>(impl_->total_steps);
  frame.psnr = impl_->smooth_weight > 0 ? impl_->psnr / impl_->smooth_weight : 0;
  frame.seconds = impl_->optimise_seconds;
  frame.final = true;
  frame.bytes = std::make_shared<const std::vector<std::uint8_t>>(product.begin(), product.end());
  impl_->keep(std::move(frame));
  impl_->figures = std::move(figures);
  impl_->end = impl_->finish ? "stopped" : "done";
  impl_->changed.notify_all();
}

void LiveFit::failed(std::string_view message) {
  const std::lock_guard lock(impl_->mutex);
  impl_->end = "failed";
  impl_->message = message;
  impl_->changed.notify_all();
}

void LiveFit::waitForPages(double seconds, const std::function<bool()>& cancelled) const {
  const auto from = LiveClock::now();
  Impl& live = *impl_;
  std::unique_lock lock(live.mutex);
  while (secondsSince(from) < seconds && !cancelled()) {
    if (!live.ever_asked || secondsSince(live.asked) > (live.goodbye ? kGoodbyeSeconds : kSilentSeconds))
      return;
    live.changed.wait_for(lock, std::chrono::milliseconds(50));
  }
}

std::string LiveFit::state() {
  Impl& live = *impl_;
  const std::lock_guard lock(live.mutex);
  live.ever_asked = true;
  live.asked = LiveClock::now();
  live.goodbye = false;
  const double weight = std::max(live.smooth_weight, 1e-9);
  nlohmann::json json = {{"phase", live.phase},
                         {"paused", live.paused},
                         {"finishing", live.finish},
                         {"end", live.end},
                         {"message", live.message},
                         {"step", live.step},
                         {"steps", live.steps},
                         {"total_steps", live.total_steps},
                         {"stage", live.stage},
                         {"kernels", live.kernels},
                         {"loss", liveNumber(live.loss / weight)},
                         {"psnr", liveNumber(live.psnr / weight)},
                         {"seconds", live.optimise_seconds},
                         {"elapsed", secondsSince(live.began)},
                         {"processor_seconds", processorSeconds()},
                         {"frame_processor_seconds", live.frame_seconds}};
  // Of this stage: how many follow is not known.
  json["left"] = live.step > 0 ? liveNumber(live.stage_seconds / live.step * (live.steps - live.step))
                               : nlohmann::json();
  json["profile"] = nlohmann::json::array();
  visitPhases(live.profile, [&](const char* name, double seconds) {
    json["profile"].push_back({name, seconds});
  });
  json["curve"] = nlohmann::json::array();
  const auto add = [&](const Impl::CurvePoint& p) {
    json["curve"].push_back(
        {p.at / p.steps, liveNumber(p.loss / p.steps), liveNumber(p.psnr / p.steps), p.kernels / p.steps});
  };
  for (const Impl::CurvePoint& point : live.curve)
    add(point);
  if (live.pending.steps > 0) add(live.pending);
  json["stages"] = nlohmann::json::array();
  for (const GrowthStage& stage : live.stages)
    json["stages"].push_back({{"kernels", stage.kernels}, {"psnr", liveNumber(stage.psnr)}});
  json["frames"] = nlohmann::json::array();
  for (const Impl::Frame& frame : live.frames) {
    json["frames"].push_back({{"number", frame.number},
                              {"step", frame.step},
                              {"stage", frame.stage},
                              {"kernels", frame.kernels},
                              {"psnr", liveNumber(frame.psnr)},
                              {"seconds", frame.seconds},
                              {"final", frame.final},
                              {"bytes", frame.bytes->size()}});
  }
  json["figures"] = live.figures;
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::shared_ptr<const std::vector<std::uint8_t>> LiveFit::frame(std::size_t number) {
  const std::lock_guard lock(impl_->mutex);
  for (const Impl::Frame& frame : impl_->frames) {
    if (frame.number == number) return frame.bytes;
  }
  return nullptr;
}

bool LiveFit::command(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  if (name == "pause")
    impl_->paused = true;
  else if (name == "resume")
    impl_->paused = false;
  else if (name == "finish")
    impl_->finish = true;
  else if (name == "bye")
    impl_->goodbye = true;
  else
    return false;
  impl_->changed.notify_all();
  return true;
}

}  // namespace heatskin

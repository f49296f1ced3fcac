#include "heatskin/training/samples.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "heatskin/base/hilbert.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/surface/strata.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/visible_samples.h"

namespace heatskin {
namespace {

/// Points close together one after the other: faces along a space-filling curve, the points of a face as they
/// were.
std::vector<SurfacePoint> inOrderOfTheSurface(const Surface& surface, std::span<const SurfacePoint> points) {
  std::vector<Vec3> origins(surface.faceCount());
  std::transform(surface.frames().begin(), surface.frames().end(), origins.begin(),
                 [](const FaceFrame& frame) { return frame.origin; });
  const std::vector<std::uint32_t> faces = hilbertOrder(origins);
  // Counting sort by the rank of the face.
  std::vector<std::uint32_t> start(faces.size() + 1, 0), rank(faces.size());
  for (std::uint32_t r = 0; r < faces.size(); ++r)
    rank[faces[r]] = r;
  for (const SurfacePoint& p : points)
    ++start[rank[p.face] + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<SurfacePoint> ordered(points.size());
  for (const SurfacePoint& p : points)
    ordered[start[rank[p.face]]++] = p;
  return ordered;
}

class StoredSamples final : public SampleSource {
 public:
  StoredSamples(const Surface& surface, const FitTarget& target, std::size_t count, std::uint64_t seed)
      : points_(inOrderOfTheSurface(surface, sampleVisible(surface, target, count, seed, streams::kPool))) {
    targets_.channels = target.layout().size();
    targets_.resize(points_.size());
    unitValues(target, points_, targets_.values);
    if (target.hasAlpha() && target.layout().everywhere()) {
      visibilities_.resize(points_.size());
      target.visibilities(points_, visibilities_);
    }
  }

  std::size_t size() const override { return points_.size(); }
  bool masked() const override { return !visibilities_.empty(); }

  void points(std::uint64_t, std::size_t, std::span<const std::uint32_t> indices,
              std::span<SurfacePoint> out) const override {
    // The pool is far larger than the caches: ask for rows well before they are needed.
    constexpr std::size_t kAhead = 32;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i + kAhead < indices.size()) {
        __builtin_prefetch(&points_[indices[i + kAhead]]);
        __builtin_prefetch(targets_.row(indices[i + kAhead]));
      }
      out[i] = points_[indices[i]];
    }
  }

  void values(std::span<const std::uint32_t> indices, std::span<const SurfacePoint>, std::span<float> values,
              std::span<float> visibilities) const override {
    for (std::size_t i = 0; i < indices.size(); ++i)
      std::copy_n(targets_.row(indices[i]), targets_.channels, values.data() + i * targets_.channels);
    for (std::size_t i = 0; i < visibilities.size(); ++i)
      visibilities[i] = visibilities_[indices[i]];
  }

 private:
  std::vector<SurfacePoint> points_;
  ChannelTable targets_;
  std::vector<float> visibilities_;  // [size] or empty
};

class StratifiedSamples final : public SampleSource {
 public:
  StratifiedSamples(const Surface& surface, const FitTarget& target, std::size_t count, std::uint64_t seed)
      : target_(&target), seed_(seed), strata_(surface, weights(surface, target)), count_(count) {
    masked_ = target.hasAlpha();
    if (masked_ && !target.layout().everywhere()) leaveOutInvisible();
  }

  std::size_t size() const override { return visible_.empty() ? count_ : visible_.size(); }
  bool masked() const override { return masked_; }

  void points(std::uint64_t draw, std::size_t at, std::span<const std::uint32_t> indices,
              std::span<SurfacePoint> out) const override {
    const RandomStream random(seed_, streams::kJitter + (draw << 8));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint32_t stratum = visible_.empty() ? indices[i] : visible_[indices[i]];
      out[i] = pointIn(stratum, random.uniform(at + i));
    }
  }

  void values(std::span<const std::uint32_t>, std::span<const SurfacePoint> points, std::span<float> values,
              std::span<float> visibilities) const override {
    unitValues(*target_, points, values);
    if (visibilities.empty()) return;
    target_->visibilities(points, visibilities);
    for (float& v : visibilities)
      v *= inverse_visibility_;
  }

 private:
  /// Areas, without faces where there is nothing to fit.
  static std::vector<double> weights(const Surface& surface, const FitTarget& target) {
    std::vector<double> weights(surface.areas().begin(), surface.areas().end());
    for (std::uint32_t f = 0; f < surface.faceCount() && target.hasColor(); ++f) {
      if (target.faceConstant(f)) weights[f] = 0;
    }
    return weights;
  }

  SurfacePoint pointIn(std::size_t stratum, double jitter) const {
    return strata_.at((static_cast<double>(stratum) + jitter) / static_cast<double>(count_));
  }

  /// Parts in which several points are invisible have no samples.
  void leaveOutInvisible() {
    constexpr std::size_t kTries = 4, kAtOnce = 4096;
    const RandomStream random(seed_, streams::kPool);
    std::vector<double> seen(count_);
    parallelFor(count_, kAtOnce, [&](std::size_t begin, std::size_t end) {
      std::vector<SurfacePoint> points;
      for (std::size_t s = begin; s < end; ++s) {
        for (std::size_t n = 0; n < kTries; ++n)
          points.push_back(pointIn(s, random.uniform(kTries * s + n)));
      }
      std::vector<float> visibilities(points.size());
      target_->visibilities(points, visibilities);
      for (std::size_t s = begin; s < end; ++s) {
        const auto first = visibilities.begin() + static_cast<std::ptrdiff_t>(kTries * (s - begin));
        seen[s] = std::accumulate(first, first + kTries, 0.0);
      }
    });
    for (std::uint32_t s = 0; s < count_; ++s) {
      if (seen[s] > 0) visible_.push_back(s);
    }
    // Where a few points find nothing at all, every part has its chance.
    if (visible_.empty()) return;
    const double sum = std::accumulate(seen.begin(), seen.end(), 0.0);
    inverse_visibility_ = static_cast<float>(static_cast<double>(kTries * visible_.size()) / sum);
  }

  const FitTarget* target_;
  std::uint64_t seed_;
  SurfaceStrata strata_;
  std::size_t count_;
  bool masked_ = false;
  std::vector<std::uint32_t> visible_;  // strata that are sampled; empty: all
  float inverse_visibility_ = 1;
};

}  // namespace

std::unique_ptr<SampleSource> makeSamples(const Surface& surface, const FitTarget& target,
                                          const SamplingOptions& options, std::uint64_t seed) {
  if (options.rule == Sampling::kPaper)
    return std::make_unique<StoredSamples>(surface, target, options.pool, seed);
  return std::make_unique<StratifiedSamples>(surface, target, options.pool, seed);
}

}  // namespace heatskin

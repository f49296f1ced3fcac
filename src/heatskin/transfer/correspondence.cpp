#include "heatskin/transfer/correspondence.h"

#include <cmath>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kVotes = 5'000;  // points; the share is then known to one percent
constexpr std::uint64_t kVoteStream = 61;
constexpr std::size_t kPointBlock = 1024;

/// Longest side of every surface.
constexpr double kSide = 2;

/// A face on the other side is chosen only if nothing else is near at all. Finite, so that there always is a
/// nearest point.
constexpr double kOtherSide = 1e4;

/// A part is wound the other way round when its votes say so this clearly: a thin part, whose nearest points
/// may be on its back, stays as it is.
constexpr double kClearVote = -0.5;

/// Below this share, coordinates of the assets cannot be the right ones if others have a larger one. (What is
/// moved and scaled to one size always has something in common.)
constexpr double kPoorShare = 0.5;

}  // namespace

Correspondence::Correspondence(const Surface& from, const Surface& to, double most_apart)
    : from_(&from),
      to_(&to),
      most_apart_(most_apart * kSide),
      query_(std::make_unique<const ClosestPointQuery>(to)) {
  const Similarity asset = from.assetFromSurface();
  const Similarity& onto = to.surfaceFromAsset();
  motion_ = {onto.scale * asset.scale, onto(asset.translation)};
  vote();
  matched_share_ = share();
  if (matched_share_ < kPoorShare) {
    const Similarity moved = motion_;
    motion_ = {};
    vote();
    if (const double other = share(); other > kPoorShare) {
      matched_share_ = other;
    } else {
      motion_ = moved;
      vote();
    }
  }
}

Correspondence::~Correspondence() = default;

void Correspondence::vote() {
  sides_.assign(from_->componentCount(), 1);
  std::vector<double> sums(sides_.size(), 0), counts(sides_.size(), 0);
  const std::vector<SurfacePoint> points = sampleSurface(*from_, kVotes, 0, kVoteStream);
  std::vector<Counterpart> found(points.size());
  find(points, found);
  for (std::size_t i = 0; i < points.size(); ++i) {
    // Only what has no counterpart on its own side, but one on the other, speaks for a part that is turned:
    // the other side of a thin wall is often nearer.
    const std::uint32_t part = from_->components()[points[i].face];
    if (found[i].matched) sums[part] += 1;
    if (!found[i].matched && found[i].distance <= most_apart_) sums[part] -= 1;
    counts[part] += 1;
  }
  for (std::size_t p = 0; p < sides_.size(); ++p) {
    if (counts[p] > 0 && sums[p] / counts[p] < kClearVote) sides_[p] = -1;
  }
}

double Correspondence::share() const {
  const std::vector<SurfacePoint> points = sampleSurface(*from_, kVotes, 1, kVoteStream);
  std::vector<Counterpart> found(points.size());
  find(points, found);
  std::size_t matched = 0;
  for (const Counterpart& c : found)
    matched += c.matched ? 1 : 0;
  return static_cast<double>(matched) / static_cast<double>(points.size());
}

Counterpart Correspondence::find(const SurfacePoint& point) const {
  const Vec3 place = motion_(from_->position(point));
  const Vec3 normal = sides_[from_->components()[point.face]] * from_->frames()[point.face].normal();
  const auto same_side = [&](std::uint32_t face) { return normal.dot(to_->frames()[face].normal()) > 0; };
  ClosestPoint nearest = (*query_)(place);
  if (!same_side(nearest.point.face)) {
    const ClosestPoint other =
        query_->find(place, [&](std::uint32_t face) { return same_side(face) ? 1.0 : kOtherSide; });
    const bool near = (to_->position(other.point) - place).norm() <= most_apart_;
    if (same_side(other.point.face) && near) nearest = other;
  }
  const double distance = (to_->position(nearest.point) - place).norm();
  return {nearest.point, distance, distance <= most_apart_ && same_side(nearest.point.face)};
}

void Correspondence::find(std::span<const SurfacePoint> points, std::span<Counterpart> out) const {
  parallelFor(points.size(), kPointBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = find(points[i]);
  });
}

Vec2 Correspondence::carry(std::uint32_t from_face, std::uint32_t to_face, const Vec2& direction) const {
  const FaceFrame &here = from_->frames()[from_face], &there = to_->frames()[to_face];
  const Vec3 a = sides_[from_->components()[from_face]] * here.normal(), b = there.normal();
  const Vec3 v = here.directionFromFace(direction);
  // The smallest rotation that takes one normal to the other; where they are opposite, the projection does.
  const Vec3 axis = a.cross(b);
  const double cosine = a.dot(b);
  constexpr double kOpposite = -0.999;
  const Vec3 turned =
      cosine > kOpposite ? Vec3(v + axis.cross(v) + axis.cross(axis.cross(v)) / (1 + cosine)) : v;
  return there.directionToFace(turned);
}

}  // namespace heatskin

#include "heatskin/geodesic/walk.h"

#include <cassert>

#include "heatskin/base/parallel.h"
#include "heatskin/geodesic/walk-inl.h"

namespace heatskin {
namespace {

/// Walks per block of a batch: long enough to hide the scheduling, short enough to balance long walks.
constexpr std::size_t kWalksPerBlock = 512;

template <class Faces>
void walkBatch(const Faces& faces, const Surface& surface, std::span<const SurfacePoint> starts,
               std::span<const Vec2> directions, std::span<WalkOutcome> outcomes,
               const WalkOptions& options) {
  assert(starts.size() == directions.size() && starts.size() == outcomes.size());
  parallelFor(outcomes.size(), kWalksPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      outcomes[i] = walk_internal::Walk<Faces>(faces, surface, options).run(starts[i], directions[i]);
    }
  });
}

}  // namespace

WalkOutcome walk(const Surface& surface, const SurfacePoint& start, const Vec2& direction,
                 const WalkOptions& options) {
  const walk_internal::SurfaceFaces faces(surface);
  return walk_internal::Walk<walk_internal::SurfaceFaces>(faces, surface, options).run(start, direction);
}

void walk(const Surface& surface, std::span<const SurfacePoint> starts, std::span<const Vec2> directions,
          std::span<WalkOutcome> outcomes, const WalkOptions& options) {
  walkBatch(walk_internal::SurfaceFaces(surface), surface, starts, directions, outcomes, options);
}

Walker::Walker(const Surface& surface)
    : surface_(&surface), records_(surface.faceCount() <= kMostRecords ? surface.faceCount() : 0) {
  const walk_internal::SurfaceFaces faces(surface);
  parallelFor(records_.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      const auto face = static_cast<std::uint32_t>(f);
      Record& record = records_[f];
      for (std::uint32_t k = 0; k < 3; ++k) {
        const auto corner = faces.corner(face, k);
        record.corner[k][0] = corner.x;
        record.corner[k][1] = corner.y;
        record.across[k] = faces.across(face, k);
        const auto turn = record.across[k] == kNone ? walk_internal::Pair{1, 0} : faces.turn(face, k);
        record.turn[k][0] = turn.x;
        record.turn[k][1] = turn.y;
        record.inverse_length[k] = faces.inverseLength(face, k);
      }
      record.inverse_area = faces.inverseArea(face);
    }
  });
}

WalkOutcome Walker::walk(const SurfacePoint& start, const Vec2& direction, const WalkOptions& options) const {
  if (records_.empty()) return heatskin::walk(*surface_, start, direction, options);
  const walk_internal::RecordFaces faces(records_.data());
  return walk_internal::Walk<walk_internal::RecordFaces>(faces, *surface_, options).run(start, direction);
}

void Walker::walk(std::span<const SurfacePoint> starts, std::span<const Vec2> directions,
                  std::span<WalkOutcome> outcomes, const WalkOptions& options) const {
  if (records_.empty()) return heatskin::walk(*surface_, starts, directions, outcomes, options);
  walkBatch(walk_internal::RecordFaces(records_.data()), *surface_, starts, directions, outcomes, options);
}

}  // namespace heatskin

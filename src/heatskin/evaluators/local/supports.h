#pragma once

// Which faces a kernel reaches, and how its centre and frame look from there (METHOD section 8, paper section
// "Radius-bounded batched development"). A development is a motion of the plane: face coordinates from the
// face coordinates of the kernel's own face at the time of the rebuild.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/base/vec.h"
#include "heatskin/evaluators/local/edge_window.h"
#include "heatskin/evaluators/local/stored_supports.h"
#include "heatskin/evaluators/local/support_table.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// Propagates sources over the surface. Deterministic for any thread count.
class SupportBuilder {
 public:
  /// Of the options, `sight`, `edge_tolerance` and `join_corners` count.
  SupportBuilder(const Surface& surface, const LocalOptions& options);
  ~SupportBuilder();

  /// Fills `table` with every pair of a source and a face it reaches: the face's centroid is closer to the
  /// developed centre than radius + face radius (of a needle, the face itself closer than the radius), and
  /// the straight line there passes the edges it should (edge-window test). Each pair is finalised once, in
  /// the order of distance; with Sight::kCarried, in that of the length of a path that stays in what is
  /// visible. `order` names every source once: the pairs of a face follow it, and an order in which
  /// neighbours stay together is worked off faster. Sources that `table` has from the last call already are
  /// not propagated again. With `stored`, which is about these sources, nothing is propagated: pairs are what
  /// it says. Throws std::bad_alloc when there are more than 2^27 pairs.
  void build(std::vector<SupportSource> sources, std::span<const std::uint32_t> order, SupportTable& table,
             const StoredSupports* stored = nullptr);

  /// The same for a single source, in the order the faces were reached (for tests and the geometry table).
  struct Reached {
    std::uint32_t face;
    Development development;
  };
  std::vector<Reached> propagate(const SupportSource& source) const;

  /// The pairs of a source whose unfolding is known, in the order in which corners are joined: as `order`
  /// says (see StoredSupports::stepsOf()), or the source's own face and then the others by the distance
  /// between their centroids and the centre, steps that come first breaking ties.
  std::vector<Reached> follow(const SupportSource& source, std::span<const UnfoldStep> steps,
                              std::span<const std::uint32_t> order) const;

  /// How a propagation went: every time a face passed on what it sees.
  struct Visit {
    std::uint32_t face;
    std::uint32_t parent;  ///< the visit it came from; kNone: the source's own face
    std::uint8_t edge;     ///< of the parent's face that was crossed
    bool first;            ///< the one that counts: a face's later visits only lead on
    Development development;
  };
  /// The visits behind propagate(), in their order: those marked `first` are what that returns.
  std::vector<Visit> trace(const SupportSource& source) const;

  /// The charts of one source's pairs, with joined corners. Places of a vertex are joined that lie within
  /// 60 degrees of each other, as seen from the source: where the surface closes around something,
  /// opposite ways keep their own.
  std::vector<Chart> joinCorners(const SupportSource& source, std::span<const Reached> pairs) const;

 private:
  /// What the steps across a face's three edges need, one lane per edge: the three are tested at once, and a
  /// neighbour's own record is not touched unless the step succeeds.
  static constexpr std::size_t kNeedles = 3;
  struct alignas(16) Hinges {
    float cosine[4], sine[4], x[4], y[4];  ///< neighbour coordinates from ours
    float ax[4], ay[4];                    ///< where the shared edge begins, in neighbour coordinates
    float ex[4], ey[4];                    ///< the edge as a vector
    float behind[4];                       ///< largest cross product of edge and S that is behind the edge
    float radius[4];                       ///< circumscribed radius of the neighbour around its centroid
    std::uint32_t face[4];  ///< neighbour, or kNone; [kNeedles]: bits of those that are needles

    bool isNeedle(int e) const { return (face[kNeedles] >> e & 1) != 0; }
    Segment edge(int e) const { return {{ax[e], ay[e]}, {ex[e], ey[e]}}; }
    /// A point of our face in neighbour coordinates.
    Point moved(int e, const Point& p) const {
      return {cosine[e] * p.x - sine[e] * p.y + x[e], sine[e] * p.x + cosine[e] * p.y + y[e]};
    }
  };
  /// A face for joinCorners().
  struct Triangle {
    std::uint32_t vertices[3];
    float x[3], y[3];  ///< face coordinates of the corners
  };
  struct Arrival;
  struct SeenArrival;
  struct Steps;
  struct JoinedVertex;
  struct Scratch;

  /// Whether a neighbour that is a needle lies within the radius of the centre, in its coordinates.
  static bool reachesNeedle(const Hinges& hinges, int edge, const Point& center, float radius);
  static Arrival arriveAcross(const Hinges& hinges, int edge, const Development& from, const Point& center);

  void propagateInto(const SupportSource& source, Scratch& scratch, std::vector<Reached>& out) const;
  void followInto(const SupportSource& source, std::span<const UnfoldStep> steps,
                  std::span<const std::uint32_t> order, Scratch& scratch, std::vector<Reached>& out) const;
  static void joinPlaces(const JoinedVertex& vertex, const Vec2f& center, Scratch& scratch);
  void joinCornersInto(const SupportSource& source, std::span<const Reached> pairs, Scratch& scratch,
                       std::vector<Chart>& out) const;
  /// `out` gets what is reached: Reached, or Visit to see the way, too.
  template <Sight kSight, class Out>
  void propagateSeeing(const SupportSource& source, Scratch& scratch, std::vector<Out>& out) const;

  std::vector<Hinges> hinges_;       // [F]
  std::vector<Triangle> triangles_;  // [F] with joined corners, else empty
  std::uint32_t face_count_, vertex_count_;
  Sight sight_;
  float edge_tolerance_;

  /// What `sources` have in common with those of a table.
  struct Matching {
    std::vector<std::uint32_t> renamed;  // [N of the table] number of the same source now, or kNone
    std::vector<std::uint8_t> known;     // [N] whether the table has it
    std::size_t unknown = 0;

    bool sameNumbers() const;
  };
  static Matching match(std::span<const SupportSource> last, std::span<const SupportSource> sources);
  void reach(std::span<const SupportSource> sources, std::span<const std::uint32_t> kernels,
             const StoredSupports* stored, std::vector<SupportTable::Reached>& blocks) const;

  std::uint64_t id_;  ///< tables of other builders are not reused
  std::unique_ptr<PerThread<Scratch>> scratch_;
};

}  // namespace heatskin::local

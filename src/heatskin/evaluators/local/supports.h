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
#include "heatskin/evaluators/method.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// Kernel-face pairs that can be held: numbers of pairs stay far within 32 bits.
inline constexpr std::size_t kMostPairs = std::size_t{1} << 27;

/// Pairs that so many kernels on so many faces can need. Of the kernels that reach a face a query uses some
/// dozens: textures have up to a few hundred per face. Many times that is a mistake, or a small file that
/// asks for a day's work.
inline double justifiedPairs(std::size_t kernels, std::size_t faces) {
  const double few = 1 << 22, per_face = 1024, per_kernel = 16;
  const double justified =
      std::max({few, per_face * static_cast<double>(faces), per_kernel * static_cast<double>(kernels)});
  return std::min(static_cast<double>(kMostPairs), justified);
}

/// Where a propagation starts and how far it goes.
struct SupportSource {
  std::uint32_t face = 0;
  Vec2f center = Vec2f::Zero();  ///< face coordinates
  float radius = 0;              ///< support radius

  bool operator==(const SupportSource&) const = default;
};

/// A motion of the plane: face coordinates = rotation (cosine, sine) * coordinates at the source + (x, y).
/// Four floats, one vector load.
struct Development {
  float cosine, sine, x, y;

  bool operator==(const Development&) const = default;
};

/// Joined corners instead of a motion: a place in the coordinates at the source = (xx, xy; yx, yy) * face
/// coordinates + (x, y). Two vector loads.
struct Chart {
  float xx, xy, yx, yy;
  float x, y, unused_0 = 0, unused_1 = 0;

  bool operator==(const Chart&) const = default;
};

/// Kernel-face pairs grouped by face, as parallel arrays; pairs of face f are [begin[f], begin[f + 1]).
struct SupportTable {
  std::vector<std::uint32_t> begin;       // [F + 1]
  std::vector<std::uint32_t> kernels;     // [P + padding]
  std::vector<Development> developments;  // [P + padding]
  std::vector<Chart> charts;              // [P + padding] with joined corners, else empty

  std::size_t pairCount() const { return begin.empty() ? 0 : begin.back(); }
};

/// Propagates all sources over the surface. Reuses its memory from call to call; deterministic for any thread
/// count.
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
  /// neighbours stay together is worked off faster. Sources that the last call had, too, are not propagated
  /// again. Throws std::bad_alloc when there are more than 2^27
  /// pairs. With `stored`, which is about these sources, nothing is propagated: pairs are what it says.
  void build(std::span<const SupportSource> sources, std::span<const std::uint32_t> order,
             SupportTable& table, const StoredSupports* stored = nullptr);

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

  /// What sources reached, block by block; that of the last call is kept.
  struct Found {
    std::vector<std::vector<Reached>> pairs;
    std::vector<std::vector<Chart>> charts;
    std::vector<std::vector<std::uint32_t>> begin;  // [block][source in block + 1] of its pairs
    std::size_t block_size = 1;
    std::vector<SupportSource> sources;  // in the order of the call
    std::vector<std::uint32_t> places;   // hash table of places in `sources`, or kNone

    void index();
    /// The place of an equal source, or kNone.
    std::uint32_t find(const SupportSource& source) const;
  };
  Found found_, last_found_;
  std::vector<std::uint32_t> block_offsets_;  // [block, F]
  std::unique_ptr<PerThread<Scratch>> scratch_;
};

}  // namespace heatskin::local

#include "heatskin/evaluators/local/support_proxy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/local/simplify.h"

namespace heatskin::local {
namespace {

using ProxyTriangle = std::array<std::uint32_t, 3>;

/// Faces with normals farther apart than this (cosine) look opposite ways. Less than a right angle would
/// split the two sides of an ordinary edge.
constexpr float kOpposite = -0.25f;

/// A point no farther than this from the inside of a face lies on it: no other face can be nearer. Squared,
/// in units of the surface, whose size is 2 or what the caller left it at: of rounding in float32.
constexpr float kOnFace = 1e-12f;

/// Farther than copies usually are; squared.
constexpr float kFar = 1e-6f;

/// Faces with normals nearer than this (cosine) look the same way.
constexpr float kAlike = 0.9f;

/// Parts of a side of a face, between which points are looked at.
constexpr int kParts = 4;

/// Most faces of a pocket.
constexpr std::uint32_t kPocket = 8;

constexpr std::size_t kPointsPerBlock = 1024;

/// A squared distance below this is nearer than `squared`, by more than rounding can make of it: 1e-6 in
/// units of the surface. Points that are nearest to a common side of two faces are equally near to both;
/// every program that follows the rule must then take the same one.
float clearlyNearer(float squared) {
  return squared - 2e-6f * std::sqrt(squared);
}

Vec3f normalOf(const FaceFrame& frame) {
  return frame.normal().cast<float>();
}

}  // namespace

void SupportProxy::clampInto(const Tile& tile, Nearest& nearest) {
  const Vec2f p = nearest.x;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec2f& a = tile.corners[e];
    const Vec2f side = tile.corners[(e + 1) % 3] - a, to = p - a;
    if (side.x() * to.y() - side.y() * to.x() >= 0) continue;
    // Outside of this side: the nearest point of the triangle lies on one of these.
    const float along = std::clamp(to.dot(side) / side.squaredNorm(), 0.0f, 1.0f);
    const Vec2f on_side = a + along * side;
    const float squared = (p - on_side).squaredNorm();
    if (squared < least) {
      least = squared;
      nearest.x = on_side;
    }
  }
  nearest.inside = false;
  nearest.squared += least;
}

SupportProxy::Place SupportProxy::nearestOf(std::span<const std::uint32_t> faces, const Vec3f& x) const {
  std::uint32_t best = faces.front();
  Nearest nearest = inTriangle(tiles_[best], x);
  for (const std::uint32_t face : faces.subspan(1)) {
    const Nearest other = inTriangle(tiles_[face], x);
    if (other.squared < clearlyNearer(nearest.squared)) {
      nearest = other;
      best = face;
    }
  }
  // A point at the border of a face may be nearer to one behind it that is narrow there, and that nobody has
  // met.
  const Vec3f normal = tiles_[best].x_axis.cross(tiles_[best].y_axis);
  for (std::uint32_t from = kNone; from != best && !nearest.inside && nearest.squared > kOnFace;) {
    from = best;
    for (const std::uint32_t face : ringOf(from)) {
      const Tile& tile = tiles_[face];
      const Nearest other = inTriangle(tile, x);
      if (other.squared < clearlyNearer(nearest.squared) &&
          tile.x_axis.cross(tile.y_axis).dot(normal) >= kOpposite) {
        nearest = other;
        best = face;
      }
    }
  }
  return {best, nearest.x};
}

SupportProxy::SupportProxy(Surface proxy) : proxy_(std::move(proxy)), tiles_(proxy_.faceCount()) {
  for (std::size_t f = 0; f < tiles_.size(); ++f) {
    const FaceFrame& frame = proxy_.frames()[f];
    Tile& tile = tiles_[f];
    tile.origin = frame.origin.cast<float>();
    tile.x_axis = frame.x_axis.cast<float>();
    tile.y_axis = frame.y_axis.cast<float>();
    for (std::size_t c = 0; c < 3; ++c)
      tile.corners[c] = proxy_.corners()[f][c].cast<float>();
  }
}

/// The faces of the copy that share a vertex with each of its faces.
void SupportProxy::findRings() {
  const Surface& copy = proxy_;
  std::vector<std::uint32_t> begin(copy.vertexCount() + std::size_t{2}, 0), around(3 * copy.faces().size());
  for (const auto& face : copy.faces()) {
    for (const std::uint32_t v : face)
      ++begin[v + 2];
  }
  for (std::size_t v = 2; v < begin.size(); ++v)
    begin[v] += begin[v - 1];
  for (std::uint32_t f = 0; f < copy.faceCount(); ++f) {
    for (const std::uint32_t v : copy.faces()[f])
      around[begin[v + 1]++] = f;
  }
  ring_begin_.assign(1, 0);
  std::vector<std::uint32_t> ring;
  for (std::uint32_t f = 0; f < copy.faceCount(); ++f) {
    ring.clear();
    for (const std::uint32_t v : copy.faces()[f])
      ring.insert(ring.end(), around.begin() + begin[v], around.begin() + begin[v + 1]);
    std::sort(ring.begin(), ring.end());
    ring.erase(std::unique(ring.begin(), ring.end()), ring.end());
    std::copy_if(ring.begin(), ring.end(), std::back_inserter(rings_),
                 [&](std::uint32_t g) { return g != f; });
    ring_begin_.push_back(static_cast<std::uint32_t>(rings_.size()));
  }
}

double SupportProxy::ringEntries(const Surface& copy) {
  std::vector<double> around(copy.vertexCount(), 0);
  for (const auto& face : copy.faces()) {
    for (const std::uint32_t v : face)
      ++around[v];
  }
  double entries = 0;
  for (const double faces : around)
    entries += faces * faces;
  return entries;
}

std::unique_ptr<SupportProxy> SupportProxy::fromStored(Surface copy, std::vector<std::uint32_t> vertices,
                                                       std::span<const std::uint32_t> begin,
                                                       std::span<const std::uint32_t> faces) {
  std::unique_ptr<SupportProxy> proxy(new SupportProxy(std::move(copy)));
  proxy->vertices_ = std::move(vertices);
  proxy->findRings();
  proxy->entries_.resize(begin.size() - 1);
  for (std::size_t f = 0; f + 1 < begin.size(); ++f) {
    const auto list = faces.subspan(begin[f], begin[f + 1] - begin[f]);
    if (list.size() == 1) {
      proxy->entries_[f] = list[0];
      continue;
    }
    proxy->entries_[f] = kSeveral + static_cast<std::uint32_t>(proxy->lists_.size());
    proxy->lists_.push_back(static_cast<std::uint32_t>(list.size()));
    proxy->lists_.insert(proxy->lists_.end(), list.begin(), list.end());
  }
  return proxy;
}

/// Finds the faces of the copy that serve each face of the surface. The search goes over the surfaces, never
/// through space: it begins at the vertices the copy has kept and spreads from neighbour to neighbour, each
/// starting where its neighbour ended. What is near in space but far on the surface (another layer, the back
/// of a wall, another component) is not seen. Linear, and the same on any number of threads.
class SupportProxy::Mapper {
 public:
  /// `kept[f][c]` is the surface's vertex at corner c of the copy's face f.
  Mapper(const Surface& surface, SupportProxy& proxy, std::span<const ProxyTriangle> kept)
      : surface_(surface), proxy_(proxy), kept_(kept) {}

  /// False where a part of the surface has no part of the copy.
  bool run() {
    proxy_.findRings();
    if (!mapVertices()) return false;
    mapFaces();
    return true;
  }

 private:
  /// How well a face of the copy serves a point: those that do not look the other way come first, then the
  /// nearer ones. Around a vertex that the copy has kept all are equally near: the one that looks most like
  /// the surface comes first, not a needle that stands on end.
  struct Rank {
    bool opposite;
    float squared, cosine;
    bool operator<(const Rank& other) const {
      if (opposite != other.opposite) return other.opposite;
      return squared != other.squared ? squared < other.squared : cosine > other.cosine;
    }
  };

  /// `normal` is a unit vector.
  Rank rank(std::uint32_t face, const Vec3f& x, const Vec3f& normal) const {
    const Tile& tile = proxy_.tiles_[face];
    const float cosine = tile.x_axis.cross(tile.y_axis).dot(normal);
    return {cosine < kOpposite, std::max(kOnFace, inTriangle(tile, x).squared), cosine};
  }

  /// From `face` to better ones around it, until there is none.
  std::uint32_t settle(std::uint32_t face, const Vec3f& x, const Vec3f& normal) const {
    Rank best = rank(face, x, normal);
    const auto look = [&](std::uint32_t other) {
      const Rank there = rank(other, x, normal);
      if (!(there < best)) return;
      best = there;
      face = other;
    };
    for (std::uint32_t from = kNone; from != face;) {
      if (best.squared <= kOnFace && best.cosine > kAlike) return face;
      from = face;
      for (const std::uint32_t near : proxy_.ringOf(from))
        look(near);
      if (face != from || best.squared < kFar) continue;
      // So far away something is in between that looks the other way: a small fold of the copy.
      for (const std::uint32_t near : proxy_.ringOf(from)) {
        for (const std::uint32_t behind : proxy_.ringOf(near))
          look(behind);
      }
    }
    return face;
  }

  /// Pockets that simplification left behind: a few faces with vertices of their own, beside a larger part
  /// of the same component. Nobody is to begin there.
  std::vector<bool> pockets() const {
    const Surface& copy = proxy_.proxy_;
    std::vector<std::uint32_t> component_of_vertex(surface_.vertexCount());
    for (std::size_t f = 0; f < surface_.faces().size(); ++f) {
      for (const std::uint32_t v : surface_.faces()[f])
        component_of_vertex[v] = surface_.components()[f];
    }
    std::vector<std::uint32_t> size(copy.componentCount(), 0), largest(surface_.componentCount(), 0);
    for (const std::uint32_t part : copy.components())
      ++size[part];
    for (std::size_t f = 0; f < kept_.size(); ++f) {
      std::uint32_t& most = largest[component_of_vertex[kept_[f][0]]];
      most = std::max(most, size[copy.components()[f]]);
    }
    std::vector<bool> found(kept_.size());
    for (std::size_t f = 0; f < kept_.size(); ++f) {
      const std::uint32_t faces = size[copy.components()[f]];
      found[f] = faces <= kPocket && faces < largest[component_of_vertex[kept_[f][0]]];
    }
    return found;
  }

  bool mapVertices() {
    face_of_vertex_.assign(surface_.vertexCount(), kNone);
    std::vector<std::uint32_t> level, next;
    const std::vector<bool> pocket = pockets();
    for (std::uint32_t f = 0; f < kept_.size(); ++f) {
      if (pocket[f]) continue;
      for (const std::uint32_t v : kept_[f]) {
        if (face_of_vertex_[v] != kNone) continue;
        face_of_vertex_[v] = f;
        level.push_back(v);
      }
    }
    std::size_t reached = 0;
    for (; !level.empty(); level.swap(next)) {
      parallelFor(level.size(), kPointsPerBlock, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::uint32_t v = level[i];
          face_of_vertex_[v] = settle(face_of_vertex_[v], surface_.positions()[v].cast<float>(),
                                      surface_.vertexNormals()[v].cast<float>());
        }
      });
      reached += level.size();
      next.clear();
      for (const std::uint32_t v : level)
        spread(v, next);
    }
    return reached == surface_.vertexCount();
  }

  /// Neighbours of `v` that nobody has reached begin where it ended.
  void spread(std::uint32_t v, std::vector<std::uint32_t>& next) {
    const auto reach = [&](std::uint32_t w) {
      if (face_of_vertex_[w] != kNone) return;
      face_of_vertex_[w] = face_of_vertex_[v];
      next.push_back(w);
    };
    const std::uint32_t first = surface_.vertexHalfEdge()[v];
    for (std::uint32_t h = first; h != kNone;) {
      const auto& face = surface_.faces()[h / 3];
      reach(face[(h % 3 + 1) % 3]);
      reach(face[(h % 3 + 2) % 3]);
      h = surface_.twins()[h / 3][(h % 3 + 2) % 3];
      if (h == first) break;
    }
  }

  void mapFaces() {
    const std::size_t faces = surface_.faceCount();
    proxy_.entries_.resize(faces);
    std::vector<std::vector<std::uint32_t>> lists(blockCount(faces, kPointsPerBlock));
    parallelBlocks(faces, kPointsPerBlock, [&](std::size_t block, std::size_t begin, std::size_t end) {
      std::vector<std::uint32_t> found;
      for (std::size_t f = begin; f < end; ++f) {
        findServing(static_cast<std::uint32_t>(f), found);
        if (found.size() == 1) {
          proxy_.entries_[f] = found[0];
        } else {
          // The place within the block, for now.
          proxy_.entries_[f] = kSeveral + static_cast<std::uint32_t>(lists[block].size());
          lists[block].push_back(static_cast<std::uint32_t>(found.size()));
          lists[block].insert(lists[block].end(), found.begin(), found.end());
        }
      }
    });
    std::size_t total = 0;
    for (const auto& list : lists)
      total += list.size();
    proxy_.lists_.reserve(total);
    for (std::size_t block = 0; block < lists.size(); ++block) {
      const auto before = static_cast<std::uint32_t>(proxy_.lists_.size());
      const std::size_t end = std::min(faces, (block + 1) * kPointsPerBlock);
      for (std::size_t f = block * kPointsPerBlock; f < end; ++f) {
        if ((proxy_.entries_[f] & kSeveral) != 0) proxy_.entries_[f] += before;
      }
      proxy_.lists_.insert(proxy_.lists_.end(), lists[block].begin(), lists[block].end());
    }
  }

  void findServing(std::uint32_t f, std::vector<std::uint32_t>& found) const {
    const auto& v = surface_.faces()[f];
    found = {face_of_vertex_[v[0]], face_of_vertex_[v[1]], face_of_vertex_[v[2]]};
    Vec3f corners[3], normals[3];
    bool inside = found[0] == found[1] && found[1] == found[2];
    for (std::size_t c = 0; c < 3; ++c) {
      corners[c] = surface_.positions()[v[c]].cast<float>();
      inside = inside && inTriangle(proxy_.tiles_[found[0]], corners[c]).inside;
    }
    if (inside) {
      found.resize(1);
      return;
    }
    for (std::size_t c = 0; c < 3; ++c)
      normals[c] = surface_.vertexNormals()[v[c]].cast<float>();
    // A side's points start from its ends alone: the face beyond it finds the same.
    for (std::size_t e = 0; e < 3; ++e) {
      const std::size_t n = (e + 1) % 3;
      const Vec3f normal = (normals[e] + normals[n]).normalized();
      for (int i = 1; i < kParts; ++i) {
        const float t = static_cast<float>(i) / kParts;
        const Vec3f x = (1 - t) * corners[e] + t * corners[n];
        found.push_back(settle(better(found[e], found[n], x, normal), x, normal));
      }
    }
    const Vec3f normal = normalOf(surface_.frames()[f]);
    const Vec3f centroid = (corners[0] + corners[1] + corners[2]) / 3;
    found.push_back(settle(found.back(), centroid, normal));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    // Beside a rim, corners may have found the back.
    const auto opposite = [&](std::uint32_t face) { return rank(face, centroid, normal).opposite; };
    if (!std::all_of(found.begin(), found.end(), opposite)) std::erase_if(found, opposite);
  }

  std::uint32_t better(std::uint32_t a, std::uint32_t b, const Vec3f& x, const Vec3f& normal) const {
    if (a == b) return a;
    const Rank rank_a = rank(a, x, normal), rank_b = rank(b, x, normal);
    if (rank_a < rank_b) return a;
    return rank_b < rank_a ? b : std::min(a, b);
  }

  const Surface& surface_;
  SupportProxy& proxy_;
  std::span<const ProxyTriangle> kept_;
  std::vector<std::uint32_t> face_of_vertex_;  // [V]
};

SupportProxy::Bytes SupportProxy::bytes(double faces, double vertices, std::size_t proxy_faces, int threads) {
  // A face of the copy: its surface, its tile and its ring. Lists: a few faces have several entries.
  const double copy = 400 * static_cast<double>(proxy_faces), entries = 6 * faces;
  return {std::max(simplifyBytes(faces, vertices, threads), copy + entries + 16 * vertices), copy + entries};
}

std::unique_ptr<SupportProxy> SupportProxy::build(const Surface& surface, std::size_t faces) {
  if (surface.faceCount() <= 2 * faces || faces == 0) return nullptr;
  std::vector<ProxyTriangle> triangles = simplify(surface.positions(), surface.vertexNormals(),
                                                  surface.faces(), surface.totalArea(), faces, kMostError);
  if (triangles.empty() || 2 * triangles.size() > surface.faces().size()) return nullptr;

  // The vertices that are left, numbered in the order of their first use.
  std::vector<Vec3> positions;
  std::vector<std::uint32_t> original;
  {
    std::vector<std::uint32_t> number(surface.vertexCount(), kNone);
    for (ProxyTriangle& triangle : triangles) {
      for (std::uint32_t& v : triangle) {
        if (number[v] == kNone) {
          number[v] = static_cast<std::uint32_t>(positions.size());
          positions.push_back(surface.positions()[v]);
          original.push_back(v);
        }
        v = number[v];
      }
    }
  }
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  options.weld = false;  // what the surface keeps apart at one place stays apart
  auto copy = Surface::build(positions, triangles, options);
  if (!copy) return nullptr;
  std::vector<ProxyTriangle> kept(copy->faceCount());
  for (std::size_t f = 0; f < kept.size(); ++f) {
    const FaceSource& source = copy->sources()[f];
    for (std::size_t c = 0; c < 3; ++c)
      kept[f][c] = original[triangles[source.triangle][source.corners[c]]];
  }
  std::unique_ptr<SupportProxy> proxy(new SupportProxy(std::move(*copy)));
  proxy->vertices_.resize(proxy->surface().vertexCount());
  for (std::size_t f = 0; f < kept.size(); ++f) {
    for (std::size_t c = 0; c < 3; ++c)
      proxy->vertices_[proxy->surface().faces()[f][c]] = kept[f][c];
  }
  if (!Mapper(surface, *proxy, kept).run()) return nullptr;
  return proxy;
}

}  // namespace heatskin::local

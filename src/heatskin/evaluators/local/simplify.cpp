#include "heatskin/evaluators/local/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <meshoptimizer.h>

#include "heatskin/base/hilbert.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/per_thread.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {
namespace {

using MeshTriangle = std::array<std::uint32_t, 3>;
constexpr std::size_t kFloatsEach = 3;

/// Bytes meshoptimizer 0.18 holds for a triangle and for a vertex, ours beside it included.
constexpr double kBytesPerTriangle = 130, kBytesPerVertex = 110;

/// Parts lose no more than this of the error that is allowed: what they keep is simplified once more.
constexpr float kShareOfParts = 0.25f;

/// And flipped edges no more than this.
constexpr float kShareOfFlips = 0.1f;

/// Cells along an axis of the grid that orders triangles, as a power of two.
constexpr int kCellBits = 6;

/// Some triangles with vertices of their own.
struct Piece {
  std::vector<float> positions;         // [3 V]
  std::vector<std::uint32_t> original;  // [V]
  std::vector<unsigned int> indices;    // [3 T]
};

/// Quadrics do not care about the shape of triangles: on plane parts, where every choice costs nothing, they
/// leave needles and triangles without area, along straight edges, too. So the simplifier sees the mesh with
/// shallow waves: large triangles cost something everywhere. What it chooses are vertices of the mesh itself.
class Waves {
 public:
  /// `size` is that of the triangles to come.
  Waves(std::span<const Vec3> positions, std::span<const Vec3> normals, double size)
      : positions_(positions), normals_(normals), height_(kHeight * size), rate_(kRate / size) {}

  Vec3 operator()(std::uint32_t v) const {
    // Six directions, evenly spread (the axes of an icosahedron), with phases that have nothing in common.
    static const std::array<Vec3, 6> kDirections = [] {
      const double golden = 0.5 + 0.5 * std::sqrt(5.0), length = std::sqrt(1 + golden * golden);
      const double a = 1 / length, b = golden / length;
      return std::array<Vec3, 6>{Vec3(0, a, b),  Vec3(0, a, -b), Vec3(a, b, 0),
                                 Vec3(a, -b, 0), Vec3(b, 0, a),  Vec3(b, 0, -a)};
    }();
    double sum = 0, phase = 0;
    for (const Vec3& direction : kDirections)
      sum += std::sin(rate_ * direction.dot(positions_[v]) + (phase += 1));
    return positions_[v] + height_ * sum * normals_[v];
  }

 private:
  static constexpr double kHeight = 0.005, kRate = 1.6;  // a wave is four triangles long

  std::span<const Vec3> positions_, normals_;
  double height_, rate_;
};

/// Numbers of the vertices of a piece, by those of the whole; `number` is all kNone before and after.
template <class At>
void gather(const Waves& waves, std::size_t count, const At& at, std::vector<std::uint32_t>& number,
            Piece& piece) {
  piece.positions.clear();
  piece.original.clear();
  piece.indices.clear();
  piece.indices.reserve(3 * count);
  for (std::size_t t = 0; t < count; ++t) {
    for (const std::uint32_t v : at(t)) {
      if (number[v] == kNone) {
        number[v] = static_cast<std::uint32_t>(piece.original.size());
        piece.original.push_back(v);
        for (const double c : waves(v))
          piece.positions.push_back(static_cast<float>(c));
      }
      piece.indices.push_back(number[v]);
    }
  }
  for (const std::uint32_t v : piece.original)
    number[v] = kNone;
}

/// Appends what is left of a piece to `out`. `error` is a length.
void reduce(Piece& piece, std::size_t target, float error, unsigned int options,
            std::vector<MeshTriangle>& out) {
  const float scale =
      meshopt_simplifyScale(piece.positions.data(), piece.original.size(), kFloatsEach * sizeof(float));
  std::vector<unsigned int> left(piece.indices.size());
  left.resize(meshopt_simplify(left.data(), piece.indices.data(), piece.indices.size(),
                               piece.positions.data(), piece.original.size(), kFloatsEach * sizeof(float),
                               3 * target, scale > 0 ? error / scale : 0.0f, options));
  for (std::size_t i = 0; i + 2 < left.size(); i += 3)
    out.push_back({piece.original[left[i]], piece.original[left[i + 1]], piece.original[left[i + 2]]});
}

/// The triangles' numbers, neighbours in space near each other.
std::vector<std::uint32_t> orderInSpace(std::span<const Vec3> positions,
                                        std::span<const MeshTriangle> triangles, const Vec3& low,
                                        double extent) {
  constexpr std::uint32_t kCells = 1u << kCellBits;
  std::vector<std::uint32_t> keys(triangles.size());
  parallelFor(triangles.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      std::array<std::uint32_t, 3> cell;
      for (std::size_t c = 0; c < 3; ++c) {
        const double at = (positions[triangles[t][0]] - low)[static_cast<Eigen::Index>(c)] / extent * kCells;
        cell[c] = std::min(static_cast<std::uint32_t>(std::max(0.0, at)), kCells - 1);
      }
      keys[t] = static_cast<std::uint32_t>(hilbertIndex(cell, kCellBits));
    }
  });
  std::vector<std::uint32_t> begin((std::size_t{1} << (3 * kCellBits)) + 1, 0), order(triangles.size());
  for (const std::uint32_t key : keys)
    ++begin[key + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::uint32_t t = 0; t < keys.size(); ++t)
    order[begin[keys[t]]++] = t;
  return order;
}

/// Collapsed edges leave fins where they closed a ring of three: two triangles back to back that hang on one
/// edge. Removes such pairs until there are none.
void removeFins(std::vector<MeshTriangle>& triangles) {
  struct Entry {
    MeshTriangle corners;  // ascending
    std::uint32_t triangle;
    bool even;
  };
  for (std::size_t before = 0; before != triangles.size();) {
    before = triangles.size();
    std::vector<Entry> entries;
    entries.reserve(before);
    for (std::uint32_t t = 0; t < before; ++t) {
      MeshTriangle c = triangles[t];
      bool even = true;
      for (const auto& [i, j] : {std::pair(0, 1), {1, 2}, {0, 1}}) {
        if (c[static_cast<std::size_t>(j)] >= c[static_cast<std::size_t>(i)]) continue;
        std::swap(c[static_cast<std::size_t>(i)], c[static_cast<std::size_t>(j)]);
        even = !even;
      }
      entries.push_back({c, t, even});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.corners != b.corners ? a.corners < b.corners : a.triangle < b.triangle;
    });
    std::vector<std::uint8_t> drop(before, 0);
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      if (entries[i].corners != entries[i + 1].corners || entries[i].even == entries[i + 1].even) continue;
      drop[entries[i].triangle] = drop[entries[i + 1].triangle] = 1;
      ++i;
    }
    std::size_t to = 0;
    for (std::size_t t = 0; t < before; ++t) {
      if (drop[t] == 0) triangles[to++] = triangles[t];
    }
    triangles.resize(to);
  }
}

/// Unfoldings go astray over needles. Edges between two triangles that are nearly coplanar are flipped until
/// the angles opposite to them add up to no more than 180 degrees (Delaunay).
class Flipper {
 public:
  /// Flips change the surface by at most `error`, a length.
  Flipper(std::span<const Vec3> positions, std::vector<MeshTriangle>& triangles, double error)
      : positions_(positions), triangles_(triangles), error_(error), twins_(3 * triangles.size(), kNone) {
    edges_.reserve(3 * triangles.size());
    for (std::uint32_t h = 0; h < twins_.size(); ++h) {
      const auto [entry, is_new] = edges_.try_emplace(key(tail(h), head(h)), h);
      if (!is_new) entry->second = kNone;  // twice in this direction: not a plain edge
    }
    for (std::uint32_t h = 0; h < twins_.size(); ++h) {
      const auto here = edges_.find(key(tail(h), head(h))), there = edges_.find(key(head(h), tail(h)));
      if (here->second == h && there != edges_.end()) twins_[h] = there->second;
    }
  }

  void run() {
    std::vector<std::uint32_t> waiting(twins_.size());
    std::iota(waiting.begin(), waiting.end(), 0u);
    std::reverse(waiting.begin(), waiting.end());
    // On a curved surface angles in space may disagree with themselves: an end in any case.
    for (std::size_t left = 10 * twins_.size(); !waiting.empty() && left > 0; --left) {
      const std::uint32_t h = waiting.back();
      waiting.pop_back();
      if (twins_[h] == kNone || !better(h)) continue;
      flip(h);
      for (const std::uint32_t t : {h / 3, twins_[h] / 3})
        waiting.insert(waiting.end(), {3 * t, 3 * t + 1, 3 * t + 2});
    }
  }

 private:
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }
  static std::uint32_t next(std::uint32_t h) { return h % 3 == 2 ? h - 2 : h + 1; }
  std::uint32_t tail(std::uint32_t h) const { return triangles_[h / 3][h % 3]; }
  std::uint32_t head(std::uint32_t h) const { return tail(next(h)); }
  std::uint32_t apex(std::uint32_t h) const { return tail(next(next(h))); }

  /// Whether the other diagonal is better, possible and as near to the surface.
  bool better(std::uint32_t h) const {
    const std::uint32_t c = apex(h), d = apex(twins_[h]);
    const Vec3 &a = positions_[tail(h)], &b = positions_[head(h)], &x = positions_[c], &y = positions_[d];
    // The sine of the sum of the two angles, times lengths: negative above 180 degrees.
    const double cos_c = (a - x).dot(b - x), cos_d = (a - y).dot(b - y);
    const Vec3 n_c = (a - x).cross(b - x), n_d = (b - y).cross(a - y);
    const double sin_c = n_c.norm(), sin_d = n_d.norm();
    constexpr double kClearly = 1e-9;  // of the lengths' product: four points on a circle stay as they are
    if (sin_c * cos_d + cos_c * sin_d > -kClearly * (std::abs(cos_c) + sin_c) * (std::abs(cos_d) + sin_d))
      return false;
    if (c == d || edges_.contains(key(c, d)) || edges_.contains(key(d, c))) return false;
    const Vec3 across = (b - a).cross(y - x);
    const double length = across.norm();
    if (!(length > 0) || std::abs(across.dot(x - a)) > error_ * length) return false;
    // The new triangles look the way the old ones do.
    constexpr double kSameWay = 0.9, kFlat = 1e-3;
    const Vec3 normal = (n_c + n_d).normalized();
    const Vec3 first = (a - x).cross(y - x), second = (b - y).cross(x - y);
    const auto same = [&](const Vec3& n) { return n.dot(normal) > kSameWay * n.norm(); };
    // One without area looks nowhere.
    const double none = kFlat * ((b - a).squaredNorm());
    return same(first) && same(second) && (sin_c < none || same(n_c)) && (sin_d < none || same(n_d));
  }

  /// (a, b, c) and (b, a, d) become (c, a, d) and (d, b, c); the new edge is the half-edge h again.
  void flip(std::uint32_t h) {
    const std::uint32_t g = twins_[h];
    const std::uint32_t a = tail(h), b = head(h), c = apex(h), d = apex(g);
    const std::uint32_t bc = twins_[next(h)], ca = twins_[next(next(h))];
    const std::uint32_t ad = twins_[next(g)], db = twins_[next(next(g))];
    edges_.erase(key(a, b));
    edges_.erase(key(b, a));
    // h: d -> c, c -> a, a -> d; g: c -> d, d -> b, b -> c.
    const auto set = [&](std::uint32_t first, std::uint32_t u, std::uint32_t v, std::uint32_t w,
                         std::uint32_t twin_vw, std::uint32_t twin_wu) {
      triangles_[first / 3][first % 3] = u;
      triangles_[first / 3][next(first) % 3] = v;
      triangles_[first / 3][next(next(first)) % 3] = w;
      link(next(first), twin_vw);
      link(next(next(first)), twin_wu);
      edges_[key(v, w)] = next(first);
      edges_[key(w, u)] = next(next(first));
    };
    set(h, d, c, a, ca, ad);
    set(g, c, d, b, db, bc);
    edges_[key(d, c)] = h;
    edges_[key(c, d)] = g;
  }

  void link(std::uint32_t h, std::uint32_t twin) {
    twins_[h] = twin;
    if (twin != kNone) twins_[twin] = h;
  }

  std::span<const Vec3> positions_;
  std::vector<MeshTriangle>& triangles_;
  double error_;
  std::vector<std::uint32_t> twins_;
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  // half-edges by their ends
};

}  // namespace

std::vector<MeshTriangle> simplify(std::span<const Vec3> positions, std::span<const Vec3> normals,
                                   std::span<const MeshTriangle> triangles, double area, std::size_t target,
                                   float most_error, const SimplifyOptions& options) {
  Vec3 low = positions[0], high = low;
  for (const Vec3& x : positions) {
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
  const double extent = (high - low).maxCoeff();
  if (!(extent > 0)) return {};
  const auto error = static_cast<float>(static_cast<double>(most_error) * extent);

  // An equilateral triangle with sides h has the area 0.43 h^2.
  const Waves waves(positions, normals, std::sqrt(area / (0.43 * static_cast<double>(target))));

  std::vector<MeshTriangle> reduced;
  if (triangles.size() > options.at_once) {
    // In parts, whose borders stay as they are, down to about as many triangles as one part has.
    const std::vector<std::uint32_t> order = orderInSpace(positions, triangles, low, extent);
    const std::size_t parts = (triangles.size() + options.part - 1) / options.part;
    std::vector<std::vector<MeshTriangle>> left(parts);
    struct Scratch {
      std::vector<std::uint32_t> number;
      Piece piece;
    };
    const PerThread<Scratch> scratch;
    parallelFor(parts, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t p = first; p < last; ++p) {
        Scratch& mine = scratch.mine();
        mine.number.resize(positions.size(), kNone);
        const std::size_t begin = p * triangles.size() / parts, end = (p + 1) * triangles.size() / parts;
        gather(
            waves, end - begin, [&](std::size_t t) { return triangles[order[begin + t]]; }, mine.number,
            mine.piece);
        const std::size_t share = std::max(options.part, 4 * target) / parts;
        reduce(mine.piece, share, kShareOfParts * error, meshopt_SimplifyLockBorder, left[p]);
      }
    });
    for (std::vector<MeshTriangle>& part : left) {
      reduced.insert(reduced.end(), part.begin(), part.end());
      std::vector<MeshTriangle>().swap(part);
    }
    triangles = reduced;
  }
  std::vector<MeshTriangle> out;
  std::vector<std::uint32_t> number(positions.size(), kNone);
  Piece piece;
  gather(
      waves, triangles.size(), [&](std::size_t t) { return triangles[t]; }, number, piece);
  reduce(piece, target, error, 0, out);
  removeFins(out);
  Flipper(positions, out, static_cast<double>(kShareOfFlips * error)).run();
  return out;
}

double simplifyBytes(double triangles, double vertices, int threads, const SimplifyOptions& options) {
  const auto piece = [&](double count) {
    return kBytesPerTriangle * count + kBytesPerVertex * count * std::min(1.0, vertices / triangles);
  };
  if (triangles <= static_cast<double>(options.at_once)) return piece(triangles) + 4 * vertices;
  return 8 * triangles + threads * (4 * vertices + piece(static_cast<double>(options.part)));
}

}  // namespace heatskin::local

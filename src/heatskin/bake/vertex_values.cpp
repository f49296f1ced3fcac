#include "heatskin/bake/vertex_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/plural.h"
#include "heatskin/io/color_space.h"
#include "heatskin/product/fallback_colors.h"
#include "heatskin/rendering/render.h"

namespace heatskin {
namespace {

/// A part of a triangle: corners in the face it lies on.
struct Piece {
  std::uint32_t primitive = 0, triangle = 0, face = 0;
  std::array<std::uint32_t, 3> points = {};  ///< numbers of the corners, the same for all faces around them
  std::array<Vec3, 3> corners;               ///< barycentric
  std::uint8_t wanted = 0;                   ///< edges, one bit each, that should be cut
};

/// Cuttings of an edge in two: an edge then has 1024 parts.
constexpr std::size_t kMostRounds = 10;

/// Points inside pieces over the whole surface, and in one piece at most.
constexpr double kProbes = 500'000;
constexpr std::size_t kMostProbes = 200;

using EdgeKey = std::uint64_t;

EdgeKey edgeOf(std::uint32_t a, std::uint32_t b) {
  return (EdgeKey{std::min(a, b)} << 32) | std::max(a, b);
}

/// Colour (linear) and alpha, then the other channels but normals.
class PointValues {
 public:
  PointValues(const KernelTexture& texture, const Appearance& appearance)
      : texture_(texture), appearance_(appearance) {
    for (const ChannelGroup& group : texture.layout().groups()) {
      if (group.name == "base_color") {
        color_ = &group;
      } else if (group.name == "alpha") {
        alpha_ = &group;
      } else if (!group.isTangent() && group.name != "object_normal") {
        others_.push_back(&group);
      }
    }
    numbers_ = 4;
    for (const ChannelGroup* group : others_)
      numbers_ += group->count;
  }

  std::size_t numbers() const { return numbers_; }
  const std::vector<const ChannelGroup*>& others() const { return others_; }

  std::vector<float> at(std::span<const SurfacePoint> points) const {
    std::vector<float> out(points.size() * numbers_);
    std::vector<float> values;
    const std::size_t channels = texture_.layout().size();
    for (std::size_t first = 0; first < points.size(); first += kColorBatch) {
      const std::size_t count = std::min(kColorBatch, points.size() - first);
      values.resize(count * channels);
      texture_.values(points.subspan(first, count), values);
      for (std::size_t i = 0; i < count; ++i) {
        const float* row = values.data() + i * channels;
        float* to = out.data() + (first + i) * numbers_;
        for (std::size_t c = 0; c < 3; ++c)
          *to++ = color_ != nullptr ? linearFromSrgb(row[color_->first + c]) : 1.0f;
        *to++ = alpha_ != nullptr ? row[alpha_->first] : appearance_.alpha(points[first + i]);
        for (const ChannelGroup* group : others_)
          to = std::copy_n(row + group->first, group->count, to);
      }
    }
    return out;
  }

 private:
  const KernelTexture& texture_;
  const Appearance& appearance_;
  const ChannelGroup* color_ = nullptr;
  const ChannelGroup* alpha_ = nullptr;
  std::vector<const ChannelGroup*> others_;
  std::size_t numbers_ = 0;
};

/// Difference of two linear colours in 8-bit sRGB levels.
double levels(const float* a, const float* b) {
  double most = 0;
  for (int c = 0; c < 3; ++c)
    most = std::max(most, 255.0 * std::abs(static_cast<double>(srgbFromLinear(a[c]) - srgbFromLinear(b[c]))));
  return most;
}

class MeshCutter {
 public:
  MeshCutter(const Product& product, const PointValues& values, const std::vector<BakedPrimitive>& primitives,
             const VertexBakeOptions& options)
      : surface_(*product.surface), values_(values), options_(options) {
    const Surface& surface = *product.surface;
    next_point_ = surface.vertexCount();
    for (std::uint32_t i = 0; i < primitives.size(); ++i) {
      const bool fixed = !options.fixed.empty() && options.fixed[i] != 0;
      for (std::uint32_t t = 0; t < primitives[i].face_of_triangle.size(); ++t) {
        const std::uint32_t face = primitives[i].face_of_triangle[t];
        if (face == kNone) continue;
        Piece piece;
        piece.primitive = i;
        piece.triangle = t;
        piece.face = face;
        piece.points = surface.faces()[face];
        piece.corners = {Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ()};
        pieces_.push_back(piece);
        for (std::size_t e = 0; fixed && e < 3; ++e)
          fixed_.insert(edgeOf(piece.points[e], piece.points[(e + 1) % 3]));
      }
    }
  }

  /// Cuts until nothing is wanted or a limit is met; says how many rounds that took.
  std::size_t run(std::vector<Notice>& notices) {
    if (options_.max_error <= 0) return 0;
    judge(0);
    for (std::size_t round = 0;; ++round) {
      std::unordered_set<EdgeKey> cut;
      for (const Piece& piece : pieces_) {
        for (std::size_t e = 0; e < 3; ++e) {
          const EdgeKey edge = edgeOf(piece.points[e], piece.points[(e + 1) % 3]);
          if ((piece.wanted >> e & 1) != 0 && !fixed_.contains(edge)) cut.insert(edge);
        }
      }
      if (cut.empty()) return round;
      if (round == kMostRounds || pieces_.size() + 3 * cut.size() > options_.max_faces) {
        notices.push_back({"error_bound", fmt::format("the mesh has {} triangles and is not cut any finer: "
                                                      "colours are off by more than {:g} levels in places",
                                                      grouped(pieces_.size()), options_.max_error)});
        return round;
      }
      const std::vector<Piece> before = std::move(pieces_);
      pieces_.clear();
      // What is cut changes; the rest keeps its place in front, judged already.
      std::vector<Piece> fresh;
      for (const Piece& piece : before)
        split(piece, cut, fresh);
      const std::size_t first = pieces_.size();
      pieces_.insert(pieces_.end(), fresh.begin(), fresh.end());
      judge(first);
    }
  }

  /// In the order of their triangles.
  std::vector<Piece> take() {
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return a.primitive != b.primitive ? a.primitive < b.primitive : a.triangle < b.triangle;
    });
    return std::move(pieces_);
  }

 private:
  /// Which edges of the pieces from `first` on should be cut.
  void judge(std::size_t first) {
    constexpr std::size_t kAtOnce = 8192;
    std::vector<SurfacePoint> points;
    std::vector<std::size_t> firsts;  // of the points inside a piece
    for (std::size_t begin = first; begin < pieces_.size(); begin += kAtOnce) {
      const std::size_t end = std::min(begin + kAtOnce, pieces_.size());
      points.clear();
      firsts.clear();
      for (std::size_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[i];
        for (std::size_t c = 0; c < 3; ++c)
          points.push_back({piece.face, piece.corners[c]});
        for (std::size_t e = 0; e < 3; ++e)
          points.push_back({piece.face, 0.5 * (piece.corners[e] + piece.corners[(e + 1) % 3])});
        points.push_back({piece.face, (piece.corners[0] + piece.corners[1] + piece.corners[2]) / 3});
        firsts.push_back(points.size());
        for (std::size_t k = 0; k < probesIn(piece); ++k)
          points.push_back({piece.face, inside(piece, probe(k))});
      }
      const std::vector<float> found = values_.at(points);
      const std::size_t n = values_.numbers();
      std::size_t next = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const float* row = found.data() + (firsts[i - begin] - 7) * n;
        next = firsts[i - begin];
        Piece& piece = pieces_[i];
        piece.wanted = 0;
        std::array<float, 3> mean = {0, 0, 0}, middle;
        for (std::size_t e = 0; e < 3; ++e) {
          const float *a = row + e * n, *b = row + (e + 1) % 3 * n;
          for (std::size_t c = 0; c < 3; ++c) {
            middle[c] = 0.5f * (a[c] + b[c]);
            mean[c] += a[c] / 3;
          }
          if (levels(middle.data(), row + (3 + e) * n) > options_.max_error)
            piece.wanted = static_cast<std::uint8_t>(piece.wanted | 1u << e);
        }
        if (levels(mean.data(), row + 6 * n) > options_.max_error) piece.wanted = 7;
        for (std::size_t k = 0; k < probesIn(piece) && piece.wanted != 7; ++k) {
          const Vec3 at = probe(k);
          for (std::size_t c = 0; c < 3; ++c)
            middle[c] = static_cast<float>(at[0]) * row[c] + static_cast<float>(at[1]) * row[n + c] +
                        static_cast<float>(at[2]) * row[2 * n + c];
          if (levels(middle.data(), found.data() + (next + k) * n) > options_.max_error) piece.wanted = 7;
        }
      }
    }
  }

  /// Points inside a piece that are looked at: what is small beside a large face is not to be missed.
  std::size_t probesIn(const Piece& piece) const {
    const Vec3 a = piece.corners[1] - piece.corners[0], b = piece.corners[2] - piece.corners[0];
    const double part = std::abs(a.y() * b.z() - a.z() * b.y());  // of the face
    const double share = part * surface_.areas()[piece.face] / surface_.totalArea();
    return static_cast<std::size_t>(std::min(share * kProbes, static_cast<double>(kMostProbes)));
  }

  /// The k-th of evenly spread points of a triangle (Roberts' R2 sequence, folded).
  static Vec3 probe(std::size_t k) {
    constexpr double kFirst = 0.7548776662466927, kSecond = 0.5698402909980532;
    double u = std::fmod(0.5 + kFirst * static_cast<double>(k + 1), 1.0),
           v = std::fmod(0.5 + kSecond * static_cast<double>(k + 1), 1.0);
    if (u + v > 1) {
      u = 1 - u;
      v = 1 - v;
    }
    return {1 - u - v, u, v};
  }

  static Vec3 inside(const Piece& piece, const Vec3& at) {
    return at[0] * piece.corners[0] + at[1] * piece.corners[1] + at[2] * piece.corners[2];
  }

  std::uint32_t middleOf(std::uint32_t a, std::uint32_t b) {
    const auto [entry, is_new] = middles_.try_emplace(edgeOf(a, b), next_point_);
    if (is_new) ++next_point_;
    return entry->second;
  }

  void split(const Piece& piece, const std::unordered_set<EdgeKey>& cut, std::vector<Piece>& fresh) {
    std::array<bool, 3> marked;
    int count = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      marked[e] = cut.contains(edgeOf(piece.points[e], piece.points[(e + 1) % 3]));
      count += marked[e] ? 1 : 0;
    }
    if (count == 0) {
      pieces_.push_back(piece);
      pieces_.back().wanted = 0;
      return;
    }
    // Corners 0, 1, 2 and the middles 3, 4, 5 of the edges after them.
    std::array<Vec3, 6> at;
    std::array<std::uint32_t, 6> number{};
    for (std::size_t c = 0; c < 3; ++c) {
      at[c] = piece.corners[c];
      number[c] = piece.points[c];
      at[3 + c] = 0.5 * (piece.corners[c] + piece.corners[(c + 1) % 3]);
      if (marked[c]) number[3 + c] = middleOf(piece.points[c], piece.points[(c + 1) % 3]);
    }
    const auto add = [&](std::size_t a, std::size_t b, std::size_t c) {
      Piece child = piece;
      child.points = {number[a], number[b], number[c]};
      child.corners = {at[a], at[b], at[c]};
      fresh.push_back(child);
    };
    if (count == 3) {
      add(0, 3, 5);
      add(3, 1, 4);
      add(5, 4, 2);
      add(3, 4, 5);
      return;
    }
    // Turned so that the edge after corner a is cut, and the one before it is not, or both.
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
      if (count == 1 && marked[a]) {
        add(a, 3 + a, c);
        add(3 + a, b, c);
        return;
      }
      if (count == 2 && marked[a] && marked[b]) {
        add(3 + a, b, 3 + b);
        add(a, 3 + a, 3 + b);
        add(a, 3 + b, c);
        return;
      }
    }
  }

  const Surface& surface_;
  const PointValues& values_;
  const VertexBakeOptions& options_;
  std::vector<Piece> pieces_;
  std::unordered_set<EdgeKey> fixed_;
  std::unordered_map<EdgeKey, std::uint32_t> middles_;
  std::uint32_t next_point_ = 0;
};

/// Blends of file corners as a key: vertices of one place and one origin are one.
using BlendKey = std::array<std::pair<std::uint32_t, float>, 3>;

BlendKey keyOf(const VertexBlend& vertex) {
  BlendKey key;
  for (std::size_t k = 0; k < 3; ++k)
    key[k] = {vertex.weight[k] != 0 ? vertex.from[k] : kNone, vertex.weight[k]};
  std::sort(key.begin(), key.end());
  return key;
}

/// The corner of a piece in terms of the vertices of its file triangle.
VertexBlend blendOf(const Primitive& primitive, const FaceSource& source, const Vec3& barycentric) {
  VertexBlend vertex;
  std::array<std::pair<float, std::uint32_t>, 3> parts;
  for (std::size_t c = 0; c < 3; ++c)
    parts[c] = {static_cast<float>(barycentric[static_cast<Eigen::Index>(c)]),
                primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]]};
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (std::size_t k = 0; k < 3; ++k) {
    vertex.weight[k] = parts[k].first;
    vertex.from[k] = parts[k].first != 0 ? parts[k].second : parts[0].second;
  }
  return vertex;
}

std::string attributeName(const ChannelGroup& group) {
  std::string name = "_";
  for (const char c : group.name)
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// Attributes of rows of PointValues.
std::vector<VertexAttribute> attributesOf(const PointValues& values, std::span<const float> rows) {
  std::vector<VertexAttribute> attributes(1);
  attributes[0].name = "COLOR_0";
  attributes[0].components = 4;
  attributes[0].normalized16 = true;
  std::size_t first = 4;
  for (const ChannelGroup* group : values.others()) {
    VertexAttribute& attribute = attributes.emplace_back();
    attribute.name = attributeName(*group);
    attribute.components = static_cast<int>(group->count);
  }
  const std::size_t n = values.numbers();
  for (std::size_t v = 0; v < rows.size() / n; ++v) {
    const float* row = rows.data() + v * n;
    attributes[0].rows.insert(attributes[0].rows.end(), row, row + 4);
    first = 4;
    for (std::size_t a = 1; a < attributes.size(); ++a) {
      const auto count = static_cast<std::size_t>(attributes[a].components);
      attributes[a].rows.insert(attributes[a].rows.end(), row + first, row + first + count);
      first += count;
    }
  }
  return attributes;
}

/// Means over faces; every triangle gets corners of its own.
std::vector<VertexAttribute> faceValues(const Primitive& primitive, const PointValues& values,
                                        BakedPrimitive& baked) {
  // The middles of the 16 parts of a face that is halved twice.
  std::vector<Vec3> places;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; i + j < 4; ++j) {
      places.emplace_back((3 - i - j + 1.0 / 3) / 4, (i + 1.0 / 3) / 4, (j + 1.0 / 3) / 4);
      if (i + j < 3) places.emplace_back((2 - i - j + 2.0 / 3) / 4, (i + 2.0 / 3) / 4, (j + 2.0 / 3) / 4);
    }
  }
  const std::size_t n = values.numbers();
  std::vector<float> rows;
  std::vector<SurfacePoint> points;
  constexpr std::size_t kAtOnce = 4096;
  const std::size_t triangles = baked.face_of_triangle.size();
  for (std::size_t begin = 0; begin < triangles; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, triangles);
    points.clear();
    for (std::size_t t = begin; t < end; ++t) {
      const std::uint32_t face = baked.face_of_triangle[t] == kNone ? 0 : baked.face_of_triangle[t];
      for (const Vec3& place : places)
        points.push_back({face, place});
    }
    const std::vector<float> found = values.at(points);
    for (std::size_t t = begin; t < end; ++t) {
      std::vector<float> mean(n, 0.0f);
      for (std::size_t k = 0; k < places.size(); ++k) {
        for (std::size_t c = 0; c < n; ++c)
          mean[c] += found[((t - begin) * places.size() + k) * n + c] / static_cast<float>(places.size());
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = primitive.triangles[3 * t + c];
        VertexBlend vertex;
        vertex.from = {v, v, v};
        baked.triangles.push_back(static_cast<std::uint32_t>(baked.vertices.size()));
        baked.vertices.push_back(vertex);
        rows.insert(rows.end(), mean.begin(), mean.end());
      }
    }
  }
  return attributesOf(values, rows);
}

}  // namespace

Result<VertexBake> bakeVertexValues(const Product& product, const KernelTexture& texture,
                                    const Appearance& appearance, std::vector<BakedPrimitive>& primitives,
                                    const VertexBakeOptions& options) {
  VertexBake out;
  const PointValues values(texture, appearance);
  const auto primitiveOf = [&](const BakedPrimitive& baked) -> const Primitive& {
    return product.asset.meshes[baked.mesh].primitives[baked.primitive];
  };
  for (BakedPrimitive& baked : primitives) {
    baked.vertices.clear();
    baked.triangles.clear();
  }
  if (options.per_face) {
    for (BakedPrimitive& baked : primitives)
      out.attributes.push_back(faceValues(primitiveOf(baked), values, baked));
    return out;
  }

  MeshCutter cutter(product, values, primitives, options);
  out.rounds = cutter.run(out.notices);
  const std::vector<Piece> pieces = cutter.take();
  // Where no edge is cut, colours around a vertex count, not at it.
  Asset around = product.asset;
  if (options.max_error <= 0) {
    for (const BakedPrimitive& baked : primitives) {
      Primitive& primitive = around.meshes[baked.mesh].primitives[baked.primitive];
      if (primitive.colors.empty()) primitive.colors.assign(primitive.positions.size(), Vec4f::Ones());
    }
    setFallbackColors(texture, around);
  }
  const std::size_t n = values.numbers();
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < primitives.size(); ++i) {
    BakedPrimitive& baked = primitives[i];
    const Primitive& primitive = primitiveOf(baked);
    std::map<BlendKey, std::uint32_t> known;
    std::vector<double> sums;
    std::vector<double> counts;
    const auto vertexOf = [&](const VertexBlend& vertex) {
      const auto [entry, is_new] =
          known.try_emplace(keyOf(vertex), static_cast<std::uint32_t>(baked.vertices.size()));
      if (is_new) {
        baked.vertices.push_back(vertex);
        sums.resize(sums.size() + n, 0.0);
        counts.push_back(0);
      }
      return entry->second;
    };
    std::vector<SurfacePoint> points;
    std::vector<std::uint32_t> of_point;
    for (; next < pieces.size() && pieces[next].primitive == i; ++next) {
      const Piece& piece = pieces[next];
      const FaceSource& source = product.surface->sources()[piece.face];
      const bool swapped = (source.corners[1] + 3 - source.corners[0]) % 3 == 2;
      for (const std::size_t c :
           swapped ? std::array<std::size_t, 3>{0, 2, 1} : std::array<std::size_t, 3>{0, 1, 2}) {
        const std::uint32_t v = vertexOf(blendOf(primitive, source, piece.corners[c]));
        baked.triangles.push_back(v);
        points.push_back({piece.face, piece.corners[c]});
        of_point.push_back(v);
      }
    }
    const std::vector<float> found = values.at(points);
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t c = 0; c < n; ++c)
        sums[of_point[p] * n + c] += static_cast<double>(found[p * n + c]);
      counts[of_point[p]] += 1;
    }
    // Triangles that the surface does not have.
    for (std::size_t t = 0; t < baked.face_of_triangle.size(); ++t) {
      if (baked.face_of_triangle[t] != kNone) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        VertexBlend vertex;
        const std::uint32_t v = primitive.triangles[3 * t + c];
        vertex.from = {v, v, v};
        baked.triangles.push_back(vertexOf(vertex));
      }
    }
    const Primitive& surroundings = around.meshes[baked.mesh].primitives[baked.primitive];
    std::vector<float> rows(sums.size(), 1.0f);
    for (std::size_t v = 0; v < baked.vertices.size(); ++v) {
      for (std::size_t c = 0; counts[v] > 0 && c < n; ++c)
        rows[v * n + c] = static_cast<float>(sums[v * n + c] / counts[v]);
      if (options.max_error > 0 || surroundings.colors.empty()) continue;
      const Vec4f& color = surroundings.colors[baked.vertices[v].from[0]];
      for (std::size_t c = 0; c < 3; ++c)
        rows[v * n + c] = color[static_cast<Eigen::Index>(c)];
    }
    out.attributes.push_back(attributesOf(values, rows));
  }
  return out;
}

}  // namespace heatskin

#include "heatskin/rendering/atlas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/atlas_rows.h"
#include "heatskin/rendering/raster_core.h"
#include "heatskin/rendering/repeated_face.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

constexpr std::size_t kAtlasRows = 8;
constexpr std::size_t kAtlasFaces = 4096;

/// Beyond, float texture coordinates have no fraction left at any atlas size.
constexpr double kMaxUv = 1 << 23;

enum class FaceKind : std::uint8_t { kDrawn, kExcluded, kNoUvs, kNoArea };

/// A face in texture coordinates, not yet moved into the unit square, and the unit squares it touches.
struct Chart {
  std::array<Vec2, 3> uv;
  int first_u = 0, last_u = 0, first_v = 0, last_v = 0;
  /// Wider or higher than a unit square: not drawn square by square. The others touch at most four squares.
  bool repeated = false;
};

void squares(double low, double high, int& first, int& last) {
  first = static_cast<int>(std::floor(low));
  // A face that ends exactly at a border does not reach into the next square.
  last = std::max(first, static_cast<int>(std::ceil(high)) - 1);
}

FaceKind chartOf(std::uint32_t face, const FaceUvs& uvs, const std::vector<std::uint8_t>& include,
                 Chart& chart) {
  if (!include.empty() && (face >= include.size() || include[face] == 0)) return FaceKind::kExcluded;
  std::array<Vec2f, 3> corners;
  if (!uvs(face, corners)) return FaceKind::kNoUvs;
  for (std::size_t c = 0; c < 3; ++c) {
    chart.uv[c] = corners[c].cast<double>();
    // Written so that not-a-number fails too.
    if (!(chart.uv[c].cwiseAbs().maxCoeff() <= kMaxUv) || !chart.uv[c].allFinite()) return FaceKind::kNoUvs;
  }
  if (cross2(chart.uv[1] - chart.uv[0], chart.uv[2] - chart.uv[0]) == 0) return FaceKind::kNoArea;
  const Vec2 low = chart.uv[0].cwiseMin(chart.uv[1]).cwiseMin(chart.uv[2]);
  const Vec2 high = chart.uv[0].cwiseMax(chart.uv[1]).cwiseMax(chart.uv[2]);
  squares(low.x(), high.x(), chart.first_u, chart.last_u);
  squares(low.y(), high.y(), chart.first_v, chart.last_v);
  chart.repeated = (high - low).maxCoeff() > 1;
  return FaceKind::kDrawn;
}

/// A face that repeats the texture, on the same grid as the others. Nothing if it has no area there.
std::optional<raster::RepeatedFace> repeatedFace(std::uint32_t face, const Chart& chart, int width,
                                                 int height) {
  std::array<Vec2, 3> corners;
  constexpr auto kGrid = static_cast<double>(raster::kSubpixels);
  for (std::size_t c = 0; c < 3; ++c) {
    corners[c] = {static_cast<double>(raster::snap(chart.uv[c].x() * width)) / kGrid,
                  static_cast<double>(raster::snap(chart.uv[c].y() * height)) / kGrid};
  }
  if (cross2(corners[1] - corners[0], corners[2] - corners[0]) == 0) return std::nullopt;
  return raster::RepeatedFace(face, corners, width, height);
}

/// Snapped corners in the unit square (u, v). Moving happens on the grid, so that neighbouring faces agree to
/// the bit wherever they are moved to.
void snappedCorners(const Chart& chart, int u, int v, int width, int height, std::array<std::int64_t, 3>& x,
                    std::array<std::int64_t, 3>& y) {
  for (std::size_t c = 0; c < 3; ++c) {
    x[c] = raster::snap(chart.uv[c].x() * width) - std::int64_t{u} * width * raster::kSubpixels;
    y[c] = raster::snap(chart.uv[c].y() * height) - std::int64_t{v} * height * raster::kSubpixels;
  }
}

/// Barycentric coordinates of a point, or of the nearest edge point if snapping let it fall outside.
Vec3 barycentric2(const std::array<Vec2, 3>& corners, const Vec2& p, double* distance2) {
  const double area = cross2(corners[1] - corners[0], corners[2] - corners[0]);
  const double b1 = cross2(p - corners[0], corners[2] - corners[0]) / area;
  const double b2 = cross2(corners[1] - corners[0], p - corners[0]) / area;
  const double b0 = 1 - b1 - b2;
  *distance2 = 0;
  if (b0 >= 0 && b1 >= 0 && b2 >= 0) return {b0, b1, b2};
  Vec3 result(1, 0, 0);
  *distance2 = std::numeric_limits<double>::infinity();
  for (std::size_t e = 0; e < 3; ++e) {
    const std::size_t f = (e + 1) % 3;
    const Vec2 way = corners[f] - corners[e];
    const double length2 = way.squaredNorm();
    const double s = length2 > 0 ? std::clamp((p - corners[e]).dot(way) / length2, 0.0, 1.0) : 0;
    const double d2 = (corners[e] + s * way - p).squaredNorm();
    if (d2 < *distance2) {
      *distance2 = d2;
      result = Vec3::Zero();
      result[static_cast<Eigen::Index>(e)] = 1 - s;
      result[static_cast<Eigen::Index>(f)] = s;
    }
  }
  return result;
}

/// The winner at a texel, among the unit squares its face was drawn in: the first that holds the point, or
/// the nearest one.
Vec3 texelBarycentric(std::uint32_t face, const Chart& chart, int x, int y, int width, int height) {
  Vec3 best(1, 0, 0);
  double best_distance2 = std::numeric_limits<double>::infinity();
  if (chart.repeated) {
    const auto repeated = repeatedFace(face, chart, width, height);
    const std::optional<Vec2> place = repeated ? repeated->place(x, y) : std::nullopt;
    if (!place) return best;
    return barycentric2(chart.uv, {place->x() / width, place->y() / height}, &best_distance2);
  }
  for (int v = chart.first_v; v <= chart.last_v; ++v) {
    for (int u = chart.first_u; u <= chart.last_u; ++u) {
      const Vec2 p(u + (x + 0.5) / width, v + (y + 0.5) / height);
      double distance2 = 0;
      const Vec3 candidate = barycentric2(chart.uv, p, &distance2);
      if (distance2 < best_distance2) {
        best_distance2 = distance2;
        best = candidate;
      }
      if (distance2 == 0) return best;
    }
  }
  return best;
}

/// Counts the faces by kind; returns those that repeat the texture, in order.
std::vector<raster::RepeatedFace> countFaces(std::uint32_t face_count, const FaceUvs& uvs,
                                             const std::vector<std::uint8_t>& include, int image_height,
                                             AtlasBuffer& atlas) {
  struct Block {
    std::size_t drawn = 0, without_uvs = 0, without_area = 0, cut = 0;
    std::vector<raster::RepeatedFace> repeated;
  };
  std::vector<Block> blocks(blockCount(face_count, kAtlasFaces));
  parallelBlocks(face_count, kAtlasFaces, [&](std::size_t number, std::size_t begin, std::size_t end) {
    Block& block = blocks[number];
    for (std::size_t f = begin; f < end; ++f) {
      const auto face = static_cast<std::uint32_t>(f);
      Chart chart;
      const FaceKind kind = chartOf(face, uvs, include, chart);
      block.drawn += kind == FaceKind::kDrawn ? 1 : 0;
      block.without_uvs += kind == FaceKind::kNoUvs ? 1 : 0;
      block.without_area += kind == FaceKind::kNoArea ? 1 : 0;
      if (kind != FaceKind::kDrawn || !chart.repeated) continue;
      if (const auto repeated = repeatedFace(face, chart, atlas.width, image_height)) {
        block.repeated.push_back(*repeated);
        block.cut += repeated->cut() ? 1 : 0;
      }
    }
  });
  std::vector<raster::RepeatedFace> repeated;
  for (const Block& block : blocks) {
    atlas.faces_drawn += block.drawn;
    atlas.faces_without_uvs += block.without_uvs;
    atlas.faces_without_area += block.without_area;
    atlas.faces_cut += block.cut;
    repeated.insert(repeated.end(), block.repeated.begin(), block.repeated.end());
  }
  return repeated;
}

/// Draws the other faces in every unit square they touch. The first face in index order keeps a texel.
void drawSquares(std::uint32_t face_count, const FaceUvs& uvs, const std::vector<std::uint8_t>& include,
                 int image_height, int first_row, AtlasBuffer& atlas, std::vector<std::uint32_t>& coverage) {
  std::vector<double> key(atlas.face.size(),
                          -1.0);  // every face has the key 0: no face wins over an earlier one
  raster::Target target;
  target.width = atlas.width;
  target.height = atlas.height;
  target.face = atlas.face.data();
  target.key = key.data();
  target.coverage = coverage.data();
  target.enough_coverage = 2;  // more is only counted as overlap
  const auto addFaces = [&](std::size_t begin, std::size_t end, raster::ItemSink& sink) {
    for (std::size_t f = begin; f < end; ++f) {
      const auto face = static_cast<std::uint32_t>(f);
      Chart chart;
      if (chartOf(face, uvs, include, chart) != FaceKind::kDrawn || chart.repeated) continue;
      for (int v = chart.first_v; v <= chart.last_v; ++v) {
        for (int u = chart.first_u; u <= chart.last_u; ++u) {
          std::array<std::int64_t, 3> x, y;
          snappedCorners(chart, u, v, atlas.width, image_height, x, y);
          for (std::int64_t& row : y)
            row -= first_row * raster::kSubpixels;
          sink.addSnapped(face, x, y);  // within a unit square's length: inside the guard band
        }
      }
    }
  };
  raster::drawFaces(face_count, addFaces, target);
}

/// Draws faces that repeat the texture, in the order of faces, over what is there already: the lowest face
/// keeps a texel.
void drawRepeated(std::span<const raster::RepeatedFace> faces, int first_row, AtlasBuffer& atlas,
                  std::vector<std::uint32_t>& coverage) {
  if (faces.empty()) return;
  const auto height = static_cast<std::size_t>(atlas.height), width = static_cast<std::size_t>(atlas.width);
  parallelFor(height, std::max(kAtlasRows, height / 32), [&](std::size_t begin, std::size_t end) {
    int covering = 0;
    for (const raster::RepeatedFace& face : faces) {
      const int first = first_row + static_cast<int>(begin), last = first_row + static_cast<int>(end);
      const bool all = face.draw(first, last, [&](int x, int y) {
        const std::size_t texel =
            static_cast<std::size_t>(y - first_row) * width + static_cast<std::size_t>(x);
        atlas.face[texel] = std::min(atlas.face[texel], face.face());
        ++coverage[texel];
      });
      // Once two faces cover everything, later ones neither win a texel nor change what counts as overlap.
      if (all && ++covering == 2) break;
    }
  });
}

/// Where on its face every covered texel is; counts covered and overlapped ones.
void findPlaces(const FaceUvs& uvs, const std::vector<std::uint32_t>& coverage, int image_height,
                int first_row, AtlasBuffer& atlas) {
  struct Count {
    std::size_t covered = 0, overlapped = 0;
  };
  const auto height = static_cast<std::size_t>(atlas.height), width = static_cast<std::size_t>(atlas.width);
  std::vector<Count> counts(blockCount(height, kAtlasRows));
  parallelBlocks(height, kAtlasRows, [&](std::size_t block, std::size_t begin, std::size_t end) {
    for (std::size_t texel = begin * width; texel < end * width; ++texel) {
      const std::uint32_t face = atlas.face[texel];
      if (face == kNone) continue;
      ++counts[block].covered;
      counts[block].overlapped += coverage[texel] > 1 ? 1 : 0;
      Chart chart;
      chartOf(face, uvs, {}, chart);
      const int row = first_row + static_cast<int>(texel / width);
      atlas.barycentric[texel] =
          texelBarycentric(face, chart, static_cast<int>(texel % width), row, atlas.width, image_height);
    }
  });
  for (const Count& count : counts) {
    atlas.covered_texels += count.covered;
    atlas.overlapped_texels += count.overlapped;
  }
}

}  // namespace

std::vector<std::uint8_t> AtlasBuffer::mask() const {
  return raster::maskOf(face);
}

std::vector<std::size_t> AtlasBuffer::coveredTexels() const {
  return raster::pixelsWithFace(face);
}

AtlasBuffer rasteriseAtlas(std::uint32_t face_count, const FaceUvs& uvs, const AtlasOptions& options) {
  return rasteriseAtlasRows(face_count, uvs, options, 0, options.height);
}

AtlasBuffer rasteriseAtlasRows(std::uint32_t face_count, const FaceUvs& uvs, const AtlasOptions& options,
                               int first_row, int rows) {
  AtlasBuffer atlas;
  const int width = options.width, height = options.height;
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return atlas;
  if (first_row < 0 || rows < 1 || first_row > height - rows) return atlas;
  const std::size_t texels = static_cast<std::size_t>(width) * static_cast<std::size_t>(rows);
  atlas.width = width;
  atlas.height = rows;
  atlas.face.assign(texels, kNone);
  atlas.barycentric.assign(texels, Vec3::Zero());
  const std::vector<raster::RepeatedFace> repeated =
      countFaces(face_count, uvs, options.include, height, atlas);
  std::vector<std::uint32_t> coverage(texels, 0);
  drawSquares(face_count, uvs, options.include, height, first_row, atlas, coverage);
  drawRepeated(repeated, first_row, atlas, coverage);
  findPlaces(uvs, coverage, height, first_row, atlas);
  return atlas;
}

AtlasBuffer rasteriseAtlas(const Surface& surface, const Appearance& appearance,
                           const AtlasOptions& options) {
  return rasteriseAtlas(
      surface.faceCount(),
      [&](std::uint32_t face, std::array<Vec2f, 3>& uvs) { return appearance.faceUvs(face, uvs); }, options);
}

std::vector<std::uint8_t> facesOfMaterial(const Surface& surface, const Appearance& appearance,
                                          int material) {
  std::vector<std::uint8_t> include(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
    include[f] = appearance.faceMaterial(f) == material ? 1 : 0;
  return include;
}

std::vector<std::uint8_t> facesOfImage(const Surface& surface, const Appearance& appearance, int image) {
  std::vector<std::uint8_t> include(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
    include[f] = appearance.faceImage(f) == image ? 1 : 0;
  return include;
}

}  // namespace heatskin

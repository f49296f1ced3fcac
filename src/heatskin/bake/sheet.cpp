#include "heatskin/bake/sheet.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heatskin/base/parallel.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/rendering/atlas_rows.h"
#include "heatskin/rendering/render.h"

namespace heatskin {
namespace {

/// Samples that a band holds at once: about 20 MB, however large the image.
constexpr std::size_t kBandSamples = std::size_t{1} << 18;
constexpr std::size_t kBandBlock = 4096;

/// A face that is stretched so much that two texels are a walk over more faces than this is left at its edge.
constexpr std::uint32_t kMostCrossings = 64;

/// The point of a plane triangle nearest to p, in barycentric coordinates, and its distance; `beyond` gets
/// those of p itself.
double nearestInTriangle(const std::array<Vec2, 3>& t, const Vec2& p, Vec3& nearest, Vec3& beyond) {
  const double area = cross2(t[1] - t[0], t[2] - t[0]);
  if (area == 0 || !std::isfinite(area)) {
    nearest = beyond = Vec3::Constant(1.0 / 3);
    return ((t[0] + t[1] + t[2]) / 3 - p).norm();
  }
  beyond.y() = cross2(p - t[0], t[2] - t[0]) / area;
  beyond.z() = cross2(t[1] - t[0], p - t[0]) / area;
  beyond.x() = 1 - beyond.y() - beyond.z();
  nearest = beyond;
  if (beyond.minCoeff() >= 0) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t e = 0; e < 3; ++e) {
    const std::size_t f = (e + 1) % 3;
    const Vec2 way = t[f] - t[e];
    const double length2 = way.squaredNorm();
    const double s = length2 > 0 ? std::clamp((p - t[e]).dot(way) / length2, 0.0, 1.0) : 0;
    const double distance = (t[e] + s * way - p).norm();
    if (distance >= best) continue;
    best = distance;
    nearest = Vec3::Zero();
    nearest[static_cast<Eigen::Index>(e)] = 1 - s;
    nearest[static_cast<Eigen::Index>(f)] = s;
  }
  return best;
}

class SheetSampler {
 public:
  SheetSampler(const Surface& surface, const SheetFaces& faces, std::size_t numbers,
               const SheetValues& values, const SheetOptions& options)
      : surface_(surface),
        faces_(faces),
        numbers_(numbers),
        values_(values),
        width_(options.width),
        height_(options.height),
        finer_(std::clamp(options.supersampling, 1, 16)) {
    // What may fall between all samples.
    for (std::uint32_t f = 0; f < faces.faces.size(); ++f) {
      const std::array<Vec2, 3> t = texelCorners(f);
      double longest = 0;
      for (std::size_t e = 0; e < 3; ++e)
        longest = std::max(longest, (t[(e + 1) % 3] - t[e]).norm());
      const double area = std::abs(cross2(t[1] - t[0], t[2] - t[0]));
      if (std::isfinite(longest) && area <= longest && longest < 2.0 * (width_ + height_)) thin_.push_back(f);
    }
  }

  /// Rows that a band may have.
  int bandRows() const {
    const std::size_t samples = static_cast<std::size_t>(width_) * static_cast<std::size_t>(finer_) *
                                static_cast<std::size_t>(finer_);
    return std::max(1, static_cast<int>(kBandSamples / samples));
  }

  void fill(int first_row, int rows, SheetBand& band) {
    band.first_row = first_row;
    band.rows = rows;
    band.width = width_;
    const std::size_t texels = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width_);
    band.filled.assign(texels, 0);
    band.values.assign(texels * numbers_, 0.0f);
    band.centers.assign(texels, SurfacePoint());
    rasterise(first_row, rows);
    findCenters(band);
    for (int pass = 0; pass < finer_ * finer_; ++pass)
      addPass(pass, band);
    const float share = 1.0f / static_cast<float>(finer_ * finer_);
    for (float& value : band.values)
      value *= share;
  }

  SheetCounts counts() const { return counts_; }

 private:
  /// Where in a texel a pass has its sample.
  Vec2 sampleOf(int pass) const {
    return {(pass % finer_ + 0.5) / finer_, (static_cast<double>(pass / finer_) + 0.5) / finer_};
  }

  std::array<Vec2, 3> texelCorners(std::uint32_t face) const {
    std::array<Vec2, 3> t;
    for (std::size_t c = 0; c < 3; ++c)
      t[c] = faces_.uvs[face][c].cast<double>().cwiseProduct(Vec2(width_, height_));
    return t;
  }

  /// Faces narrower than a texel get the texels along them that no face has.
  void addThinFaces() {
    for (const std::uint32_t f : thin_) {
      const std::array<Vec2, 3> t = texelCorners(f);
      for (std::size_t e = 0; e < 3; ++e) {
        const Vec2 way = t[(e + 1) % 3] - t[e];
        const int steps = 1 + static_cast<int>(2 * way.norm());
        for (int i = 0; i <= steps; ++i) {
          const Vec2 p = t[e] + (static_cast<double>(i) / steps) * way;
          const double row = std::floor(p.y() - height_ * std::floor(p.y() / height_)) - halo_first_;
          const double x = std::floor(p.x() - width_ * std::floor(p.x() / width_));
          if (!(row >= 0 && row < halo_rows_ && x >= 0 && x < width_)) continue;
          std::uint32_t& owner = owner_[index(static_cast<int>(x), static_cast<int>(row))];
          if (owner == kNone) owner = f;
        }
      }
    }
  }

  /// Draws all passes for the rows and one more on each side, and notes one face for each texel.
  void rasterise(int first_row, int rows) {
    halo_first_ = std::max(first_row - 1, 0);
    const int last = std::min(first_row + rows + 1, height_);
    AtlasOptions options;
    options.width = width_;
    options.height = height_;
    halo_rows_ = last - halo_first_;
    passes_.clear();
    owner_.assign(static_cast<std::size_t>(halo_rows_) * static_cast<std::size_t>(width_), kNone);
    for (int pass = 0; pass < finer_ * finer_; ++pass) {
      // Moving the charts instead of the samples: then a sample is where a centre was.
      const Vec2 sample = sampleOf(pass);
      const Vec2f shift = Vec2((0.5 - sample.x()) / width_, (0.5 - sample.y()) / height_).cast<float>();
      passes_.push_back(rasteriseAtlasRows(
          static_cast<std::uint32_t>(faces_.faces.size()),
          [&](std::uint32_t face, std::array<Vec2f, 3>& uvs) {
            for (std::size_t c = 0; c < 3; ++c)
              uvs[c] = faces_.uvs[face][c] + shift;
            return true;
          },
          options, halo_first_, halo_rows_));
      const AtlasBuffer& drawn = passes_.back();
      for (std::size_t i = 0; i < owner_.size(); ++i) {
        if (owner_[i] == kNone) owner_[i] = drawn.face[i];
      }
      if (pass != 0) continue;
      // The rows beside the band count as part of it; they are few, and these are shares.
      counts_.covered_texels += drawn.covered_texels;
      counts_.overlapped_texels += drawn.overlapped_texels;
    }
    addThinFaces();
  }

  /// A point of the image (in texels) on the sheet's face next to it, among those around texel (x, row).
  struct Next {
    std::uint32_t face = kNone;  // of the sheet
    Vec3 nearest, beyond;
  };
  Next nextFace(int x, int halo_row, const Vec2& p) const {
    Next best;
    double distance = std::numeric_limits<double>::infinity();
    std::uint32_t seen = kNone;
    for (int j = std::max(halo_row - 1, 0); j <= std::min(halo_row + 1, halo_rows_ - 1); ++j) {
      for (int i = std::max(x - 1, 0); i <= std::min(x + 1, width_ - 1); ++i) {
        const std::uint32_t face = owner_[index(i, j)];
        if (face == kNone || face == seen) continue;
        seen = face;
        const std::array<Vec2, 3> t = texelCorners(face);
        // A face elsewhere in the plane is meant where it repeats next to the point.
        const Vec2 size(width_, height_), middle = (t[0] + t[1] + t[2]) / 3;
        Vec2 moved = p;
        for (int c = 0; c < 2; ++c)
          moved[c] += size[c] * std::round((middle[c] - p[c]) / size[c]);
        Next candidate;
        candidate.face = face;
        const double there = nearestInTriangle(t, moved, candidate.nearest, candidate.beyond);
        if (there < distance) {
          distance = there;
          best = candidate;
        }
      }
    }
    return best;
  }

  std::size_t index(int x, int halo_row) const {
    return static_cast<std::size_t>(halo_row) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(x);
  }

  void findCenters(SheetBand& band) {
    parallelFor(band.filled.size(), kBandBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const int x = static_cast<int>(i % static_cast<std::size_t>(width_)),
                  row = band.first_row + static_cast<int>(i / static_cast<std::size_t>(width_));
        const Next next = nextFace(x, row - halo_first_, Vec2(x + 0.5, row + 0.5));
        if (next.face == kNone) continue;
        band.filled[i] = 1;
        band.centers[i] = {faces_.faces[next.face], next.nearest};
      }
    });
  }

  /// The surface point of a sample; `texel` counts in the band.
  SurfacePoint pointOf(int pass, const SheetBand& band, std::size_t texel) const {
    const int x = static_cast<int>(texel % static_cast<std::size_t>(width_)),
              row = band.first_row + static_cast<int>(texel / static_cast<std::size_t>(width_));
    const AtlasBuffer& drawn = passes_[static_cast<std::size_t>(pass)];
    const std::size_t at = index(x, row - halo_first_);
    if (drawn.face[at] != kNone) return {faces_.faces[drawn.face[at]], drawn.barycentric[at]};
    const Vec2 sample = sampleOf(pass);
    const Next next = nextFace(x, row - halo_first_, Vec2(x + sample.x(), row + sample.y()));
    const SurfacePoint start{faces_.faces[next.face], next.nearest};
    const Vec2 way = surface_.faceCoordinates({start.face, next.beyond}) - surface_.faceCoordinates(start);
    if (!way.allFinite()) return start;
    WalkOptions options;
    options.max_crossings = kMostCrossings;
    const WalkOutcome walked = walk(surface_, start, way, options);
    return walked.stop == WalkStop::kMaxCrossings ? start : walked.end;
  }

  void addPass(int pass, SheetBand& band) {
    texels_.clear();
    for (std::size_t i = 0; i < band.filled.size(); ++i) {
      if (band.filled[i] != 0) texels_.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t first = 0; first < texels_.size(); first += kColorBatch) {
      const std::size_t count = std::min(kColorBatch, texels_.size() - first);
      points_.resize(count);
      found_.resize(count * numbers_);
      parallelFor(count, 512, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          points_[i] = pointOf(pass, band, texels_[first + i]);
      });
      values_(points_, found_);
      for (std::size_t i = 0; i < count; ++i) {
        float* sum = band.values.data() + texels_[first + i] * numbers_;
        for (std::size_t c = 0; c < numbers_; ++c)
          sum[c] += found_[i * numbers_ + c];
      }
    }
  }

  const Surface& surface_;
  const SheetFaces& faces_;
  std::size_t numbers_;
  const SheetValues& values_;
  int width_, height_, finer_;
  int halo_first_ = 0, halo_rows_ = 0;
  std::vector<std::uint32_t> thin_;  // faces of the sheet
  std::vector<AtlasBuffer> passes_;
  std::vector<std::uint32_t> owner_;  // [halo rows, width] a face of the sheet
  std::vector<std::uint32_t> texels_;
  std::vector<SurfacePoint> points_;
  std::vector<float> found_;
  SheetCounts counts_;
};

}  // namespace

Result<SheetCounts> sampleSheet(const Surface& surface, const SheetFaces& faces, std::size_t numbers,
                                const SheetValues& values, const SheetOptions& options,
                                const std::function<void(SheetBand& band)>& take, Progress& progress) {
  SheetSampler sampler(surface, faces, numbers, values, options);
  SheetBand band;
  const int step = sampler.bandRows();
  progress.begin("drawing", static_cast<std::size_t>(options.height));
  for (int row = 0; row < options.height; row += step) {
    if (progress.cancelled()) {
      progress.end();
      return failure("cancelled", error_code::kCancelled);
    }
    sampler.fill(row, std::min(step, options.height - row), band);
    take(band);
    progress.update(static_cast<std::size_t>(band.first_row + band.rows), "");
  }
  progress.end();
  return sampler.counts();
}

}  // namespace heatskin

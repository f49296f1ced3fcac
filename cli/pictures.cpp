#include "cli/pictures.h"

#include <algorithm>
#include <vector>

namespace heatskin::cli {

ImageF atlasPicture(const AtlasBuffer& atlas, const ColorSource& colors, const Vec3f& background) {
  ImageF picture{atlas.width, atlas.height, {}, atlas.mask()};
  picture.rgb.resize(3 * picture.pixelCount());
  for (std::size_t i = 0; i < picture.pixelCount(); ++i) {
    for (int c = 0; c < 3; ++c)
      picture.rgb[3 * i + static_cast<std::size_t>(c)] = background[c];
  }
  const std::vector<std::size_t> covered = atlas.coveredTexels();
  std::vector<SurfacePoint> points;
  std::vector<Vec3f> values(std::min(covered.size(), kColorBatch));
  for (std::size_t begin = 0; begin < covered.size(); begin += kColorBatch) {
    const std::size_t count = std::min(kColorBatch, covered.size() - begin);
    points.clear();
    for (std::size_t i = 0; i < count; ++i)
      points.push_back(atlas.point(covered[begin + i]));
    colors(points, std::span(values).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      for (int c = 0; c < 3; ++c)
        picture.rgb[3 * covered[begin + i] + static_cast<std::size_t>(c)] = values[i][c];
    }
  }
  return picture;
}

}  // namespace heatskin::cli

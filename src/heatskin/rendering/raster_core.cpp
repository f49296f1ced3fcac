#include "heatskin/rendering/raster_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/surface.h"

namespace heatskin::raster {
namespace {

/// Faces sorted into tiles at a time: bounds the memory of the lists when every face fills the image.
constexpr std::size_t kFacesPerChunk = 8192;
constexpr std::size_t kFacesAtOnce = 512;

constexpr int kMinTileSide = 32;  // pixels; three rows of keys fit in the first cache level
constexpr int kMaxTilesPerSide = 32;

std::int64_t twiceArea(const std::array<std::int64_t, 3>& x, const std::array<std::int64_t, 3>& y) {
  return (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
}

/// Value of the directed edge a -> b at a sample, shifted so that "covered" is value >= 0: on the edge itself
/// only top edges (going right, y is down) and left edges (going up) count.
std::int64_t edgeValue(std::int64_t ax, std::int64_t ay, std::int64_t bx, std::int64_t by, std::int64_t px,
                       std::int64_t py) {
  const std::int64_t dx = bx - ax, dy = by - ay;
  const bool top_left = dy < 0 || (dy == 0 && dx > 0);
  return dx * (py - ay) - dy * (px - ax) - (top_left ? 0 : 1);
}

std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/// Cuts the polygon at `distance(v) >= 0`. A crossing is computed from the inside end to the outside end, so
/// that both faces at an edge get the same point to the bit.
template <class Distance>
int clip(const std::array<Vec3, 9>& in, int count, std::array<Vec3, 9>& out, const Distance& distance) {
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const Vec3& a = in[static_cast<std::size_t>(i)];
    const Vec3& b = in[static_cast<std::size_t>((i + 1) % count)];
    const double da = distance(a), db = distance(b);
    const bool a_inside = da >= 0, b_inside = db >= 0;
    if (a_inside) out[static_cast<std::size_t>(kept++)] = a;
    if (a_inside != b_inside) {
      out[static_cast<std::size_t>(kept++)] =
          a_inside ? Vec3(a + (da / (da - db)) * (b - a)) : Vec3(b + (db / (db - da)) * (a - b));
    }
    if (kept >= 8) break;  // cannot happen for a convex polygon cut five times; keeps the array safe
  }
  return kept;
}

/// True when a face comes after the one that was drawn at this sample before.
bool isBehind(const Target& target, std::size_t pixel, double key, std::uint32_t face) {
  const double limit = target.behind_key[pixel];
  return key < limit || (key == limit && face > target.behind_face[pixel]);
}

/// Draws one item inside the tile [x0, x1] x [y0, y1].
void drawItem(const Item& item, const Target& target, int x0, int y0, int x1, int y1) {
  x0 = std::max(x0, item.first_x);
  x1 = std::min(x1, item.last_x);
  y0 = std::max(y0, item.first_y);
  y1 = std::min(y1, item.last_y);
  if (x0 > x1 || y0 > y1) return;

  const std::int64_t px = x0 * kSubpixels + target.sample_x;
  const std::int64_t py = y0 * kSubpixels + target.sample_y;
  std::array<std::int64_t, 3> row, step_x, step_y;
  for (std::size_t e = 0; e < 3; ++e) {
    const std::size_t f = (e + 1) % 3;
    row[e] = edgeValue(item.x[e], item.y[e], item.x[f], item.y[f], px, py);
    step_x[e] = -(std::int64_t{item.y[f]} - item.y[e]) * kSubpixels;
    step_y[e] = (std::int64_t{item.x[f]} - item.x[e]) * kSubpixels;
    const std::int64_t best = row[e] + std::max<std::int64_t>(0, step_x[e] * (x1 - x0)) +
                              std::max<std::int64_t>(0, step_y[e] * (y1 - y0));
    if (best < 0) return;
  }

  constexpr double kPixel = 1.0 / static_cast<double>(kSubpixels);
  const double sample_x = static_cast<double>(target.sample_x) * kPixel;
  const double sample_y = static_cast<double>(target.sample_y) * kPixel;
  for (int y = y0; y <= y1; ++y) {
    std::int64_t e0 = row[0], e1 = row[1], e2 = row[2];
    const std::size_t line = static_cast<std::size_t>(y) * static_cast<std::size_t>(target.width);
    bool entered = false;
    for (int x = x0; x <= x1; ++x) {
      if ((e0 | e1 | e2) >= 0) {
        entered = true;
        const std::size_t pixel = line + static_cast<std::size_t>(x);
        const double key = item.key.at(x + sample_x, y + sample_y);
        if (key > target.key[pixel] &&
            (target.behind_key == nullptr || isBehind(target, pixel, key, item.face))) {
          target.key[pixel] = key;
          target.face[pixel] = item.face;
        }
        if (target.coverage != nullptr) ++target.coverage[pixel];
      } else if (entered) {
        break;
      }
      e0 += step_x[0];
      e1 += step_x[1];
      e2 += step_x[2];
    }
    for (std::size_t e = 0; e < 3; ++e)
      row[e] += step_y[e];
  }
}

/// True when every sample of the tile has reached Target::enough_coverage.
bool hasCoverage(const Target& target, int x0, int y0, int x1, int y1) {
  for (int y = y0; y <= y1; ++y) {
    const std::uint32_t* row =
        target.coverage + static_cast<std::size_t>(y) * static_cast<std::size_t>(target.width);
    for (int x = x0; x <= x1; ++x) {
      if (row[x] < target.enough_coverage) return false;
    }
  }
  return true;
}

/// False when Target::behind_key lets nothing through in the tile.
bool hasOpenSample(const Target& target, int x0, int y0, int x1, int y1) {
  for (int y = y0; y <= y1; ++y) {
    const double* row =
        target.behind_key + static_cast<std::size_t>(y) * static_cast<std::size_t>(target.width);
    for (int x = x0; x <= x1; ++x) {
      if (row[x] > -std::numeric_limits<double>::infinity()) return true;
    }
  }
  return false;
}

}  // namespace

bool covers(std::array<std::int64_t, 3> x, std::array<std::int64_t, 3> y, std::int64_t sample_x,
            std::int64_t sample_y) {
  const std::int64_t area = twiceArea(x, y);
  if (area == 0) return false;
  if (area < 0) {
    std::swap(x[1], x[2]);
    std::swap(y[1], y[2]);
  }
  for (std::size_t e = 0; e < 3; ++e) {
    const std::size_t f = (e + 1) % 3;
    if (edgeValue(x[e], y[e], x[f], y[f], sample_x, sample_y) < 0) return false;
  }
  return true;
}

void ItemSink::addSnapped(std::uint32_t face, const std::array<std::int64_t, 3>& x,
                          const std::array<std::int64_t, 3>& y) {
  const std::int64_t area = twiceArea(x, y);
  if (area == 0) return;
  const auto [min_x, max_x] = std::minmax({x[0], x[1], x[2]});
  const auto [min_y, max_y] = std::minmax({y[0], y[1], y[2]});
  Item item;
  const std::int64_t first_x = -floorDiv(target_.sample_x - min_x, kSubpixels);
  const std::int64_t first_y = -floorDiv(target_.sample_y - min_y, kSubpixels);
  const std::int64_t last_x = floorDiv(max_x - target_.sample_x, kSubpixels);
  const std::int64_t last_y = floorDiv(max_y - target_.sample_y, kSubpixels);
  item.first_x = static_cast<std::int32_t>(std::max<std::int64_t>(first_x, 0));
  item.first_y = static_cast<std::int32_t>(std::max<std::int64_t>(first_y, 0));
  item.last_x = static_cast<std::int32_t>(std::min<std::int64_t>(last_x, target_.width - 1));
  item.last_y = static_cast<std::int32_t>(std::min<std::int64_t>(last_y, target_.height - 1));
  if (item.first_x > item.last_x || item.first_y > item.last_y) return;
  const std::array<std::size_t, 3> order =
      area > 0 ? std::array<std::size_t, 3>{0, 1, 2} : std::array<std::size_t, 3>{0, 2, 1};
  for (std::size_t c = 0; c < 3; ++c) {
    item.x[c] = static_cast<std::int32_t>(x[order[c]]);
    item.y[c] = static_cast<std::int32_t>(y[order[c]]);
  }
  // Most faces of a fine mesh are smaller than a pixel and can be settled here.
  if (item.first_x == item.last_x && item.first_y == item.last_y) {
    const std::int64_t px = item.first_x * kSubpixels + target_.sample_x;
    const std::int64_t py = item.first_y * kSubpixels + target_.sample_y;
    for (std::size_t e = 0; e < 3; ++e) {
      const std::size_t f = (e + 1) % 3;
      if (edgeValue(item.x[e], item.y[e], item.x[f], item.y[f], px, py) < 0) return;
    }
  }
  item.face = face;
  items_.push_back(item);
}

std::span<Item> ItemSink::add(std::uint32_t face, const std::array<Vec3, 3>& corners, double min_w) {
  const std::size_t first_item = items_.size();
  const double width = target_.width, height = target_.height;
  bool inside = true;
  int behind = 0, left = 0, right = 0, above = 0, below = 0;
  for (const Vec3& c : corners) {
    if (!c.allFinite()) return {};
    behind += c.z() < min_w;
    left += c.x() < 0;
    right += c.x() > width * c.z();
    above += c.y() < 0;
    below += c.y() > height * c.z();
    inside = inside && c.z() >= min_w && c.x() >= kGuardLow * c.z() && c.x() <= kGuardHigh * c.z() &&
             c.y() >= kGuardLow * c.z() && c.y() <= kGuardHigh * c.z();
  }
  if (behind == 3) return {};
  if (behind == 0 && (left == 3 || right == 3 || above == 3 || below == 3)) return {};

  std::array<Vec3, 9> polygon, scratch;
  int count = 3;
  std::copy(corners.begin(), corners.end(), polygon.begin());
  if (!inside) {
    count = clip(polygon, count, scratch, [&](const Vec3& v) { return v.z() - min_w; });
    count = clip(scratch, count, polygon, [](const Vec3& v) { return v.x() - kGuardLow * v.z(); });
    count = clip(polygon, count, scratch, [](const Vec3& v) { return kGuardHigh * v.z() - v.x(); });
    count = clip(scratch, count, polygon, [](const Vec3& v) { return v.y() - kGuardLow * v.z(); });
    count = clip(polygon, count, scratch, [](const Vec3& v) { return kGuardHigh * v.z() - v.y(); });
    polygon = scratch;
    if (count < 3) return {};
  }
  std::array<std::int64_t, 9> x{}, y{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    // The clamp only removes the rounding of the clip.
    const double px = std::clamp(polygon[i].x() / polygon[i].z(), kGuardLow, kGuardHigh);
    const double py = std::clamp(polygon[i].y() / polygon[i].z(), kGuardLow, kGuardHigh);
    if (!std::isfinite(px) || !std::isfinite(py)) return {};
    x[i] = snap(px);
    y[i] = snap(py);
  }
  for (std::size_t i = 2; i < static_cast<std::size_t>(count); ++i)
    addSnapped(face, {x[0], x[i - 1], x[i]}, {y[0], y[i - 1], y[i]});
  return std::span(items_).subspan(first_item);
}

void drawFaces(std::size_t face_count,
               const std::function<void(std::size_t begin, std::size_t end, ItemSink& sink)>& setup,
               const Target& target) {
  if (target.width <= 0 || target.height <= 0) return;
  const int longest = std::max(target.width, target.height);
  const int side = std::max(kMinTileSide, (longest + kMaxTilesPerSide - 1) / kMaxTilesPerSide);
  const int tiles_x = (target.width + side - 1) / side;
  const int tiles_y = (target.height + side - 1) / side;
  const std::size_t tiles = static_cast<std::size_t>(tiles_x) * static_cast<std::size_t>(tiles_y);
  const std::size_t max_blocks = blockCount(std::min(face_count, kFacesPerChunk), kFacesAtOnce);

  std::vector<std::vector<Item>> items(max_blocks);
  std::vector<std::vector<std::size_t>> cursor(max_blocks, std::vector<std::size_t>(tiles));  // [block][tile]
  std::vector<std::size_t> tile_begin(tiles + 1);
  std::vector<const Item*> order;
  std::vector<std::uint8_t> finished(tiles, 0);

  const auto forEachTile = [&](const Item& item, const auto& visit) {
    for (int ty = item.first_y / side; ty <= item.last_y / side; ++ty) {
      for (int tx = item.first_x / side; tx <= item.last_x / side; ++tx) {
        const std::size_t tile =
            static_cast<std::size_t>(ty) * static_cast<std::size_t>(tiles_x) + static_cast<std::size_t>(tx);
        if (finished[tile] == 0) visit(tile);  // changes between passes only
      }
    }
  };

  for (std::size_t chunk = 0; chunk < face_count; chunk += kFacesPerChunk) {
    const std::size_t count = std::min(kFacesPerChunk, face_count - chunk);
    const std::size_t blocks = blockCount(count, kFacesAtOnce);
    parallelBlocks(count, kFacesAtOnce, [&](std::size_t block, std::size_t begin, std::size_t end) {
      items[block].clear();
      std::fill(cursor[block].begin(), cursor[block].end(), 0);
      ItemSink sink(target, items[block]);
      setup(chunk + begin, chunk + end, sink);
      for (const Item& item : items[block])
        forEachTile(item, [&](std::size_t tile) { ++cursor[block][tile]; });
    });
    std::size_t total = 0;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      tile_begin[tile] = total;
      for (std::size_t block = 0; block < blocks; ++block)
        total += std::exchange(cursor[block][tile], total);
    }
    tile_begin[tiles] = total;
    if (total == 0) continue;
    order.resize(total);
    parallelBlocks(blocks, 1, [&](std::size_t block, std::size_t, std::size_t) {
      for (const Item& item : items[block])
        forEachTile(item, [&](std::size_t tile) { order[cursor[block][tile]++] = &item; });
    });
    parallelBlocks(tiles, 1, [&](std::size_t tile, std::size_t, std::size_t) {
      const int x0 = static_cast<int>(tile % static_cast<std::size_t>(tiles_x)) * side;
      const int y0 = static_cast<int>(tile / static_cast<std::size_t>(tiles_x)) * side;
      const int x1 = std::min(x0 + side, target.width) - 1;
      const int y1 = std::min(y0 + side, target.height) - 1;
      if (chunk == 0 && target.behind_key != nullptr && !hasOpenSample(target, x0, y0, x1, y1))
        finished[tile] = 1;
      for (std::size_t i = tile_begin[tile]; i < tile_begin[tile + 1] && finished[tile] == 0; ++i) {
        drawItem(*order[i], target, x0, y0, x1, y1);
        // Looked at now and then: the test reads the whole tile.
        if (target.enough_coverage > 0 && (i - tile_begin[tile]) % 64 == 63)
          finished[tile] = hasCoverage(target, x0, y0, x1, y1) ? 1 : 0;
      }
    });
  }
}

std::vector<std::uint8_t> maskOf(std::span<const std::uint32_t> face) {
  std::vector<std::uint8_t> result(face.size());
  for (std::size_t i = 0; i < face.size(); ++i)
    result[i] = face[i] != kNone ? 255 : 0;
  return result;
}

std::vector<std::size_t> pixelsWithFace(std::span<const std::uint32_t> face) {
  std::vector<std::size_t> pixels;
  for (std::size_t i = 0; i < face.size(); ++i) {
    if (face[i] != kNone) pixels.push_back(i);
  }
  return pixels;
}

}  // namespace heatskin::raster

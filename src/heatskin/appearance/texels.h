#pragma once

// Texels at texture coordinates: wrapping, filters, transforms. Private to this folder.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/color_space.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin::texels {

/// The texel index in [0, size) that a wrapped index stands for; any finite index.
inline int wrapIndex(double index, int size, Wrap wrap) {
  const double n = size;
  switch (wrap) {
    case Wrap::kClampToEdge:
      return static_cast<int>(std::clamp(index, 0.0, n - 1));
    case Wrap::kMirroredRepeat: {
      const double period = index - 2 * n * std::floor(index / (2 * n));
      const double folded = period < n ? period : 2 * n - 1 - period;
      return static_cast<int>(std::clamp(folded, 0.0, n - 1));
    }
    case Wrap::kRepeat:
      break;
  }
  return static_cast<int>(std::clamp(index - n * std::floor(index / n), 0.0, n - 1));
}

/// The coordinate in [0, 1] that a texture coordinate stands for. Before anything else, so that no repeat is
/// read differently from another one.
inline double wrapCoordinate(double u, Wrap wrap) {
  switch (wrap) {
    case Wrap::kClampToEdge:
      return std::clamp(u, 0.0, 1.0);
    case Wrap::kMirroredRepeat: {
      const double period = u - 2 * std::floor(u / 2);
      return period <= 1 ? period : 2 - period;
    }
    case Wrap::kRepeat:
      break;
  }
  return u - std::floor(u);
}

/// The two texels beside a coordinate and the weight of the second one.
struct Neighbours {
  int first, second;
  float weight;
};

inline Neighbours neighbours(double u, int size, Wrap wrap) {
  const double x = wrapCoordinate(u, wrap) * size - 0.5, below = std::floor(x);
  if (below >= 0 && below + 1 < size)
    return {static_cast<int>(below), static_cast<int>(below) + 1, static_cast<float>(x - below)};
  // Beside the border: a repeated texture goes on at its other side; a mirrored one repeats its own texel, as
  // a clamped one does.
  const Wrap at_border = wrap == Wrap::kRepeat ? Wrap::kRepeat : Wrap::kClampToEdge;
  return {wrapIndex(below, size, at_border), wrapIndex(below + 1, size, at_border),
          static_cast<float>(x - below)};
}

inline Vec4f linearRgba(const std::uint8_t* texel) {
  return {linearFromSrgb8[texel[0]], linearFromSrgb8[texel[1]], linearFromSrgb8[texel[2]],
          static_cast<float>(texel[3]) / 255.0f};
}

/// KHR_texture_transform: scale, then rotate, then move. What floats cannot hold becomes 0: such coordinates
/// say nothing.
inline Vec2f transformed(const TextureUse& use, const Vec2f& uv) {
  const float c = std::cos(use.rotation), s = std::sin(use.rotation);
  const Vec2f scaled = use.scale.cwiseProduct(uv);
  const Vec2f moved(c * scaled.x() + s * scaled.y() + use.offset.x(),
                    -s * scaled.x() + c * scaled.y() + use.offset.y());
  return moved.allFinite() ? moved : Vec2f::Zero();
}

/// The texel of the filters that blend nothing.
inline const std::uint8_t* texelAt(const Image& image, Wrap wrap_u, Wrap wrap_v, const Vec2& uv,
                                   Filter filter) {
  if (filter == Filter::kPaper) {
    return image.texel(wrapIndex(std::round(uv.x() * (image.width - 1)), image.width, wrap_u),
                       wrapIndex(std::round(uv.y() * (image.height - 1)), image.height, wrap_v));
  }
  const auto index = [](double u, int size, Wrap wrap) {
    return wrapIndex(std::floor(wrapCoordinate(u, wrap) * size), size, Wrap::kClampToEdge);
  };
  return image.texel(index(uv.x(), image.width, wrap_u), index(uv.y(), image.height, wrap_v));
}

/// The four texels around a coordinate, as `read` makes them of RGBA bytes, blended bilinearly.
template <class Read>
Vec4f blended(const Image& image, Wrap wrap_u, Wrap wrap_v, const Vec2& uv, Read&& read) {
  const Neighbours x = neighbours(uv.x(), image.width, wrap_u), y = neighbours(uv.y(), image.height, wrap_v);
  const Vec4f above =
      (1 - x.weight) * read(image.texel(x.first, y.first)) + x.weight * read(image.texel(x.second, y.first));
  const Vec4f below = (1 - x.weight) * read(image.texel(x.first, y.second)) +
                      x.weight * read(image.texel(x.second, y.second));
  return (1 - y.weight) * above + y.weight * below;
}

}  // namespace heatskin::texels

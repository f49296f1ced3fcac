// The pumpkin's colours. Everything is a function of the place on the smooth surface: `along` and `around`
// for what follows the ribs, the position in space for what does not. Albedo only: light is the renderer's.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/demo/noise.h"
#include "heatskin/demo/portable_math.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/demo/pumpkin_atlas.h"
#include "heatskin/demo/pumpkin_drawing.h"
#include "heatskin/demo/pumpkin_shape.h"

namespace heatskin {
namespace {

constexpr std::uint64_t kPaintStream = 0x70756d10;
constexpr int kRibs = PumpkinShape::kRibs;

/// sRGB from 0xRRGGBB.
Vec3 rgb(std::uint32_t hex) {
  return Vec3((hex >> 16) & 255, (hex >> 8) & 255, hex & 255) / 255.0;
}

struct Scratch {
  double along, turn;   ///< centre
  double dx, dy, bend;  ///< half extent on the surface, sagitta
  double width;
};

class PumpkinPainter {
 public:
  PumpkinPainter(const PumpkinShape& shape, std::uint64_t seed)
      : shape_(shape), broad_(seed, kPaintStream), fine_(seed, kPaintStream + 1), scratches_{} {
    const RandomStream random(seed, kPaintStream + 2);
    for (std::size_t i = 0; i < scratches_.size(); ++i) {
      const auto [a, b] = random.uniform2(4 * i);
      const auto [c, d] = random.uniform2(4 * i + 1);
      const auto [e, f] = random.uniform2(4 * i + 2);
      const double length = mix(0.06, 0.26, c * c);
      scratches_[i] = {shape.length(PumpkinPart::kBody) * mix(0.2, 0.85, a),
                       b,
                       length * cosTurns(0.5 * d),
                       length * sinTurns(0.5 * d),
                       0.15 * length * (2 * e - 1),
                       mix(0.0016, 0.0036, f)};
    }
  }

  Vec3 color(const PumpkinPlace& place) const {
    if (!place.near) return background(place.part);
    switch (place.part) {
      case PumpkinPart::kBody:
        return body(place.along, place.around);
      case PumpkinPart::kStem:
        return stem(place.along, place.around);
      case PumpkinPart::kStemEnd:
        break;
    }
    return cutEnd(place.along, place.around);
  }

  /// What is never seen: the mean colour of the part, kind to mipmaps and compression.
  static Vec3 background(PumpkinPart part) {
    return part == PumpkinPart::kBody   ? rgb(0xE27F22)
           : part == PumpkinPart::kStem ? rgb(0x717337)
                                        : rgb(0x4F4722);
  }

 private:
  Vec3 body(double along, double around) const {
    const Vec3 p = shape_.position(PumpkinPart::kBody, along, around);
    const Vec2 front(p.x(), p.y());
    const double depth = p.z() > 0 ? carvedDepth(front) : -1;
    if (depth > 0) return opening(front, p, depth);

    Vec3 color = skin(p, along, around);
    paintScratches(along, shape_.turn(around), color);
    // The knife bruised the skin along its cut: a thin dark line with a soft outside.
    color =
        mix(color, rgb(0x8A3208), 0.75 * smoothStep(-0.030, -0.004, depth) * smoothStep(-0.03, 0.0, depth));
    const double turn = shape_.turn(around);
    const double from_sticker = turn - kStickerTurn - std::floor(turn - kStickerTurn + 0.5);
    const double rho = shape_.radius(PumpkinPart::kBody, along);
    const Vec2 on_sticker(kTau * rho * from_sticker, along - kStickerAlong);
    const double tilt = 0.9848, slant = 0.1736;  // put on by hand: 10 degrees
    paintSticker(
        {tilt * on_sticker.x() + slant * on_sticker.y(), tilt * on_sticker.y() - slant * on_sticker.x()},
        color);
    return color;
  }

  /// Inside an opening: the cut through the flesh, lighter where it faces the candle, then the hollow.
  Vec3 opening(const Vec2& front, const Vec3& p, double depth) const {
    // The wall is seen below and beside the hollow: shift the outline outwards and up.
    const Vec2 shifted(front.x() * 0.965, front.y() - 0.030);
    const double hollow = std::min(carvedDepth(shifted), depth - 0.010);
    const double glow = candleGlow(front);
    const double grain = broad_.fractal(9 * p, 2);
    if (hollow <= 0) {
      const Vec3 flesh = mix(rgb(0xE9A23B), rgb(0xFFE29A), clamp01(0.25 + 0.75 * glow + 0.25 * grain));
      return mix(rgb(0xC9701C), flesh, smoothStep(0.0, 0.012, depth));
    }
    const Vec3 dark = rgb(0x1C0B06), ember = rgb(0x7A2A08), amber = rgb(0xE88A1C), flame = rgb(0xFFDC6E);
    const double heat = clamp01(1.12 * glow - 0.05 + 0.09 * grain);
    Vec3 color = mix(dark, ember, smoothStep(0.10, 0.50, heat));
    color = mix(color, amber, smoothStep(0.46, 0.88, heat));
    color = mix(color, flame, smoothStep(0.84, 1.06, heat));
    // The rim throws a hard shadow line on the wall behind.
    return mix(rgb(0x2A0E05), color, smoothStep(0.0, 0.010, hollow));
  }

  Vec3 skin(const Vec3& p, double along, double around) const {
    const double length = shape_.length(PumpkinPart::kBody);
    const double rho = shape_.radius(PumpkinPart::kBody, along);
    const double to_stem = length - along;
    const double groove = PumpkinShape::grooveShare(around);
    const double clouds = broad_.fractal(1.6 * p, 3);
    const double fibre =
        fine_.at(around * 16, along * 2.6, 16 * kRibs) + 0.7 * fine_.at(around * 41, along * 4.5, 41 * kRibs);

    // From the crest into the groove; fibres bend the border between the tones.
    const double tone = clamp01(groove + 0.10 * fibre + 0.10 * clouds);
    Vec3 color = mix(rgb(0xF39A2E), rgb(0xEA7A17), smoothStep(0.0, 0.35, tone));
    color = mix(color, rgb(0xC9550C), smoothStep(0.35, 0.85, tone));
    color = mix(color, rgb(0x8E3607), smoothStep(0.86, 1.02, groove + 0.03 * fibre));

    // Riper and paler regions, the pale spot it lay on, green shoulders around the stem.
    color = mix(color, rgb(0xD9600E), 0.55 * smoothStep(0.05, 0.7, clouds));
    color = mix(color, rgb(0xF7B551), 0.45 * smoothStep(-0.1, -0.7, clouds));
    const double under = smoothStep(0.62, 0.25, along / length * 2) * smoothStep(-0.55, 0.35, clouds);
    color = mix(color, rgb(0xF0C37A), 0.55 * under);
    const double shoulder = smoothStep(0.62, 0.05, to_stem + 0.16 * fibre + 0.22 * clouds);
    color = mix(color, rgb(0x7E8A2B), 0.85 * shoulder * (0.55 + 0.45 * groove));
    color = mix(color, rgb(0x4E5A1E), 0.75 * smoothStep(0.10, 0.0, to_stem + 0.03 * fibre));

    color *= 1 + 0.055 * fibre;
    paintMarks(p, along, around, rho, shoulder, color);
    return color;
  }

  /// Pores, corky dashes and warts: small marks with sharp borders.
  void paintMarks(const Vec3& p, double along, double around, double rho, double shoulder,
                  Vec3& color) const {
    // Marks keep their size: towards the poles there are fewer per turn.
    const double level = rho > 0.62 ? 1.0 : rho > 0.30 ? 0.5 : 0.25;
    const auto cells = [&](double per_rib) { return per_rib * level; };
    const auto period = [&](double per_rib) { return static_cast<int>(per_rib * level * kRibs); };

    const Dot pore = dotAt(fine_, around * cells(24), along * 40, period(24), 0.28, 0.12, 0.24);
    if (pore.distance < 1) color = mix(color, rgb(0xA24A0C), 0.60);
    const Dot pale = dotAt(fine_, around * cells(16) + 0.37, along * 26 + 0.5, period(16), 0.20, 0.10, 0.22);
    if (pale.distance < 1) color = mix(color, rgb(0xFFD48A), 0.7);
    const Dot dash = dotAt(broad_, around * cells(12), along * 8.5, period(12), 0.13, 0.09, 0.18);
    if (dash.distance < 1) color = mix(color, dash.random > 0.5 ? rgb(0xE9C48C) : rgb(0xB9661E), 0.8);

    // Scabs with a ragged outline.
    const Dot scab = dotAt(broad_, 3.7 * p + Vec3(7.3, 1.1, 3.7), 0.20, 0.08, 0.20);
    if (scab.distance < 1) {
      const double ragged = scab.distance + 0.35 * fine_.at(38 * p);
      if (ragged < 0.80) color = mix(color, rgb(0x9A5A20), 0.85);
      if (ragged < 0.62) color = mix(color, rgb(0xCFA066), 0.85);
    }
    const Dot moss = dotAt(fine_, 13 * p, 0.5, 0.1, 0.3);
    if (shoulder > 0.3 && moss.distance < 1) color = mix(color, rgb(0x56661F), 0.7);
  }

  void paintScratches(double along, double turn, Vec3& color) const {
    const double rho = shape_.radius(PumpkinPart::kBody, along);
    for (const Scratch& s : scratches_) {
      const double y = along - s.along;
      if (std::abs(y) > 0.3) continue;
      const double lap = turn - s.turn;
      const double x = kTau * rho * (lap - std::floor(lap + 0.5));
      const double size = s.dx * s.dx + s.dy * s.dy;
      const double t = (x * s.dx + y * s.dy) / size;
      if (t < -1 || t > 1) continue;
      const double across = (x * s.dy - y * s.dx) / std::sqrt(size) - s.bend * (1 - t * t);
      const double width = s.width * (1 - 0.7 * t * t);
      if (std::abs(across) < width) color = mix(color, rgb(0xEFCB94), 0.85);
      if (across >= width && across < 1.9 * width) color = mix(color, rgb(0x8F420E), 0.6);
    }
  }

  Vec3 stem(double along, double around) const {
    const double share = along / shape_.length(PumpkinPart::kStem);
    const double ridge = PumpkinShape::stemRidge(around);
    const Vec3 p = shape_.position(PumpkinPart::kStem, along, around);
    const double clouds = broad_.fractal(5.5 * p, 3);
    const double fibre = fine_.at(around * 7, share * 5, 7 * kRibs);
    const double lines = fine_.at(around * 13 + 0.6 * clouds, share * 3.2, 13 * kRibs);

    const double dry = clamp01(0.9 * smoothStep(0.35, 1.0, share + 0.25 * clouds) + 0.25 * clouds);
    Vec3 color = mix(rgb(0x66742F), rgb(0x8C7A45), dry);
    color = mix(color, rgb(0xA9A15C), 0.55 * smoothStep(0.25, 1.0, ridge + 0.35 * fibre));
    color = mix(color, rgb(0x3C451C), 0.70 * smoothStep(-0.25, -1.0, ridge + 0.35 * fibre));
    color *= 1 + 0.12 * fibre;
    // Fine dark furrows and pale corky fibres, both with sharp borders.
    if (std::abs(lines) < 0.045) color = mix(color, rgb(0x2C3113), 0.75);
    if (lines > 0.42) color = mix(color, rgb(0xC9BD86), 0.60);
    const Dot fleck = dotAt(fine_, around * 6, share * 30, 6 * kRibs, 0.25, 0.12, 0.30);
    if (fleck.distance < 1) color = mix(color, fleck.random > 0.4 ? rgb(0xCFC48E) : rgb(0x3A2A14), 0.7);
    // The corky collar where it holds on, and the bark that broke at the cut.
    const double collar = share + 0.020 * fibre + 0.012 * ridge;
    if (collar < 0.050) color = mix(color, rgb(0xB79B5E), 0.75);
    if (share + 0.015 * lines > 0.975) color = mix(color, rgb(0x5A4526), 0.8);
    return color;
  }

  Vec3 cutEnd(double along, double around) const {
    const double r = 1 - along;
    const double turn = shape_.turn(around);
    const Vec2 disc(r * sinTurns(turn), r * cosTurns(turn));
    const double wobble = broad_.fractal(Vec3(3 * disc.x(), 3 * disc.y(), 4.2), 2);
    const double grain = fine_.at(Vec3(17 * disc.x(), 17 * disc.y(), 9.1));
    if (r > 0.90 + 0.03 * wobble) return mix(rgb(0x6B5D30), rgb(0x453E1D), clamp01(0.5 + grain));
    Vec3 color = mix(rgb(0xEBDAAA), rgb(0xCFB57E), clamp01(0.25 + 0.5 * wobble + 0.4 * r));
    const double rings = 5.2 * r + 0.55 * wobble;
    const double phase = rings - std::floor(rings);
    if (phase < 0.20) color = mix(color, rgb(0x9C7A42), 0.75);
    const Dot bundle = dotAt(fine_, Vec3(5.5 * disc.x() + 20, 5.5 * disc.y() + 20, 0.5), 0.5, 0.14, 0.30);
    if (bundle.distance < 1 && r > 0.35) color = mix(color, rgb(0x7A5A2C), 0.8);
    if (r < 0.17 + 0.10 * wobble) color = rgb(0x3B2A16);
    return color * (1 + 0.07 * grain);
  }

  static constexpr double kStickerTurn = 0.448;  ///< on the crest of a rib at the back
  static constexpr double kStickerAlong = 1.50;

  const PumpkinShape& shape_;
  LatticeNoise broad_, fine_;
  std::array<Scratch, 26> scratches_;
};

}  // namespace

Image paintPumpkin(const PumpkinOptions& options, Progress& progress) {
  const int size = std::clamp(options.texture_size, 256, 4096);
  const PumpkinShape shape(options.seed);
  const PumpkinAtlas atlas(shape);
  const PumpkinPainter painter(shape, options.seed);

  Image image;
  image.name = "pumpkin";
  image.format = "png";
  image.width = image.height = size;
  image.stored_channels = 3;
  const auto side = static_cast<std::size_t>(size);
  image.rgba.resize(4 * side * side);
  // Four samples per texel, two per row and column: sharp borders come out smooth, not jagged.
  constexpr std::array<std::array<double, 2>, 4> kSamples = {
      {{0.125, 0.625}, {0.375, 0.125}, {0.625, 0.875}, {0.875, 0.375}}};
  const auto paintRows = [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      for (std::size_t x = 0; x < side; ++x) {
        const Vec2 middle((static_cast<double>(x) + 0.5) / size, (static_cast<double>(y) + 0.5) / size);
        const std::size_t chart = atlas.chartAt(middle);
        Vec3 sum = Vec3::Zero();
        for (const auto& [dx, dy] : kSamples) {
          const Vec2 uv((static_cast<double>(x) + dx) / size, (static_cast<double>(y) + dy) / size);
          const Vec3 color = painter.color(atlas.place(chart, uv));
          sum += color.cwiseMax(0.0).cwiseMin(1.0);
        }
        std::uint8_t* texel = image.rgba.data() + 4 * (y * side + x);
        for (int c = 0; c < 3; ++c)
          texel[c] = static_cast<std::uint8_t>(sum[c] / 4 * 255 + 0.5);
        texel[3] = 255;
      }
    }
  };
  // In bands, so that whoever waits sees them; the last one may be lower.
  constexpr std::size_t kBand = 64;
  progress.begin("painting the pumpkin", side);
  for (std::size_t row = 0; row < side; row += kBand) {
    const std::size_t rows = std::min(kBand, side - row);
    parallelFor(rows, 8, [&](std::size_t begin, std::size_t end) { paintRows(row + begin, row + end); });
    progress.update(row + rows, "rows");
  }
  progress.end();
  return image;
}

}  // namespace heatskin

#include "heatskin/demo/pumpkin_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "heatskin/demo/portable_math.h"

namespace heatskin {
namespace {

struct Point {
  double x, y;
};

/// The right half is the mirror image of the left one, like most knives leave it; the grin is one outline.
constexpr std::array<Point, 4> kEye = {{{-0.520, 0.195}, {-0.375, 0.455}, {-0.140, 0.190}, {-0.320, 0.150}}};
constexpr std::array<Point, 4> kNose = {{{-0.090, 0.000}, {0.0, 0.155}, {0.090, 0.000}, {0.0, 0.030}}};
constexpr std::array<Point, 27> kGrin = {{
    {-0.680, 0.060},  {-0.560, -0.050}, {-0.440, -0.110}, {-0.405, -0.035}, {-0.300, -0.062},
    {-0.285, -0.147}, {-0.150, -0.170}, {-0.060, -0.176}, {-0.050, -0.095}, {0.050, -0.095},
    {0.060, -0.176},  {0.150, -0.170},  {0.285, -0.147},  {0.300, -0.062},  {0.405, -0.035},
    {0.440, -0.110},  {0.560, -0.050},  {0.680, 0.060},   {0.620, -0.120},  {0.500, -0.250},
    {0.320, -0.348},  {0.225, -0.377},  {0.198, -0.285},  {0.085, -0.298},  {0.078, -0.405},
    {-0.140, -0.400}, {-0.450, -0.285},
}};

/// Positive inside the closed outline, negative outside; exact Euclidean distance.
double signedDistance(std::span<const Point> outline, double x, double y) {
  double nearest = 1e9;
  bool inside = false;
  for (std::size_t i = 0, j = outline.size() - 1; i < outline.size(); j = i++) {
    const Point a = outline[j], b = outline[i];
    const double ex = b.x - a.x, ey = b.y - a.y;
    const double wx = x - a.x, wy = y - a.y;
    const double t = clamp01((wx * ex + wy * ey) / (ex * ex + ey * ey));
    const double dx = wx - t * ex, dy = wy - t * ey;
    nearest = std::min(nearest, dx * dx + dy * dy);
    if ((a.y > y) != (b.y > y) && x < a.x + (y - a.y) / (b.y - a.y) * ex) inside = !inside;
  }
  const double distance = std::sqrt(nearest);
  return inside ? distance : -distance;
}

struct Stroke {
  Point a, b;
};

// Letters as straight strokes in a box 0.62 wide and 1 high (ascenders to 1.5); "heatskin".
constexpr std::array<Stroke, 4> kH = {
    {{{0, 0}, {0, 1.5}}, {{0, 0.8}, {0.3, 1}}, {{0.3, 1}, {0.6, 0.8}}, {{0.6, 0.8}, {0.6, 0}}}};
constexpr std::array<Stroke, 6> kE = {{{{0, 0.5}, {0.6, 0.5}},
                                       {{0.6, 0.5}, {0.6, 0.85}},
                                       {{0.6, 0.85}, {0.3, 1}},
                                       {{0.3, 1}, {0, 0.75}},
                                       {{0, 0.75}, {0, 0.2}},
                                       {{0, 0.2}, {0.55, 0}}}};
constexpr std::array<Stroke, 6> kA = {{{{0.05, 0.95}, {0.6, 0.95}},
                                       {{0.6, 0.95}, {0.6, 0}},
                                       {{0.6, 0.5}, {0.1, 0.5}},
                                       {{0.1, 0.5}, {0, 0.25}},
                                       {{0, 0.25}, {0.1, 0}},
                                       {{0.1, 0}, {0.6, 0.05}}}};
constexpr std::array<Stroke, 4> kT = {
    {{{0.3, 1.4}, {0.3, 0.2}}, {{0.3, 0.2}, {0.45, 0}}, {{0.45, 0}, {0.6, 0}}, {{0, 1}, {0.6, 1}}}};
constexpr std::array<Stroke, 5> kS = {{{{0.55, 0.95}, {0.05, 0.95}},
                                       {{0.05, 0.95}, {0.05, 0.55}},
                                       {{0.05, 0.55}, {0.55, 0.45}},
                                       {{0.55, 0.45}, {0.55, 0.03}},
                                       {{0.55, 0.03}, {0, 0.03}}}};
constexpr std::array<Stroke, 3> kK = {{{{0, 0}, {0, 1.5}}, {{0, 0.45}, {0.55, 1}}, {{0.2, 0.6}, {0.6, 0}}}};
constexpr std::array<Stroke, 2> kI = {{{{0.3, 0}, {0.3, 1}}, {{0.3, 1.35}, {0.3, 1.4}}}};
constexpr std::array<Stroke, 4> kN = {
    {{{0, 0}, {0, 1}}, {{0, 0.8}, {0.3, 1}}, {{0.3, 1}, {0.6, 0.8}}, {{0.6, 0.8}, {0.6, 0}}}};

double strokeDistance(std::span<const Stroke> strokes, double x, double y) {
  double nearest = 1e9;
  for (const Stroke& s : strokes) {
    const double ex = s.b.x - s.a.x, ey = s.b.y - s.a.y;
    const double wx = x - s.a.x, wy = y - s.a.y;
    const double t = clamp01((wx * ex + wy * ey) / (ex * ex + ey * ey));
    const double dx = wx - t * ex, dy = wy - t * ey;
    nearest = std::min(nearest, dx * dx + dy * dy);
  }
  return std::sqrt(nearest);
}

/// Distance from the lettering in letter heights; `x` from the left border of the word.
double wordDistance(double x, double y) {
  static constexpr std::array<std::span<const Stroke>, 8> kWord = {kH, kE, kA, kT, kS, kK, kI, kN};
  constexpr double kAdvance = 1.0;
  const auto letter = static_cast<int>(std::floor(x / kAdvance));
  if (letter < 0 || letter >= static_cast<int>(kWord.size()) || y < -0.5 || y > 2) return 1e9;
  return strokeDistance(kWord[static_cast<std::size_t>(letter)], x - letter * kAdvance - 0.19, y);
}
constexpr double kWordWidth = 8.0;

}  // namespace

double carvedDepth(const Vec2& p) {
  // Nothing is carved above the eyes, below the grin or beside it.
  if (p.y() > 0.56 || p.y() < -0.5 || std::abs(p.x()) > 0.8) return -0.1;
  const double eye = signedDistance(kEye, -std::abs(p.x()), p.y());
  const double nose = signedDistance(kNose, p.x(), p.y());
  const double grin = signedDistance(kGrin, p.x(), p.y());
  return std::max({eye, nose, grin});
}

double candleGlow(const Vec2& p) {
  const double dx = p.x() / 0.60, dy = (p.y() + 0.33) / 0.52;
  return 1 / (1 + 2.3 * (dx * dx + dy * dy));
}

void paintSticker(const Vec2& p, Vec3& color) {
  const double x = p.x() / kStickerSize.x(), y = p.y() / kStickerSize.y();
  const double r = x * x + y * y;
  if (r > 1) return;
  const Vec3 cream(0.965, 0.945, 0.875), green(0.075, 0.300, 0.215), flame(0.960, 0.560, 0.130);
  color = cream;
  if (r > 0.90) return;
  color = green;
  // A band of cream dashes inside the border.
  if (r > 0.72 && r < 0.79) color = cream;

  // The word in the middle, a flame above it, fine print below.
  constexpr double kLetter = 0.0455;  // height of an "a" in radii of the body
  const double word_x = p.x() / kLetter + 0.5 * kWordWidth, word_y = p.y() / kLetter + 0.65;
  if (wordDistance(word_x, word_y) < 0.145) color = cream;
  const double fx = p.x() / 0.030, fy = (p.y() - 0.088) / 0.040;
  const double width = 0.85 * (1 - fy) * (fy + 1.05);
  if (fy > -1 && fy < 1 && std::abs(fx + 0.25 * fy * fy) < width) {
    color = fy < 0 && std::abs(fx) < 0.35 * width ? Vec3(1.0, 0.86, 0.38) : flame;
  }
  for (int line = 0; line < 2; ++line) {
    const double ly = p.y() + 0.072 + 0.022 * line;
    const double bars = p.x() * (line == 0 ? 88.0 : 104.0);
    const double phase = bars - std::floor(bars);
    if (std::abs(ly) < 0.0065 && std::abs(p.x()) < (line == 0 ? 0.12 : 0.08) && phase < 0.62) color = cream;
  }
}

}  // namespace heatskin

#include "heatskin/pipeline/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heatskin {

RateCurve::RateCurve(std::vector<RatePoint> points) {
  for (RatePoint& p : points)
    p.psnr = std::min(p.psnr, kPerfectPsnr);
  std::sort(points.begin(), points.end(), [](const RatePoint& a, const RatePoint& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.psnr > b.psnr;
  });
  for (const RatePoint& p : points) {
    if (points_.empty() || p.psnr > points_.back().psnr) points_.push_back(p);
  }
}

double RateCurve::psnrAt(double bytes) const {
  if (points_.empty() || bytes < points_.front().bytes) return -std::numeric_limits<double>::infinity();
  const auto above = std::upper_bound(points_.begin(), points_.end(), bytes,
                                      [](double b, const RatePoint& p) { return b < p.bytes; });
  if (above == points_.end()) return points_.back().psnr;
  const RatePoint &a = *std::prev(above), &b = *above;
  const double part = std::log(bytes / a.bytes) / std::log(b.bytes / a.bytes);
  return a.psnr + part * (b.psnr - a.psnr);
}

double RateCurve::bytesFor(double psnr) const {
  psnr = std::min(psnr, kPerfectPsnr);
  const auto above = std::lower_bound(points_.begin(), points_.end(), psnr,
                                      [](const RatePoint& p, double value) { return p.psnr < value; });
  if (above == points_.end()) return std::numeric_limits<double>::infinity();
  if (above == points_.begin()) return above->bytes;
  const RatePoint &a = *std::prev(above), &b = *above;
  return a.bytes * std::pow(b.bytes / a.bytes, (psnr - a.psnr) / (b.psnr - a.psnr));
}

RateComparison compareCurves(const RateCurve& first, const RateCurve& second) {
  RateComparison result;
  if (first.empty() || second.empty()) return result;
  result.from = std::max(first.points().front().bytes, second.points().front().bytes);
  result.to = std::max(result.from, first.points().back().bytes);

  // Both curves are straight between these, over the logarithm.
  std::vector<double> knots = {result.from, result.to};
  for (const RateCurve* curve : {&first, &second}) {
    for (const RatePoint& p : curve->points()) {
      if (p.bytes > result.from && p.bytes < result.to) knots.push_back(p.bytes);
    }
  }
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  const auto gapAt = [&](double bytes) { return first.psnrAt(bytes) - second.psnrAt(bytes); };

  // Pieces in which the gap keeps its sign.
  struct Piece {
    double from, to, gap_from, gap_to;
  };
  std::vector<Piece> pieces;
  double area = 0;
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    const double a = gapAt(knots[i]), b = gapAt(knots[i + 1]);
    area += 0.5 * (a + b) * std::log(knots[i + 1] / knots[i]);
    if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
      const double crossing = knots[i] * std::pow(knots[i + 1] / knots[i], a / (a - b));
      pieces.push_back({knots[i], crossing, a, 0});
      pieces.push_back({crossing, knots[i + 1], 0, b});
    } else {
      pieces.push_back({knots[i], knots[i + 1], a, b});
    }
  }
  if (pieces.empty()) pieces.push_back({result.from, result.to, gapAt(result.from), gapAt(result.from)});
  const double width = std::log(result.to / result.from);
  result.mean_gap = width > 0 ? area / width : pieces[0].gap_from;

  const auto append = [](std::vector<RateSpan>& spans, const RateSpan& span) {
    if (spans.empty() || spans.back().better != span.better) {
      spans.push_back(span);
      return;
    }
    spans.back().to = span.to;
    if (span.gap > spans.back().gap) {
      spans.back().gap = span.gap;
      spans.back().at = span.at;
    }
  };
  std::vector<RateSpan> signs;
  for (const Piece& p : pieces) {
    const bool later = std::abs(p.gap_to) > std::abs(p.gap_from);
    const double largest = later ? p.gap_to : p.gap_from;
    append(signs, {p.from, p.to,
                   largest > 0   ? 1
                   : largest < 0 ? -1
                                 : 0,
                   std::abs(largest), later ? p.to : p.from});
  }
  for (RateSpan span : signs) {
    if (span.gap < kEqualPsnr) span.better = 0;
    append(result.spans, span);
  }
  return result;
}

}  // namespace heatskin

#pragma once

// Quality over bytes: curves through what was measured, and where one of two is above the other.

#include <cstddef>
#include <span>
#include <vector>

namespace heatskin {

/// A PSNR above this is no better than this one: nobody sees a difference, and infinities cannot be averaged.
inline constexpr double kPerfectPsnr = 60;  // dB

/// Gaps smaller than this are none.
inline constexpr double kEqualPsnr = 0.1;  // dB

/// A gap below this, on average, is no reason to choose.
inline constexpr double kClearPsnr = 0.5;  // dB

struct RatePoint {
  double bytes = 0;  ///< above 0
  double psnr = 0;   ///< dB, at most kPerfectPsnr
};

/// What is worth having of some measured points: those that no other one beats with at most as many bytes.
/// Between them quality is interpolated linearly over the logarithm of the bytes; beyond the last it stays as
/// it is, because nobody has to spend more; below the first there is none.
class RateCurve {
 public:
  RateCurve() = default;
  explicit RateCurve(std::vector<RatePoint> points);

  bool empty() const { return points_.empty(); }
  std::span<const RatePoint> points() const { return points_; }  ///< bytes and PSNR both rise

  /// dB with so many bytes; minus infinity below the first point.
  double psnrAt(double bytes) const;

  /// Bytes for so many dB: the first point's if that has more; infinite if no point has as much.
  double bytesFor(double psnr) const;

 private:
  std::vector<RatePoint> points_;
};

/// A range of bytes over which the same curve is above the other.
struct RateSpan {
  double from = 0, to = 0;  ///< bytes
  int better = 0;           ///< 1: the first curve; -1: the second; 0: equal up to kEqualPsnr
  double gap = 0;           ///< the largest, in dB, not negative
  double at = 0;            ///< bytes where it is
};

/// Two curves compared at every number of bytes from the first point that both have to the last one of the
/// first curve (the largest that was tried).
struct RateComparison {
  double from = 0, to = 0;      ///< bytes; 0 if a curve is empty
  std::vector<RateSpan> spans;  ///< from end to end of the range; none if a curve is empty
  double mean_gap = 0;  ///< first minus second, in dB: the mean over the logarithm of the bytes, as in
                        ///< Bjontegaard's delta PSNR (VCEG-M33, 2001), with straight lines instead of a cubic

  /// 1: the first is clearly above the second on average; -1: below; 0: neither.
  int choice() const { return mean_gap >= kClearPsnr ? 1 : mean_gap <= -kClearPsnr ? -1 : 0; }
};

RateComparison compareCurves(const RateCurve& first, const RateCurve& second);

}  // namespace heatskin

#pragma once

#include <cstdint>

/// Numbers of the random streams of a fit: one purpose, one stream.
namespace heatskin::streams {

inline constexpr std::uint64_t kPool = 1;
inline constexpr std::uint64_t kStartPositions = 2;
inline constexpr std::uint64_t kStartParameters = 3;
inline constexpr std::uint64_t kEvaluation = 4;
inline constexpr std::uint64_t kBatch = 5;    ///< + step << 8
inline constexpr std::uint64_t kSeeding = 6;  ///< + step << 8
inline constexpr std::uint64_t kProbes = 7;   ///< + step << 8
inline constexpr std::uint64_t kDetail = 8;
inline constexpr std::uint64_t kJitter = 9;  ///< + draw << 8; the draw of a batch is its step
inline constexpr std::uint64_t kSolve = 10;  ///< + step << 8

/// Draws that are no batch's: more than there are steps.
inline constexpr std::uint64_t kProbeDraws = std::uint64_t{1} << 40;  ///< + step
inline constexpr std::uint64_t kMeanDraw = std::uint64_t{1} << 41;
inline constexpr std::uint64_t kSolveDraws = std::uint64_t{1} << 42;  ///< + step

/// Added to a stream of points: which of them are kept, by their visibility.
inline constexpr std::uint64_t kVisibility = std::uint64_t{1} << 60;

}  // namespace heatskin::streams

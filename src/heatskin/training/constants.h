#pragma once

// Numbers of a fit that are no options: nobody tunes them. The paper's (METHOD sections 1 and 5) stand as
// published; fractions are of the run's steps.

#include <cstddef>

namespace heatskin::constants {

// Sampling.
inline constexpr double kWarmup = 0.05;      ///< uniform draws before errors count (step 250 of 5,000)
inline constexpr double kUnseenError = 1e5;  ///< Sampling::kPaper: error of a sample before its first visit
inline constexpr double kErrorKept = 0.99;  ///< Sampling::kPaper: part of the old error that stays at a visit

// Pruning, Density::kPaper.
inline constexpr double kPruneFrom = 0.1, kPruneUntil = 0.5, kPruneEvery = 0.2;
inline constexpr double kUseCountsFrom = 0.05;               ///< hits and contributions count for pruning
inline constexpr double kPruneHits = 0.0016874044638848424;  ///< of the most hits: kernels with fewer go
inline constexpr double kPruneContribution = 0.034241733313642164;  ///< kernels that contributed less go

// Densification.
inline constexpr double kDensifyFrom = 0.08, kDensifyUntil = 0.7, kDensifyEvery = 0.02;
inline constexpr double kErrorsCountFrom = 0.065;
inline constexpr double kErrorSteps = 0.015;  ///< accumulated error is divided by so many steps (75 of 5,000)
inline constexpr double kErrorThreshold = 0.02372325867109463;  ///< kernels with a larger error multiply
inline constexpr double kSplitAbove =
    0.17391363035121932;                        ///< 1 - eps above which a kernel is split, not cloned
inline constexpr double kSplitDistance = 0.15;  ///< times (1 - eps), along the long axis
inline constexpr double kSplitShrink = 1.6;     ///< by which 1 - eps of the halves is divided

// Lengths::kSpacing.
inline constexpr double kReferenceSpacing = 0.0283;  ///< of kernels of length 1: 5,000 spread over spot
inline constexpr std::size_t kSpacingNeighbours = 8;
inline constexpr double kSplitLength = 1.4;  ///< by which lengths of the halves are divided

// Automatic budgets (growth.h).
inline constexpr std::size_t kFirstBudget = 4000;
inline constexpr double kUsualGain = 4;       ///< dB for four times the kernels, before it is known
inline constexpr double kLeastGain = 0.75;    ///< dB for four times the kernels: below, more do not pay
inline constexpr double kLeastGrowth = 1.1;   ///< less is not worth a stage
inline constexpr double kLeastStage = 1.5;    ///< by which a stage grows at least, if no bound is nearer
inline constexpr double kWorthAStage = 2;     ///< times a stage's kernels that a bound must leave room for
inline constexpr double kTargetMargin = 0.3;  ///< dB
inline constexpr double kTimeMargin = 0.85;
inline constexpr double kByteMargin = 0.97;
inline constexpr double kCommonBytes = 100;   ///< of kernels in a file, however few
inline constexpr double kCautiousBytes = 16;  ///< of a kernel, before its size is known

// Density::kBudget.
inline constexpr double kCovered = 0.5;        ///< weight sum from which a place counts as covered
inline constexpr double kCoverUntil = 0.95;    ///< uncovered places get kernels until here
inline constexpr int kFillRounds = 6;          ///< for what is uncovered after the last step, at most
inline constexpr int kGapRounds = 5;           ///< for what is left of gaps then, at most
inline constexpr std::size_t kGapProbes = 20;  ///< for each kernel: gaps are smaller than kernels
inline constexpr double kGapsLeft = 1e-4;      ///< of the probes: with fewer in gaps, all is covered
inline constexpr double kFilled = 2e-4;        ///< of the kernels: with fewer new ones, all is covered
inline constexpr std::size_t kProbes = 8192;   ///< points at which errors are looked up, at least

// Solves for the values of kernels (channel_solve.h): probes for each kernel; solves that the last one is the
// mean of.
inline constexpr std::size_t kSolveProbes = 10;
inline constexpr std::size_t kManyKernels = 200'000, kFewSolveProbes = 5;  ///< for the memory's sake
inline constexpr int kLastSolves = 3;

}  // namespace heatskin::constants

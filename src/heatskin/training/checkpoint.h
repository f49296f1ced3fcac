#pragma once

// The state of a fit as a file: written now and then, read by `fit --resume`. A checkpoint belongs to one
// input, one configuration and one version of the program; with these the fit goes on to the bit.
//
// Layout, little-endian: magic, format version, size of the file, then program version, configuration (TOML),
// hash of the input, the named fields of TrainerState, of the best kernels and of FitHistory, and a checksum
// (XXH3) over all of it. Same content, same bytes: values are written, never memory with padding.

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/fingerprint.h"
#include "heatskin/base/result.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {

using InputHash = Fingerprint::Value;

/// A fingerprint of what a fit is made from: the surface's positions and faces, and what identifies the
/// target.
InputHash inputHash(const Surface& surface, const FitTarget& target);

struct Checkpoint {
  std::string program;  ///< version of heatskin that wrote it
  std::string config;   ///< configToml()
  InputHash input{};    ///< inputHash()
  TrainerState state;
  KernelSet best;  ///< of the best stage that is done; none with a given budget or in the first stage
  FitHistory history;
};

std::vector<std::uint8_t> encodeCheckpoint(const Checkpoint& checkpoint);

/// The same with a state that is elsewhere, whose errors are elsewhere again: a large fit has no room for
/// copies of them. What `checkpoint` has of both does not count.
std::vector<std::uint8_t> encodeCheckpoint(const Checkpoint& checkpoint, const TrainerState& state,
                                           std::span<const float> pool_errors);

/// Reads what encodeCheckpoint() wrote. Anything else, however slightly damaged, is an input error of one
/// line; `source` is its name in there. No allocation is larger than the file.
Result<Checkpoint> decodeCheckpoint(std::span<const std::uint8_t> bytes, const std::string& source);

/// decodeCheckpoint() of a file.
Result<Checkpoint> loadCheckpoint(const std::filesystem::path& path);

}  // namespace heatskin

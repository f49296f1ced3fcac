#pragma once

// The GLB container: a header, a JSON chunk and perhaps a BIN chunk.

#include <cstdint>
#include <optional>
#include <span>

#include "heatskin/base/result.h"

namespace heatskin::gltf {

/// The parts of a file; the spans lead into the file's bytes.
struct Container {
  std::span<const std::uint8_t> json;
  std::optional<std::span<const std::uint8_t>> bin;
};

/// True when the bytes begin with the GLB magic number.
bool hasGlbMagic(std::span<const std::uint8_t> bytes);

/// Takes a GLB file apart. Every length is checked against the file; unknown chunks after the second are
/// skipped, as the specification asks.
Result<Container> splitGlb(std::span<const std::uint8_t> bytes);

}  // namespace heatskin::gltf

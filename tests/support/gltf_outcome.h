#pragma once

// What the glTF reader makes of a file that a test has built.

#include <string>

#include "heatskin/io/gltf_reader.h"

#include "support/gltf_builder.h"

namespace heatskin::testing {

inline Result<Asset> load(const GltfBuilder& builder, const LoadOptions& options = {}) {
  return readGltfBytes(builder.glb(), "test.glb", options);
}

/// "ok", or the reader's message.
inline std::string outcome(const GltfBuilder& builder) {
  const Result<Asset> asset = load(builder);
  return asset ? "ok" : asset.error().message;
}

}  // namespace heatskin::testing

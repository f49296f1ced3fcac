#pragma once

// Internal: includes the JSON library.

#include "heatskin/io/gltf_document.h"

namespace heatskin {

/// Takes the kernels of a product out of its document, wherever they are: a product that is written again, or
/// that is to become an ordinary file.
void dropKernels(GltfDocument& document);

}  // namespace heatskin

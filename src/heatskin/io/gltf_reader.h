#pragma once

// glTF 2.0: .gltf and .glb become an Asset.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Reads a .glb or .gltf file. Supported besides the core format: KHR_draco_mesh_compression,
/// EXT_meshopt_compression, KHR_mesh_quantization, KHR_texture_transform, EXT_texture_webp,
/// EXT_mesh_gpu_instancing; the diffuse part of KHR_materials_pbrSpecularGlossiness. An unknown required
/// extension is refused by name. Meshes are taken in their rest pose. The promises of loadAsset() hold.
Result<Asset> readGltf(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same from bytes in memory, of which Asset::file becomes a copy. `path` gives the extension (.glb or
/// .gltf), the folder for external files and the name in messages; the file itself is not opened.
Result<Asset> readGltfBytes(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                            const LoadOptions& options = {});

/// The same without a copy.
Result<Asset> readGltfBytes(std::shared_ptr<const std::vector<std::uint8_t>> bytes,
                            const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace heatskin

#pragma once

// Buffers of products from outside the library: planes of kernels without their compression, and files of
// version 1, which the library reads and no longer writes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include "heatskin/io/asset.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/quantize.h"
#include "heatskin/product/source_triangles.h"

namespace heatskin::testing {

inline std::vector<std::uint8_t> deflated(std::span<const std::uint8_t> planes) {
  uLongf size = compressBound(static_cast<uLong>(planes.size()));
  std::vector<std::uint8_t> bytes(size);
  compress(bytes.data(), &size, planes.data(), static_cast<uLong>(planes.size()));
  bytes.resize(size);
  return bytes;
}

/// What a stream holds; `size` is known and right.
inline std::vector<std::uint8_t> inflated(std::span<const std::uint8_t> bytes, std::size_t size) {
  std::vector<std::uint8_t> planes(size);
  uLongf length = static_cast<uLongf>(size);
  uncompress(planes.data(), &length, bytes.data(), static_cast<uLong>(bytes.size()));
  planes.resize(length);
  return planes;
}

/// The 20 bytes of version 1 for a kernel with a base colour, as docs/format.md has them, with the standard
/// ranges. Barycentric coordinates are rounded so that they add up.
inline std::array<std::uint8_t, 20> versionOneRecord(const StoredKernel& kernel) {
  std::array<std::uint8_t, 20> bytes{};
  const auto put = [&](std::size_t at, std::uint32_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  };
  const auto part = [](double x) { return static_cast<std::uint32_t>(std::lround(65535 * x)); };
  put(0, kernel.position.triangle, 4);
  const std::uint32_t b0 = part(kernel.position.barycentric[0]);
  put(4, b0, 2);
  put(6, std::min(part(kernel.position.barycentric[1]), 65535 - b0), 2);
  put(8, static_cast<std::uint32_t>(std::lround(kernel.angle / std::numbers::pi * 65536)) % 65536, 2);
  put(10, part(std::log(kernel.anisotropy) / std::log(200.0)), 2);
  put(12, part(std::log((1 - 0.3f) / (1.0 - kernel.threshold)) / std::log((1 - 0.3f) / 0x1p-24)), 2);
  put(14, part(std::log(kernel.sharpness / 10.0) / std::log(20.0)), 2);
  const auto residual = [&](Eigen::Index c, double middle) {
    return static_cast<std::uint32_t>(std::lround((static_cast<double>(kernel.channels[c]) + 1) * middle));
  };
  put(16, residual(0, 1023) | residual(1, 1023) << 11 | residual(2, 511) << 22, 4);
  return bytes;
}

/// The extension's object of version 1 for one of version 2 with a base colour.
inline std::string versionOneJson(const ProductExtension& extension) {
  auto json = nlohmann::ordered_json::parse(writeExtension(extension));
  json["version"] = "1.1";
  json["meanColor"] = json["channels"][0]["mean"];
  json.erase("channels");
  json["kernels"].erase("bits");
  json["kernels"].erase("length");
  return json.dump();
}

/// The asset with kernels of its surface as version 1 has them, in their order and without their lengths.
inline Asset versionOneProduct(Asset asset, const Surface& surface, const KernelSet& kernels,
                               const EvaluatorOptions& options) {
  ProductExtension extension;
  extension.options = options;
  extension.mean = kernels.mean;
  extension.kernels = kernels.size();
  extension.triangles = countTriangles(asset);
  extension.info = {"test", "draft", 1, 2};
  RawExtension raw;
  raw.name = kExtensionName;
  raw.listed = true;
  raw.json = versionOneJson(extension);
  auto& view = raw.views.emplace_back();
  view.index = extension.buffer_view;
  const SourceTriangles triangles(asset, surface);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    StoredKernel kernel;
    kernel.position = triangles.toTriangle(kernels.positions[i]);
    kernel.angle = triangles.axisInTriangle(kernels.positions[i].face, kernels.angles[i]);
    kernel.anisotropy = kernels.anisotropies[i];
    kernel.threshold = kernels.thresholds[i];
    kernel.sharpness = kernels.sharpnesses[i];
    kernel.channels = kernels.channels[i];
    const auto record = versionOneRecord(kernel);
    view.bytes.insert(view.bytes.end(), record.begin(), record.end());
  }
  asset.raw_extensions = {std::move(raw)};
  return asset;
}

}  // namespace heatskin::testing

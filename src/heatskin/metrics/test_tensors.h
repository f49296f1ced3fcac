#pragma once

// Weight files made in memory, for the tests of this folder. Written from the format descriptions, apart from
// the reader.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "heatskin/base/rng.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/metrics/tensor_file.h"

namespace heatskin::testing {

using TensorMap = std::map<std::string, Tensor>;
using Bytes = std::vector<std::uint8_t>;

template <class T>
void append(Bytes& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

inline void append(Bytes& bytes, const std::string& text) {
  for (const char c : text)
    bytes.push_back(static_cast<std::uint8_t>(c));
}

inline Bytes floatBytes(const std::vector<float>& values) {
  Bytes bytes(4 * values.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A .safetensors file with any header text.
inline Bytes safetensors(const std::string& header, const Bytes& data) {
  Bytes bytes;
  append(bytes, static_cast<std::uint64_t>(header.size()));
  append(bytes, header);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

inline Bytes safetensors(const TensorMap& tensors) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  Bytes data;
  for (const auto& [name, tensor] : tensors) {
    const Bytes values = floatBytes(tensor.values);
    header += fmt::format(R"(,"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", name,
                          fmt::join(tensor.shape, ","), data.size(), data.size() + values.size());
    data.insert(data.end(), values.begin(), values.end());
  }
  return safetensors(header + "}", data);
}

/// An .npy file of version 1; `shape` as numpy prints it, "(2, 3)".
inline Bytes npy(const std::string& descr, const std::string& shape, const Bytes& data,
                 const std::string& order = "False") {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
  while ((10 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  append(bytes, static_cast<std::uint16_t>(header.size()));
  append(bytes, header);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

/// A zip archive of the given files.
inline Bytes zip(const std::map<std::string, Bytes>& files, bool deflated) {
  Bytes archive;
  Bytes directory;
  for (const auto& [name, content] : files) {
    Bytes stored = content;
    if (deflated) {
      z_stream stream{};
      deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      stored.resize(deflateBound(&stream, static_cast<uLong>(content.size())));
      stream.next_in = const_cast<Bytef*>(content.data());
      stream.avail_in = static_cast<uInt>(content.size());
      stream.next_out = stored.data();
      stream.avail_out = static_cast<uInt>(stored.size());
      deflate(&stream, Z_FINISH);
      stored.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const auto offset = static_cast<std::uint32_t>(archive.size());
    Bytes common;  // the fields that both records share
    append(common, std::uint16_t{20});
    append(common, std::uint16_t{0});
    append(common, static_cast<std::uint16_t>(deflated ? 8 : 0));
    append(common, std::uint32_t{0});
    append(common, static_cast<std::uint32_t>(crc32(0, content.data(), static_cast<uInt>(content.size()))));
    append(common, static_cast<std::uint32_t>(stored.size()));
    append(common, static_cast<std::uint32_t>(content.size()));
    append(common, static_cast<std::uint16_t>(name.size()));

    append(archive, std::string("PK\3\4"));
    archive.insert(archive.end(), common.begin(), common.end());
    append(archive, std::uint16_t{4});  // an extra field, as numpy's forced zip64 leaves one
    append(archive, name);
    append(archive, std::uint32_t{0});
    archive.insert(archive.end(), stored.begin(), stored.end());

    append(directory, std::string("PK\1\2"));
    append(directory, std::uint16_t{20});
    directory.insert(directory.end(), common.begin(), common.end());
    append(directory, std::uint16_t{0});
    append(directory, std::uint16_t{0});
    append(directory, std::uint64_t{0});
    append(directory, offset);
    append(directory, name);
  }
  const auto start = static_cast<std::uint32_t>(archive.size());
  archive.insert(archive.end(), directory.begin(), directory.end());
  append(archive, std::string("PK\5\6"));
  append(archive, std::uint32_t{0});
  append(archive, static_cast<std::uint16_t>(files.size()));
  append(archive, static_cast<std::uint16_t>(files.size()));
  append(archive, static_cast<std::uint32_t>(directory.size()));
  append(archive, start);
  append(archive, std::uint16_t{0});
  return archive;
}

inline Bytes npz(const TensorMap& tensors, bool deflated) {
  std::map<std::string, Bytes> files;
  for (const auto& [name, tensor] : tensors) {
    const std::string comma = tensor.shape.size() == 1 ? "," : "";
    files[name + ".npy"] =
        npy("<f4", fmt::format("({}{})", fmt::join(tensor.shape, ", "), comma), floatBytes(tensor.values));
  }
  return zip(files, deflated);
}

/// A full set of made-up weights with the real shapes; He scaling keeps activations near 1 through all
/// layers.
inline TensorMap madeUpWeights(LpipsNetwork network, std::uint64_t seed) {
  TensorMap tensors;
  std::uint64_t stream = 0;
  const auto fill = [&](std::vector<std::size_t> shape, double scale, double center) {
    Tensor tensor{std::move(shape), {}};
    std::size_t count = 1;
    for (std::size_t side : tensor.shape)
      count *= side;
    const RandomStream random(seed, ++stream);
    tensor.values.resize(count);
    for (std::size_t i = 0; i < count; i += 4) {
      const auto words = random.words(i);  // all four: VGG16 has 15 million weights
      for (std::size_t k = 0; k < 4 && i + k < count; ++k)
        tensor.values[i + k] = static_cast<float>(center + scale * (unitFloat(words[k]) - 0.5));
    }
    return tensor;
  };
  std::size_t in = 3;
  for (const LpipsLayer& layer : lpipsLayers(network)) {
    if (layer.kind != LpipsLayer::Kind::kConvolution) continue;
    const auto out = static_cast<std::size_t>(layer.out_channels);
    const auto side = static_cast<std::size_t>(layer.kernel);
    const double fan_in = static_cast<double>(in * side * side);
    tensors[fmt::format("features.{}.weight", layer.index)] =
        fill({out, in, side, side}, std::sqrt(24.0 / fan_in), 0.0);
    tensors[fmt::format("features.{}.bias", layer.index)] = fill({out}, 0.2, 0.0);
    if (layer.tap >= 0)
      tensors[fmt::format("lin{}.model.1.weight", layer.tap)] = fill({1, out, 1, 1}, 1.0, 0.5);
    in = out;
  }
  return tensors;
}

}  // namespace heatskin::testing

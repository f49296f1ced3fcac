#pragma once

// Arrays as numpy reads them: an .npz archive (a zip) of .npy files, deflated. The reader is
// metrics/tensor_file.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heatskin/pipeline/zip_archive.h"

namespace heatskin {

/// Collects arrays and makes the archive. The same arrays give the same bytes: entries have no time.
class NpzWriter {
 public:
  /// Adds an array in row-major order. `values` is converted: halves round to the nearest, ties to even;
  /// what is too large for a half becomes infinite.
  void addHalves(const std::string& name, std::vector<std::size_t> shape, std::span<const float> values);
  void addFloats(const std::string& name, std::vector<std::size_t> shape, std::span<const float> values);
  void addInt16s(const std::string& name, std::vector<std::size_t> shape,
                 std::span<const std::int16_t> values);
  void addInt32s(const std::string& name, std::vector<std::size_t> shape,
                 std::span<const std::int32_t> values);

  /// The archive; below 4 GiB, as all of ours are.
  std::vector<std::uint8_t> bytes() const;

 private:
  void add(const std::string& name, const char* type, const std::vector<std::size_t>& shape,
           std::span<const std::uint8_t> data);

  ZipArchive archive_;
};

}  // namespace heatskin

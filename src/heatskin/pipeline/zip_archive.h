#pragma once

// Zip archives, written in one go: what .npz and .usdz files are.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heatskin {

/// Collects files and makes the archive, below 4 GiB. The same files give the same bytes: entries have no
/// time.
class ZipArchive {
 public:
  /// `alignment`: file data begin at multiples of it (USDZ demands 64), by padding in the entry's extra
  /// field.
  explicit ZipArchive(std::size_t alignment = 1) : alignment_(alignment) {}

  void addStored(const std::string& name, std::span<const std::uint8_t> content);
  void addDeflated(const std::string& name, std::span<const std::uint8_t> content);

  std::vector<std::uint8_t> bytes() const;

 private:
  struct Entry {
    std::string name;
    std::vector<std::uint8_t> data;
    std::uint16_t method = 0;  ///< 0: stored, 8: deflated
    std::uint32_t crc = 0, size = 0;
  };
  std::size_t alignment_;
  std::vector<Entry> entries_;
};

}  // namespace heatskin

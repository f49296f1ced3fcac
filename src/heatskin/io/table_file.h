#pragma once

// Tables of numbers as .csv and .npy files: points to ask for, and answers.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

struct Table {
  std::vector<std::string> header;  ///< names of the columns, or empty
  std::size_t columns = 0;          ///< 0 for an empty text file
  std::vector<double> values;       // [rows, columns], finite
  std::size_t first_line = 0;       ///< line of row 0 in a text file; 0: the file has no lines

  std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }

  /// "line 7" or "row 6": where row `row` is in the file.
  std::string where(std::size_t row) const;
};

/// Reads comma-separated numbers (optionally under one line of names; every line has as many; blank lines
/// only at the end) or a NumPy array (versions 1 to 3; two-dimensional; float32, float64, or integers of 32
/// or 64 bits, little-endian, in C or Fortran order). Which of the two it is follows from the first bytes.
Result<Table> readTable(const std::filesystem::path& path);

/// The same from bytes; messages do not name a file.
Result<Table> parseTable(std::span<const std::uint8_t> bytes);

/// Rows as lines of comma-separated numbers, each as short as it can be without loss. `values` is [rows,
/// columns].
std::string encodeCsv(std::span<const float> values, std::size_t columns);

/// A NumPy array of float32, version 1, C order.
std::vector<std::uint8_t> encodeNpy(std::span<const float> values, std::size_t columns);

}  // namespace heatskin

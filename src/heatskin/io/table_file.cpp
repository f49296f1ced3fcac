#include "heatskin/io/table_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// No table we know has more; keeps a line of commas from becoming a table.
constexpr std::size_t kMaxColumns = 64;

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

/// The number a field holds; nothing if it is not one number and nothing else.
std::optional<double> numberOf(std::string_view field) {
  double value = 0;
  const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (problem != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

/// Calls `take(field)` for each comma-separated field; false when it asks to stop.
template <class Take>
bool forEachField(std::string_view line, const Take& take) {
  for (std::size_t begin = 0;;) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    if (!take(trimmed(line.substr(begin, comma - begin)))) return false;
    if (comma == line.size()) return true;
    begin = comma + 1;
  }
}

/// The names of the columns if every field begins like a name.
std::vector<std::string> headerOf(std::string_view line) {
  std::vector<std::string> names;
  const bool is_header = forEachField(line, [&](std::string_view field) {
    names.emplace_back(field);
    const bool letter = !field.empty() && std::isalpha(static_cast<unsigned char>(field[0])) != 0;
    return letter && !numberOf(field) && names.size() <= kMaxColumns;
  });
  return is_header ? names : std::vector<std::string>();
}

Result<Table> parseCsv(std::string_view text) {
  Table table;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t line_number = 0, blank_line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (trimmed(line).empty()) {
      if (blank_line == 0) blank_line = line_number;
      continue;
    }
    const auto refuse = [&](const std::string& cause) {
      return inputError(fmt::format("line {}: {}", line_number, cause));
    };
    if (blank_line != 0) return inputError(fmt::format("line {} is empty", blank_line));
    if (line_number == 1) {
      table.header = headerOf(line);
      if (!table.header.empty()) continue;
    }
    if (table.first_line == 0) table.first_line = line_number;
    const std::size_t before = table.values.size();
    std::optional<Error> error;
    forEachField(line, [&](std::string_view field) {
      const std::optional<double> value = numberOf(field);
      if (!value) {
        error = refuse(quoteForMessage(std::string(field)) + " is not a number");
      } else if (!std::isfinite(*value)) {
        error = refuse("a number is not finite");
      } else if (table.values.size() - before == kMaxColumns) {
        error = refuse(fmt::format("more than {} columns", kMaxColumns));
      } else {
        table.values.push_back(*value);
      }
      return !error.has_value();
    });
    if (error) return *error;
    const std::size_t columns = table.values.size() - before;
    if (table.columns == 0) table.columns = columns;
    if (columns != table.columns) {
      return refuse(
          fmt::format("{}, the lines before have {}", plural(columns, "column", "columns"), table.columns));
    }
  }
  if (!table.header.empty()) {
    if (table.columns == 0) table.columns = table.header.size();
    if (table.columns != table.header.size()) {
      return inputError(fmt::format("the first line names {}, the lines below have {}",
                                    plural(table.header.size(), "column", "columns"), table.columns));
    }
  }
  return table;
}

/// The text behind 'key': in the dictionary of an .npy header; empty when there is none.
std::string_view npyField(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return rest;
}

/// A C type with its NumPy name.
template <class T>
double numberAt(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

struct NpyType {
  std::string_view name;
  std::size_t bytes;
  double (*read)(const std::uint8_t*);
};

constexpr std::array<NpyType, 6> kNpyTypes = {{{"'<f4'", 4, numberAt<float>},
                                               {"'<f8'", 8, numberAt<double>},
                                               {"'<i4'", 4, numberAt<std::int32_t>},
                                               {"'<i8'", 8, numberAt<std::int64_t>},
                                               {"'<u4'", 4, numberAt<std::uint32_t>},
                                               {"'<u8'", 8, numberAt<std::uint64_t>}}};

/// "(rows, columns)".
std::optional<std::array<std::size_t, 2>> npyShape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::array<std::size_t, 2> shape{};
  std::size_t dimensions = 0;
  const bool complete = forEachField(text.substr(1, close - 1), [&](std::string_view field) {
    if (dimensions == 2) return false;
    const char* end = field.data() + field.size();
    const auto [at, problem] = std::from_chars(field.data(), end, shape[dimensions++]);
    return problem == std::errc() && at == end;
  });
  if (!complete || dimensions != 2) return std::nullopt;
  return shape;
}

Result<Table> parseNpy(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kStart = 10;  // magic, version, two bytes of length
  if (bytes.size() < kStart + 2) return inputError("the NumPy file ends within its header");
  const int version = bytes[6];
  if (version < 1 || version > 3)
    return inputError(fmt::format("NumPy format version {} is not known", version));
  std::size_t length = bytes[8] | std::size_t{bytes[9]} << 8;
  std::size_t start = kStart;
  if (version > 1) {
    length |= std::size_t{bytes[10]} << 16 | std::size_t{bytes[11]} << 24;
    start += 2;
  }
  if (length > bytes.size() - start) return inputError("the NumPy file ends within its header");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + start, length);
  const std::span<const std::uint8_t> data = bytes.subspan(start + length);

  const std::string_view descr = npyField(header, "descr");
  const auto type = std::find_if(kNpyTypes.begin(), kNpyTypes.end(),
                                 [&](const NpyType& t) { return descr.starts_with(t.name); });
  if (type == kNpyTypes.end()) {
    return inputError("the NumPy array must be float32, float64 or integers of 32 or 64 bits, little-endian");
  }
  const std::string_view order = npyField(header, "fortran_order");
  const bool fortran = order.starts_with("True");
  if (!fortran && !order.starts_with("False")) return inputError("the NumPy header has no fortran_order");
  const auto shape = npyShape(npyField(header, "shape"));
  if (!shape) return inputError("the NumPy array must have two dimensions");
  const auto [rows, columns] = *shape;
  if (columns == 0 || columns > kMaxColumns) {
    return inputError(fmt::format("the NumPy array has {}", plural(columns, "column", "columns")));
  }
  if (rows > data.size() / (columns * type->bytes) || rows * columns * type->bytes != data.size()) {
    return inputError(fmt::format("the NumPy array's shape ({}, {}) does not match its {} bytes", rows,
                                  columns, data.size()));
  }
  Table table;
  table.columns = columns;
  table.values.resize(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t at = fortran ? c * rows + r : r * columns + c;
      const double value = type->read(data.data() + at * type->bytes);
      if (!std::isfinite(value)) return inputError(fmt::format("row {}: a number is not finite", r));
      table.values[r * columns + c] = value;
    }
  }
  return table;
}

}  // namespace

std::string Table::where(std::size_t row) const {
  return first_line == 0 ? fmt::format("row {}", row) : fmt::format("line {}", first_line + row);
}

Result<Table> parseTable(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with(kNpyMagic) ? parseNpy(bytes) : parseCsv(text);
}

Result<Table> readTable(const std::filesystem::path& path) {
  auto bytes = readFile(path);
  if (!bytes) return bytes.error();
  try {
    auto table = parseTable(*bytes);
    if (!table) return table.error().prefixed(displayPath(path) + ": ");
    return table;
  } catch (const std::bad_alloc&) {
    return failure(displayPath(path) + ": not enough memory");
  }
}

std::string encodeCsv(std::span<const float> values, std::size_t columns) {
  fmt::memory_buffer text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}", values[i]);
    text.push_back((i + 1) % columns == 0 ? '\n' : ',');
  }
  return fmt::to_string(text);
}

std::vector<std::uint8_t> encodeNpy(std::span<const float> values, std::size_t columns) {
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
                                   values.size() / columns, columns);
  // The data begins at a multiple of 64 bytes; the header ends with a line break.
  constexpr std::size_t kStart = 10, kAlignment = 64;
  header.append(kAlignment - (kStart + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string start(kNpyMagic);
  start += {'\1', '\0', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  start += header;
  std::vector<std::uint8_t> bytes(start.size() + values.size_bytes());
  std::copy(start.begin(), start.end(), bytes.begin());
  if (!values.empty()) std::memcpy(bytes.data() + start.size(), values.data(), values.size_bytes());
  return bytes;
}

}  // namespace heatskin

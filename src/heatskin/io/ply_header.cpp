#include "heatskin/io/ply_header.h"

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "heatskin/io/obj_text.h"
#include "heatskin/io/reference.h"

namespace heatskin::ply {
namespace {

std::optional<Type> typeNamed(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Type>, 16> kNames = {{{"char", Type::kInt8},
                                                                         {"int8", Type::kInt8},
                                                                         {"uchar", Type::kUint8},
                                                                         {"uint8", Type::kUint8},
                                                                         {"short", Type::kInt16},
                                                                         {"int16", Type::kInt16},
                                                                         {"ushort", Type::kUint16},
                                                                         {"uint16", Type::kUint16},
                                                                         {"int", Type::kInt32},
                                                                         {"int32", Type::kInt32},
                                                                         {"uint", Type::kUint32},
                                                                         {"uint32", Type::kUint32},
                                                                         {"float", Type::kFloat32},
                                                                         {"float32", Type::kFloat32},
                                                                         {"double", Type::kFloat64},
                                                                         {"float64", Type::kFloat64}}};
  for (const auto& [known, type] : kNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

class HeaderParser {
 public:
  HeaderParser(std::span<const std::uint8_t> bytes, const std::string& file) : file_(file) {
    text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  Result<Header> parse() {
    if (text_.empty()) return inputError(file_ + ": the file is empty");
    if (!text_.starts_with("ply") || (text_.size() > 3 && text_[3] != '\n' && text_[3] != '\r')) {
      return inputError(file_ + ": not a PLY file (it does not begin with 'ply')");
    }
    // The first line shows how lines end; in binary data a lone CR could not be told from CR LF otherwise.
    if (text_.substr(3).starts_with("\r\n")) {
      line_end_ = "\r\n";
    } else if (text_.substr(3).starts_with("\r")) {
      line_end_ = "\r";
    }
    std::string_view line;
    bool first = true;
    while (next(line)) {
      if (std::exchange(first, false)) continue;
      text::Fields fields(line);
      const std::string_view keyword = fields.next();
      if (keyword == "end_header") return finish();
      Result<void> done = statement(keyword, fields);
      if (!done) return done.error();
    }
    return inputError(file_ + ": the header is not terminated: there is no end_header line");
  }

 private:
  Error refuse(const std::string& what) const {
    return inputError(file_ + ":" + std::to_string(header_.lines) + ": " + what);
  }

  /// A header line is never longer than this; binary data without line ends must not be searched to the end.
  static constexpr std::size_t kMaxLine = 1 << 16;

  bool next(std::string_view& line) {
    const std::string_view rest = text_.substr(at_);
    const std::size_t length = rest.substr(0, kMaxLine).find(line_end_);
    if (rest.empty() || (length == std::string_view::npos && rest.size() > kMaxLine)) return false;
    ++header_.lines;
    line = rest.substr(0, length);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ += length == std::string_view::npos ? rest.size() : length + line_end_.size();
    return true;
  }

  Result<void> statement(std::string_view keyword, text::Fields& fields) {
    if (keyword == "format") return format(fields);
    if (keyword == "element") return element(fields);
    if (keyword == "property") return property(fields);
    if (keyword == "comment") {
      text::Fields ahead = fields;
      if (text::lowerCase(ahead.next()) == "texturefile" && !ahead.empty()) {
        header_.texture_files.emplace_back(ahead.rest());
      }
      return {};
    }
    if (keyword.empty() || keyword == "obj_info") return {};
    return refuse("unknown header statement " + quoteForMessage(keyword) +
                  " (is the end_header line missing?)");
  }

  Result<void> format(text::Fields& fields) {
    const std::string_view name = fields.next();
    if (name == "ascii") {
      header_.format = Format::kAscii;
    } else if (name == "binary_little_endian") {
      header_.format = Format::kLittleEndian;
    } else if (name == "binary_big_endian") {
      header_.format = Format::kBigEndian;
    } else {
      return refuse("unknown PLY format " + quoteForMessage(name) +
                    "; ascii, binary_little_endian and binary_big_endian are known");
    }
    if (const std::string_view version = fields.next(); version != "1.0") {
      return refuse("unknown PLY version " + quoteForMessage(version) + ", only 1.0 exists");
    }
    has_format_ = true;
    return {};
  }

  Result<void> element(text::Fields& fields) {
    Element element;
    element.name = std::string(fields.next());
    const std::string_view count = fields.next();
    std::int64_t value = 0;
    if (text::parseInteger(count, value) != text::IntegerStatus::kOk || value < 0) {
      return refuse("element " + quoteForMessage(element.name) + " has an invalid count " +
                    quoteForMessage(count));
    }
    element.count = static_cast<std::size_t>(value);
    for (const Element& other : header_.elements) {
      if (other.name == element.name) return refuse("element " + quoteForMessage(element.name) + " twice");
    }
    constexpr std::size_t kMaxElements = 256;
    if (header_.elements.size() >= kMaxElements) return refuse("too many elements");
    header_.elements.push_back(std::move(element));
    return {};
  }

  Result<void> property(text::Fields& fields) {
    if (header_.elements.empty()) return refuse("property before the first element");
    std::string_view type = fields.next();
    Property property;
    if (type == "list") {
      property.is_list = true;
      const std::string_view count_type = fields.next();
      const std::optional<Type> known = typeNamed(count_type);
      if (!known || !isInteger(*known)) {
        return refuse("list count type " + quoteForMessage(count_type) + " is not an integer type");
      }
      property.count_type = *known;
      type = fields.next();
    }
    const std::optional<Type> known = typeNamed(type);
    if (!known) return refuse("unknown property type " + quoteForMessage(type));
    property.type = *known;
    property.name = std::string(fields.next());
    if (property.name.empty()) return refuse("property without a name");
    Element& element = header_.elements.back();
    if (element.find(property.name) >= 0)
      return refuse("property " + quoteForMessage(property.name) + " twice");
    constexpr std::size_t kMaxProperties = 1024;
    if (element.properties.size() >= kMaxProperties) return refuse("too many properties");
    element.properties.push_back(std::move(property));
    return {};
  }

  Result<Header> finish() {
    if (!has_format_) return refuse("the header has no format line");
    header_.data_offset = at_;
    const std::size_t left = text_.size() - at_;
    std::size_t needed = 0;
    for (const Element& element : header_.elements) {
      std::size_t row = 0;
      for (const Property& property : element.properties) {
        // In ascii a value takes a digit and a separator, except the last one of the file.
        row += header_.format == Format::kAscii
                   ? 2
                   : sizeOf(property.is_list ? property.count_type : property.type);
      }
      if (row > 0 && element.count > (left + 1 - std::min(needed, left + 1)) / row) {
        return inputError(file_ + ": the file ends early: " + std::to_string(element.count) + " of element " +
                          quoteForMessage(element.name) + " do not fit into the " + std::to_string(left) +
                          " bytes after the header");
      }
      needed += row * element.count;
    }
    return std::move(header_);
  }

  std::string file_;
  std::string_view text_;
  std::string_view line_end_ = "\n";
  std::size_t at_ = 0;
  bool has_format_ = false;
  Header header_;
};

}  // namespace

int Element::find(std::string_view property) const {
  for (std::size_t i = 0; i < properties.size(); ++i) {
    if (properties[i].name == property) return static_cast<int>(i);
  }
  return -1;
}

Result<Header> parseHeader(std::span<const std::uint8_t> bytes, const std::string& file) {
  return HeaderParser(bytes, file).parse();
}

}  // namespace heatskin::ply

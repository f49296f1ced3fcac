#include "heatskin/io/obj_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace heatskin::text {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Decimal exponent of the first non-zero digit of a well-formed number, saturated; tells overflow from
/// underflow where std::from_chars only says "out of range".
std::int64_t decimalMagnitude(std::string_view number) {
  std::int64_t magnitude = 0;
  bool point = false;
  bool significant = false;
  std::size_t i = 0;
  for (; i < number.size() && (isDigit(number[i]) || number[i] == '.'); ++i) {
    if (number[i] == '.') {
      point = true;
    } else {
      significant = significant || number[i] != '0';
      if (significant && !point) ++magnitude;
      if (!significant && point) --magnitude;
    }
  }
  std::int64_t exponent = 0;
  if (i + 1 < number.size()) {
    ++i;  // the 'e'
    const bool negative = number[i] == '-';
    if (number[i] == '-' || number[i] == '+') ++i;
    constexpr std::int64_t kSaturated = std::int64_t{1} << 40;
    for (; i < number.size() && isDigit(number[i]); ++i) {
      exponent = std::min(10 * exponent + (number[i] - '0'), kSaturated);
    }
    if (negative) exponent = -exponent;
  }
  return magnitude + exponent;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<double> parseDouble(std::string_view field) {
  if (!field.empty() && field.front() == '+') {
    field.remove_prefix(1);
    if (!field.empty() && field.front() == '-') return std::nullopt;
  }
  double value = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const bool negative = field.front() == '-';
    if (negative) field.remove_prefix(1);
    const double magnitude = decimalMagnitude(field) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return negative ? -magnitude : magnitude;
  }
  return value;
}

IntegerStatus parseInteger(std::string_view field, std::int64_t& value) {
  if (field.size() > 1 && field.front() == '+' && isDigit(field[1])) field.remove_prefix(1);
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return IntegerStatus::kNotANumber;
  return error == std::errc::result_out_of_range ? IntegerStatus::kOutOfRange : IntegerStatus::kOk;
}

LineReader::LineReader(std::span<const std::uint8_t> bytes)
    : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  feed_ = std::min(text_.find('\n', at_), text_.size());
}

std::string_view LineReader::physicalLine() {
  ++lines_read_;
  const char* const begin = text_.data() + at_;
  // The next LF is remembered: a file with CR line ends would otherwise be searched to its end for every
  // line.
  if (feed_ < at_) feed_ = std::min(text_.find('\n', at_), text_.size());
  const std::size_t length = feed_ - at_;
  if (const void* const carriage = std::memchr(begin, '\r', length); carriage != nullptr) {
    const auto at_return = static_cast<std::size_t>(static_cast<const char*>(carriage) - begin);
    const bool pair = at_return + 1 == length && feed_ < text_.size();
    if (!pair) ++lonely_;
    at_ += at_return + (pair ? 2 : 1);
    return {begin, at_return};
  }
  at_ = std::min(feed_ + 1, text_.size());
  return {begin, length};
}

bool LineReader::next(std::string_view& line) {
  if (at_ >= text_.size()) return false;
  number_ = lines_read_ + 1;
  line = physicalLine();
  // A comment that ends with a backslash (a Windows folder, say) must not swallow the next statement.
  if (!line.ends_with('\\') || trim(line).starts_with('#')) return true;
  joined_.clear();
  while (line.ends_with('\\')) {
    joined_ += line.substr(0, line.size() - 1);
    joined_ += ' ';
    if (at_ >= text_.size()) {
      line = {};
      break;
    }
    line = physicalLine();
  }
  joined_ += line;
  line = joined_;
  return true;
}

std::size_t lineOfOffset(std::span<const std::uint8_t> bytes, std::size_t offset) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < std::min(offset, bytes.size()); ++i) {
    const bool lonely_return = bytes[i] == '\r' && !(i + 1 < bytes.size() && bytes[i + 1] == '\n');
    if (bytes[i] == '\n' || lonely_return) ++line;
  }
  return line;
}

}  // namespace heatskin::text

#pragma once

// Reading line-oriented text (OBJ, MTL, PLY) from memory: lines, fields and numbers, without locale, copies
// or limits on line length.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heatskin::text {

inline bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/// `text` without blanks at both ends.
std::string_view trim(std::string_view text);

/// ASCII letters of `text` in lower case.
std::string lowerCase(std::string_view text);

/// A decimal number that fills the whole of `field`: optional sign ('+' too), digits, point, exponent, or
/// nan / inf in any case. A number beyond the range of double is infinite, one too small is zero. Empty
/// result when `field` is something else.
std::optional<double> parseDouble(std::string_view field);

/// What became of an integer field.
enum class IntegerStatus { kOk, kNotANumber, kOutOfRange };

/// A signed decimal integer that fills the whole of `field` ('+' allowed).
IntegerStatus parseInteger(std::string_view field, std::int64_t& value);

/// The fields of one line, separated by blanks.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) { skipBlanks(); }

  bool empty() const { return rest_.empty(); }

  /// The next field; empty at the end of the line.
  std::string_view next() {
    std::size_t length = 0;
    while (length < rest_.size() && !isBlank(rest_[length]))
      ++length;
    const std::string_view field = rest_.substr(0, length);
    rest_.remove_prefix(length);
    skipBlanks();
    return field;
  }

  /// Everything that was not taken yet, without blanks at both ends.
  std::string_view rest() const { return trim(rest_); }

 private:
  void skipBlanks() {
    while (!rest_.empty() && isBlank(rest_.front()))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

/// Walks through lines that end with LF, CR LF or CR; a backslash at the end of a line continues it on the
/// next one (but not a comment). A UTF-8 byte order mark at the start is skipped.
class LineReader {
 public:
  explicit LineReader(std::span<const std::uint8_t> bytes);

  /// Moves to the next line; false at the end. `line` stays valid until the next call.
  bool next(std::string_view& line);

  /// Number of the current line's first physical line, from 1.
  std::size_t number() const { return number_; }

  /// Lines so far that ended with a lone CR.
  std::size_t lonelyCarriageReturns() const { return lonely_; }

 private:
  std::string_view physicalLine();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t feed_ = 0;  // the first LF at or after at_, or the end
  std::size_t lines_read_ = 0;
  std::size_t number_ = 0;
  std::size_t lonely_ = 0;
  std::string joined_;
};

/// The number of the line that holds byte `offset`, from 1.
std::size_t lineOfOffset(std::span<const std::uint8_t> bytes, std::size_t offset);

}  // namespace heatskin::text

#pragma once

// Bad input is a value: functions that meet the outside world return Result<T>.

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace heatskin {

/// Why something could not be done; decides the exit code of the command line (DESIGN: 1, 2, 3).
enum class ErrorKind {
  kFailed = 1,  ///< failed while working (disk full, cancelled, ...)
  kUsage = 2,   ///< the caller asked for something that does not exist or contradicts itself
  kInput = 3,   ///< the input cannot be used
};

/// One line that says what, where and what to do. `message` has no trailing newline and names nothing that
/// only a front end has (options, commands): whoever shows it adds a remedy by the code.
struct Error {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;
  std::string code = {};  ///< stable and machine-readable: one of base/error_codes.h

  /// The same with more in front of the message: the file it is about.
  Error prefixed(std::string_view before) const { return {kind, std::string(before) + message, code}; }
};

inline Error inputError(std::string message, std::string_view code = "bad_input") {
  return {ErrorKind::kInput, std::move(message), std::string(code)};
}
inline Error usageError(std::string message, std::string_view code = "bad_request") {
  return {ErrorKind::kUsage, std::move(message), std::string(code)};
}
inline Error failure(std::string message, std::string_view code = "failed") {
  return {ErrorKind::kFailed, std::move(message), std::string(code)};
}

/// A value or an Error. Check with `if (!r)`; reading the wrong side is a broken promise (assert).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  T& value() & { return assert(ok()), *std::get_if<0>(&state_); }
  const T& value() const& { return assert(ok()), *std::get_if<0>(&state_); }
  T&& value() && { return assert(ok()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return assert(!ok()), *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design
  explicit operator bool() const { return !error_.has_value(); }
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return assert(error_.has_value()), *error_; }

 private:
  std::optional<Error> error_;
};

/// Something the user should know although the work went on. `code` is stable and machine-readable
/// ("duplicate_faces"), `message` is one complete sentence without a full stop, `count` how often it
/// happened.
struct Notice {
  std::string code;
  std::string message;
  std::size_t count = 1;
  bool warning = true;  ///< false: worth a note, nothing is wrong
};

}  // namespace heatskin

#pragma once

// What passes between the library and its caller besides data. Bad input is a value: functions that meet the
// outside world return Result<T>. Notices are what the caller should know although the work went on; Progress
// hears how far it is and may stop it.

#include <cassert>
#include <cstddef>
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

/// The codes of errors that a caller may want to tell apart. They stay the same from version to version,
/// unlike messages. All others have the code of their kind, one of the first three.
namespace error_code {

inline constexpr std::string_view kFailed = "failed";  ///< while working: disk, memory, another process
inline constexpr std::string_view kBadRequest = "bad_request";  ///< options that contradict themselves
inline constexpr std::string_view kBadInput = "bad_input";      ///< a file or mesh that cannot be used

inline constexpr std::string_view kCancelled = "cancelled";  ///< Progress::cancelled() said so

/// More memory than setMemoryBudget() allows; and than what the machine has, where nobody set a budget.
inline constexpr std::string_view kMemoryLimit = "memory_limit";
inline constexpr std::string_view kMachineMemory = "machine_memory";

inline constexpr std::string_view kUnknownOption = "unknown_option";  ///< a key that no fit has
inline constexpr std::string_view kOtherMethod =
    "other_method";  ///< a surface, or channels, that this method cannot take and another can
inline constexpr std::string_view kNothingToFit = "nothing_to_fit";  ///< one colour, or all of it transparent
inline constexpr std::string_view kNoKernels = "no_kernels";         ///< the file is no product
inline constexpr std::string_view kAlreadyFitted = "already_fitted";  ///< the asset to fit is a product

inline constexpr std::string_view kOtherGeometry =
    "other_geometry";  ///< triangles were reordered, rounded or edited since kernels were stored for them
inline constexpr std::string_view kOtherShape = "other_shape";  ///< a mesh that is not the kernels' own

inline constexpr std::string_view kNoViewer =
    "no_viewer";  ///< the library was built without the viewer's page

inline constexpr std::string_view kNoCheckpoint = "no_checkpoint";            ///< nothing to resume from
inline constexpr std::string_view kDamagedCheckpoint = "damaged_checkpoint";  ///< cannot be resumed by anyone
inline constexpr std::string_view kOtherCheckpoint =
    "other_checkpoint";  ///< of another version, asset or configuration
inline constexpr std::string_view kNotSaved =
    "not_saved";  ///< all steps are done, the product is not written

}  // namespace error_code

/// One line that says what, where and what to do. `message` has no trailing newline and names nothing that
/// only a front end has (options, commands): whoever shows it adds a remedy by the code.
struct Error {
  ErrorKind kind = ErrorKind::kFailed;
  std::string message;
  std::string code = {};  ///< stable and machine-readable: one of error_code

  /// The same with more in front of the message: the file it is about.
  Error prefixed(std::string_view before) const { return {kind, std::string(before) + message, code}; }
};

inline Error inputError(std::string message, std::string_view code = error_code::kBadInput) {
  return {ErrorKind::kInput, std::move(message), std::string(code)};
}
inline Error usageError(std::string message, std::string_view code = error_code::kBadRequest) {
  return {ErrorKind::kUsage, std::move(message), std::string(code)};
}
inline Error failure(std::string message, std::string_view code = error_code::kFailed) {
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

/// Receives progress; the command line draws a bar, tests and the library ignore it. Calls come from one
/// thread.
class Progress {
 public:
  virtual ~Progress() = default;

  /// A phase begins; `total` steps are expected (0: unknown).
  virtual void begin(std::string_view phase, std::size_t total) = 0;

  /// `done` steps are over; `detail` is a short text such as "psnr 34.1 dB".
  virtual void update(std::size_t done, std::string_view detail) = 0;

  /// The phase is over.
  virtual void end() = 0;

  /// True when the user asked to stop; long loops look at it between steps.
  virtual bool cancelled() const { return false; }
};

/// A Progress that does nothing; the default everywhere.
Progress& silentProgress();

}  // namespace heatskin

#pragma once

// The codes of errors that a caller may want to tell apart. They stay the same from version to version,
// unlike messages. All others have the code of their kind: "failed", "bad_request" or "bad_input".

#include <string_view>

namespace heatskin::error_code {

inline constexpr std::string_view kFailed = "failed";  ///< while working: disk, memory, another process
inline constexpr std::string_view kBadRequest = "bad_request";  ///< options that contradict themselves
inline constexpr std::string_view kBadInput = "bad_input";      ///< a file or mesh that cannot be used

inline constexpr std::string_view kCancelled = "cancelled";  ///< Progress::cancelled() said so

/// More memory than setMemoryBudget() allows; and than what the machine has, where nobody set a budget.
inline constexpr std::string_view kMemoryLimit = "memory_limit";
inline constexpr std::string_view kMachineMemory = "machine_memory";

inline constexpr std::string_view kUnknownOption = "unknown_option";  ///< a key that no fit has
inline constexpr std::string_view kOtherMethod =
    "other_method";  ///< a surface that this method cannot take and another can
inline constexpr std::string_view kNothingToFit = "nothing_to_fit";  ///< one colour, or all of it transparent
inline constexpr std::string_view kNoKernels = "no_kernels";         ///< the file is no product
inline constexpr std::string_view kAlreadyFitted = "already_fitted";  ///< the asset to fit is a product

inline constexpr std::string_view kNoCheckpoint = "no_checkpoint";            ///< nothing to resume from
inline constexpr std::string_view kDamagedCheckpoint = "damaged_checkpoint";  ///< cannot be resumed by anyone
inline constexpr std::string_view kOtherCheckpoint =
    "other_checkpoint";  ///< of another version, asset or configuration
inline constexpr std::string_view kNotSaved =
    "not_saved";  ///< all steps are done, the product is not written

}  // namespace heatskin::error_code

#include "cli/remedies.h"

#include <string_view>

#include "heatskin/base/result.h"

namespace heatskin::cli {
namespace {

struct Remedy {
  std::string_view code;
  std::string_view text;  ///< follows the message
};

constexpr Remedy kRemedies[] = {
    {error_code::kMemoryLimit, " (--max-memory)"},
    {error_code::kMachineMemory, " (--max-memory sets another limit)"},
    {error_code::kUnknownOption, "; 'heatskin fit --list-options' lists all"},
    {error_code::kOtherMethod, " (fit --method)"},
    {error_code::kNoKernels, "; give a product, the .glb that 'heatskin fit' wrote"},
    {error_code::kOtherGeometry,
     "; 'heatskin attach PRODUCT --to FILE' attaches those of the original product"},
    {error_code::kOtherShape,
     "; kernels can be attached to the same triangles only; 'heatskin transfer PRODUCT --onto FILE' carries "
     "their look over to another mesh of the shape"},
    {error_code::kNoViewer, "; 'make viewer' builds it (it needs npm)"},
    {error_code::kNoCheckpoint, "; start without --resume"},
    {error_code::kDamagedCheckpoint, "; start over without --resume"},
    {error_code::kOtherCheckpoint, " or start over without --resume"},
    {"few_kernels", " (--kernels)"},
    {"budget_raised", " (--kernels sets another one)"},
};

std::string withRemedy(const std::string& message, std::string_view code) {
  for (const Remedy& remedy : kRemedies) {
    if (remedy.code == code) return message + std::string(remedy.text);
  }
  return message;
}

}  // namespace

std::string worded(const Error& error) {
  return withRemedy(error.message, error.code);
}

std::string worded(const Notice& notice) {
  return withRemedy(notice.message, notice.code);
}

}  // namespace heatskin::cli

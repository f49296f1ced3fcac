#include "heatskin/pipeline/fit_files.h"

#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"

namespace heatskin {

std::string prefixOf(const Asset& asset) {
  return asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
}

Notice budgetNotice(const Asset& asset, const Surface& surface, const BudgetReport& report) {
  const std::size_t parts = surface.componentCount();
  const std::string what =
      fmt::format("{}{} {} too few to cover the surface ({} separate {}): it takes at least {}",
                  prefixOf(asset), grouped(report.before), report.before == 1 ? "kernel is" : "kernels are",
                  grouped(parts), parts == 1 ? "part" : "parts", grouped(report.needed));
  if (report.after == report.before) {
    return {"few_kernels",
            fmt::format("{}, and the mean colour will show where none is left; {} would be enough", what,
                        grouped(report.ample))};
  }
  return {"budget_raised", fmt::format("{}; the budget was raised to {}", what, grouped(report.after))};
}

Result<void> saveProduct(const FitJob& job, const FitConfig& config, std::span<const std::uint8_t> product,
                         StoppedBy stopped_by) {
  if (job.output.empty()) return {};
  const std::string options = configToml(config);
  std::vector<FileContent> files = {{job.output, product}};
  if (!job.resolved.empty()) {
    files.push_back(
        {job.resolved, std::span(reinterpret_cast<const std::uint8_t*>(options.data()), options.size())});
  }
  const auto write = [&] { return writeFilesAtomically(files); };
  const auto saved = job.guard ? job.guard(write) : write();
  if (!saved) return Error{saved.error().kind, saved.error().message, std::string(error_code::kNotSaved)};
  std::error_code ignored;
  if (!job.control.checkpoint.empty() && stopped_by != StoppedBy::kAsked)
    std::filesystem::remove(job.control.checkpoint, ignored);
  return {};
}

}  // namespace heatskin

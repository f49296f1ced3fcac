#include "heatskin/batch/plan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "heatskin/base/files.h"
#include "heatskin/batch/row.h"
#include "heatskin/batch/shard.h"
#include "heatskin/batch/status.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;

/// Shards of `tasks` as workers do them.
ArraySize sizeWith(std::span<const double> seconds, std::size_t tasks, int jobs) {
  ArraySize size;
  size.tasks = tasks;
  const std::vector<std::size_t> shard = balance(seconds, tasks);
  std::vector<std::vector<double>> parts(tasks), counted(tasks);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    parts[shard[i]].push_back(seconds[i]);
    counted[i * tasks / seconds.size()].push_back(seconds[i]);
  }
  for (std::size_t t = 0; t < tasks; ++t) {
    size.longest_s = std::max(size.longest_s, makespan(parts[t], static_cast<std::size_t>(jobs)));
    size.by_count_s = std::max(size.by_count_s, makespan(counted[t], static_cast<std::size_t>(jobs)));
  }
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  size.mean_s = total / static_cast<double>(tasks) / jobs;
  return size;
}

}  // namespace

Plan makePlan(const Manifest& manifest, std::span<const Cost> costs, const PlanOptions& options) {
  Plan plan;
  plan.assets = manifest.assets.size();
  if (costs.empty()) return plan;
  std::vector<double> seconds, bytes;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    seconds.push_back(options.factor * costs[i].seconds);
    bytes.push_back(costs[i].bytes);
    std::error_code problem;
    if (!fs::is_regular_file(manifest.assets[i].file, problem)) ++plan.missing;
  }
  plan.total_s = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto longest = std::max_element(seconds.begin(), seconds.end()) - seconds.begin();
  const auto largest = std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
  plan.longest_s = seconds[static_cast<std::size_t>(longest)];
  plan.longest_name = manifest.assets[static_cast<std::size_t>(longest)].output;
  plan.longest_mb = 1e-6 * bytes[static_cast<std::size_t>(largest)];
  plan.largest_name = manifest.assets[static_cast<std::size_t>(largest)].output;
  std::vector<double> sorted = seconds;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  plan.median_s = sorted[sorted.size() / 2];
  std::sort(bytes.begin(), bytes.end(), std::greater<>());
  for (std::size_t j = 0; j < std::min(bytes.size(), static_cast<std::size_t>(options.jobs)); ++j)
    plan.task_mb += 1e-6 * bytes[j];

  // The smallest array that keeps the target. The longest task does not strictly fall with their number, so
  // the search ends with a few steps up.
  const std::size_t most = std::min(options.most, seconds.size());
  std::size_t low = 1, high = most;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (sizeWith(seconds, middle, options.jobs).longest_s <= options.target_seconds) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  plan.chosen = sizeWith(seconds, low, options.jobs);
  for (int step = 0; step < 8 && plan.chosen.longest_s > options.target_seconds && plan.chosen.tasks < most;
       ++step)
    plan.chosen = sizeWith(seconds, plan.chosen.tasks + 1, options.jobs);
  plan.reached = plan.chosen.longest_s <= options.target_seconds;
  if (!plan.reached) {
    // More tasks than it takes to be left with the longest asset are idle.
    std::size_t few = 1, many = most;
    while (few < many) {
      const std::size_t middle = few + (many - few) / 2;
      if (sizeWith(seconds, middle, options.jobs).longest_s <= 1.02 * plan.chosen.longest_s) {
        many = middle;
      } else {
        few = middle + 1;
      }
    }
    plan.chosen = sizeWith(seconds, few, options.jobs);
  }
  for (const std::size_t tasks : {plan.chosen.tasks / 4, plan.chosen.tasks / 2, 2 * plan.chosen.tasks}) {
    if (tasks > 0 && tasks <= most) plan.others.push_back(sizeWith(seconds, tasks, options.jobs));
  }
  return plan;
}

Calibration calibrate(const fs::path& folder) {
  std::vector<double> ratios;
  visitRows(folder, nullptr, [&](const Json& row) {
    if (!row.contains("batch") || row.value("status", "") != "done") return;
    const Json& part = row["batch"];
    const auto number = [&](const char* key) {
      return part.contains(key) && part[key].is_number() ? part[key].get<double>() : 0.0;
    };
    // A fit that was resumed has spent time elsewhere.
    if (row.contains("resumed_at") && row["resumed_at"] != 0) return;
    if (number("predicted_s") > 0 && number("run_cpu_s") > 0)
      ratios.push_back(number("run_cpu_s") / number("predicted_s"));
  });
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  return {ratios.size(), at(0.5), at(0.1), at(0.9)};
}

std::string plannedManifest(const Manifest& manifest, std::span<const Cost> costs, double factor) {
  const auto bytes = readFile(manifest.path, kMaxManifestBytes);
  if (!bytes) return {};
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::string out;
  std::size_t next = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    if (next < manifest.assets.size() && manifest.assets[next].line == number) {
      if (Json json = Json::parse(line, nullptr, false); json.is_object()) {
        json["cost"] = std::round(1000 * factor * costs[next].seconds) / 1000;
        json["memory"] = std::round(costs[next].bytes);
        line = json.dump(-1, ' ', false, Json::error_handler_t::replace);
      }
      ++next;
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace heatskin::batch

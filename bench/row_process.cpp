#include "bench/row_process.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"

extern char** environ;

namespace heatskin::bench {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path spotIfThere() {
  const fs::path folder = assetsFolder();
  std::error_code ignored;
  const fs::path spot = folder / "spot" / "spot_triangulated.obj";
  return !folder.empty() && fs::exists(spot, ignored) ? spot : fs::path();
}

RowFolder::RowFolder() : path(fs::temp_directory_path() / fmt::format("heatskin_bench_{}", ::getpid())) {
  fs::create_directories(path);
}

RowFolder::~RowFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Result<json> runRow(const std::string& name, const BenchOptions& options, const fs::path& asset,
                    const std::string& row, const fs::path& folder) {
  const fs::path out = folder / "row.json", err = folder / "row.err";
  std::vector<std::string> words = {"heatskin",
                                    "bench",
                                    name,
                                    "--row",
                                    row,
                                    "--json",
                                    out.string(),
                                    "--seed",
                                    std::to_string(options.seed),
                                    "--threads",
                                    std::to_string(threadCount()),
                                    "--max-memory",
                                    std::to_string(memoryBudget()),
                                    "--quiet"};
  if (!asset.empty()) words.insert(words.end(), {"--asset", asset.string()});
  if (options.steps > 0) words.insert(words.end(), {"--steps", std::to_string(options.steps)});
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int problem = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return failure(fmt::format("a row cannot be started: {}", std::strerror(problem)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failure("a row was lost");
  }
  if (!WIFEXITED(status)) return failure(fmt::format("a row was ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    std::ifstream file(err);
    std::string line;
    std::getline(file, line);
    const std::string_view prefix = "heatskin: error: ";
    if (line.starts_with(prefix)) line.erase(0, prefix.size());
    return WEXITSTATUS(status) == 3 ? inputError(line) : failure(line);
  }
  const auto text = readFile(out);
  if (!text) return text.error();
  const json report = json::parse(text->begin(), text->end(), nullptr, false);
  if (!report.is_object()) return failure("a row wrote no figures");
  json values;
  for (const json& found : report["rows"])
    values[found["name"].get<std::string>()] = found["value"];
  return values;
}

}  // namespace heatskin::bench

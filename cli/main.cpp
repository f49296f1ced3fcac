// heatskin VERB [INPUT] [options]: finds the verb, reads the common options, turns whatever happens into an
// exit code and at most one line of error.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "heatskin/base/edit_distance.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/version.h"

#include "cli/build_commit.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/number_options.h"
#include "cli/remedies.h"
#include "cli/verbs.h"

namespace heatskin::cli {
namespace {

constexpr const char* kHelpHint = "; see 'heatskin --help'";

/// The likeliest meant verb, or nullptr if none is near.
const char* nearestVerb(std::string_view given) {
  const char* best = nullptr;
  std::size_t best_distance = 3;  // two slips of the finger are a slip, three are another word
  for (const VerbEntry& entry : verbs()) {
    const std::string_view name = entry.name;
    const bool prefix = given.size() >= 2 && name.substr(0, given.size()) == given;
    const std::size_t distance = prefix ? 0 : editDistance(given.substr(0, 64), name);
    if (distance < best_distance) {
      best = entry.name;
      best_distance = distance;
    }
  }
  return best;
}

Error unknownVerb(std::string_view given) {
  if (const char* nearest = nearestVerb(given)) {
    return usageError(
        fmt::format("there is no verb '{}'; did you mean '{}'? See 'heatskin --help'", given, nearest));
  }
  return usageError(fmt::format("there is no verb '{}'{}", given, kHelpHint));
}

std::string overview() {
  std::string text =
      "heatskin: textures without UVs\n\n"
      "Usage: heatskin VERB [INPUT] [options]\n\nVerbs:\n";
  for (const VerbEntry& entry : verbs())
    text += fmt::format("  {:<11} {}\n", entry.name, entry.description);
  text += fmt::format("\n{}\n{}\n\n", kEveryVerbHas, kExitCodes) +
          "Example:\n"
          "  heatskin demo-asset -o pumpkin.glb && heatskin render pumpkin.glb -o pumpkin.png\n";
  return text;
}

/// "heatskin 0.1.0 (commit, Release, AVX2)"; without git no commit.
std::string versionLine() {
  std::string parts;
  for (const std::string& part : {std::string(buildCommit()), std::string(buildType()), simdLevel()})
    if (!part.empty()) parts += (parts.empty() ? "" : ", ") + part;
  return fmt::format("heatskin {}{}\n", kVersion, parts.empty() ? "" : fmt::format(" ({})", parts));
}

/// `text` as one word of a shell.
std::string shellWord(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./=:,@%+-").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<void> runVerb(const VerbEntry& entry, std::vector<std::string> arguments, Console& console) {
  DescribedVerb described(entry);
  CLI::App& app = *described.app;
  const CommonOptions& common = described.common;
  const std::string& max_memory = described.max_memory;
  Verb* const verb = described.verb.get();
  std::string command = fmt::format("heatskin {}", entry.name);
  for (const std::string& argument : arguments)
    command += " " + shellWord(argument);
  const std::string hint = fmt::format("; see 'heatskin {} --help'", entry.name);
  if (auto numbers = checkNumberOptions(app, arguments); !numbers)
    return usageError(numbers.error().message + hint);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return console.writeStdout(app.help() + "\n");
  } catch (const CLI::CallForVersion& text) {  // an option that shows something instead of working
    return console.writeStdout(text.what());
  } catch (const CLI::ParseError& problem) {
    return usageError(problem.what() + hint);
  }

  console.setQuiet(common.quiet);
  Session session{console, common, std::move(command), {}, {}};
  if (app.count("--json") > 0) {
    if (common.json.empty()) return usageError("--json: the name of the file is empty" + hint);
    // /dev/stdout is stdout, whatever that is.
    if (const auto target = outputTarget(common.json); target && target->descriptor == 1)
      session.common.json = "-";
    if (session.common.json == "-") console.reserveStdout();
    session.files.writes(session.common.json, "--json");
  }
  if (app.count("--max-memory") > 0) {
    const auto bytes = parseBytes(max_memory);
    if (!bytes) {
      return usageError(
          fmt::format("--max-memory {}: give a size such as 4G or 500M; see 'heatskin {} --help'",
                      oneLine(max_memory), entry.name));
    }
    setMemoryBudget(*bytes);
  }
  if (app.count("--seed") > 0 && !verb->random()) {
    console.warning(fmt::format("--seed has no effect: nothing in 'heatskin {}' is random", entry.name));
  }
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (common.threads > cores) {
    console.warning(fmt::format("--threads {}: this machine has only {}; using those", common.threads,
                                counted(static_cast<std::size_t>(cores), "core", "cores")));
  }
  setThreadCount(std::min(common.threads, cores));
  // For comparisons and for reproducing another machine's roundings.
  if (const char* level = std::getenv("HEATSKIN_SIMD"); level != nullptr && !setSimdLevel(level)) {
    return usageError(fmt::format("HEATSKIN_SIMD={} is unknown; choose one of {}", oneLine(level),
                                  fmt::join(simdLevels(), ", ")));
  }
  if (auto ready = verb->prepare(session); !ready) return ready;
  if (auto settled = session.files.settle(); !settled) return settled;
  auto outcome = verb->run(session);
  if (outcome) outcome = console.flush();
  if (outcome) ignoreFurtherInterrupts();
  return outcome;
}

Result<void> run(const std::vector<std::string>& arguments, Console& console) {
  if (arguments.empty()) {
    std::string names;
    for (const VerbEntry& entry : verbs())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    return usageError(fmt::format("no verb given; choose one of {}{}", names, kHelpHint));
  }
  const std::string& first = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "--version") {
    return console.writeStdout(versionLine());
  }
  if (first == "help" && rest.size() == 1) return run({rest[0], "--help"}, console);
  if (first == "--help" || first == "-h" || first == "help") return console.writeStdout(overview());
  if (first.starts_with('-')) {
    return usageError(fmt::format("a verb comes first, not '{}'{}", first, kHelpHint));
  }
  for (const VerbEntry& entry : verbs()) {
    if (first == entry.name) return runVerb(entry, rest, console);
  }
  return unknownVerb(first);
}

/// A closed stdin, stdout or stderr would be given to the first file we open; hold its place.
void occupyStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1) {
      // Read-only, so that writing to a closed stdout still fails.
      [[maybe_unused]] const int held = ::open("/dev/null", O_RDONLY);
    }
  }
}

constexpr std::string_view kOutOfMemory =
    "out of memory; use a smaller input, a machine with more memory or a higher limit (ulimit -v)";
constexpr std::string_view kRefused =
    "the system refuses more threads or memory; raise the limits (ulimit -u, ulimit -v) or use --threads 1";

/// An exception where none may leave (a thread, a destructor) still ends as one line.
[[noreturn]] void terminated() {
  std::string_view text = "internal error, please report it";
  try {
    if (const auto problem = std::current_exception()) std::rethrow_exception(problem);
  } catch (const std::bad_alloc&) {
    text = kOutOfMemory;
  } catch (const std::system_error&) {
    text = kRefused;
  } catch (...) {
  }
  // One call and no allocation: there may be no memory for anything else.
  char line[256];
  std::size_t length = 0;
  for (const std::string_view part : {std::string_view("heatskin: error: "), text, std::string_view("\n")}) {
    length += part.copy(line + length, sizeof(line) - length);
  }
  [[maybe_unused]] const ssize_t written = ::write(2, line, length);
  ::_exit(static_cast<int>(ErrorKind::kFailed));
}

int guardedMain(int argc, char** argv) {
  Console console;
  Error error;
  try {
    handleSignals();
    const auto outcome = run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), console);
    if (outcome) return 0;
    error = outcome.error();
  } catch (const std::bad_alloc&) {
    error = failure(std::string(kOutOfMemory));
  } catch (const std::system_error&) {
    error = failure(std::string(kRefused));
  } catch (const std::exception& problem) {
    // oneTBB has no type of its own for this.
    const bool no_thread = std::string_view(problem.what()).find("pthread_create") != std::string_view::npos;
    error = failure(no_thread ? std::string(kRefused)
                              : fmt::format("internal error, please report it: {}", problem.what()));
  }
  console.error(worded(error));
  return interrupted() ? interruptExitCode() : static_cast<int>(error.kind);
}

}  // namespace
}  // namespace heatskin::cli

int main(int argc, char** argv) {
  std::set_terminate(heatskin::cli::terminated);
  heatskin::cli::occupyStandardStreams();
  try {
    return heatskin::cli::guardedMain(argc, argv);
  } catch (...) {
    heatskin::cli::terminated();
  }
}

// heatskin VERB [INPUT] [options]: finds the verb, reads the common options, turns whatever happens into an
// exit code and at most one line of error.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
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
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

struct VerbEntry {
  const char* name;
  const char* description;
  std::unique_ptr<Verb> (*make)();
};

constexpr VerbEntry kVerbs[] = {
    {"fit", "Fit kernels to an asset and write them as a GLB", makeFit},
    {"batch", "Fit many assets, on one machine or as the tasks of a cluster's job array", makeBatch},
    {"inspect", "Describe a file and report problems of its mesh", makeInspect},
    {"eval", "Measure how close a fitted texture comes to its asset", makeEval},
    {"query", "Look up colours of a fitted texture at given points", makeQuery},
    {"render",
     "Draw an asset or a product: views, turntable, contact sheet, error and coverage maps, UV atlas",
     makeRender},
    {"view", "Show products in a web browser, beside what they were fitted to", makeView},
    {"rd", "Compare kernels with UV textures and vertex colours: quality against bytes and seconds", makeRd},
    {"import", "Make a product from a model of the HKTex authors", makeImport},
    {"bake", "Turn the kernels of a product into ordinary textures or vertex values", makeBake},
    {"export", "Write a product as USDZ or PLY, or its kernels as arrays, a sidecar or an HKTex model",
     makeExport},
    {"attach", "Put the kernels of a product back into a file that other programs have worked on",
     makeAttach},
    {"transfer", "Put the look of a product or an asset onto another mesh of the shape", makeTransfer},
    {"lod", "Write levels of detail of a product: fewer triangles and kernels, the same look", makeLod},
    {"edit", "Change the mesh or the look of a product in places; all other kernels stay as they are",
     makeEdit},
    {"compare", "Measure how two pictures differ: PSNR, SSIM, MS-SSIM, FLIP, LPIPS", makeCompare},
    {"demo-asset", "Write the built-in pumpkin as a GLB", makeDemoAsset},
    {"demo", "Generate, fit and evaluate the built-in pumpkin, with a report; needs no input file", makeDemo},
    {"study", "Repeat the paper's studies: runs in processes of their own, tables and figures", makeStudy},
    {"bench", "Measure the speed of this machine with built-in benchmarks", makeBench},
};

constexpr const char* kHelpHint = "; see 'heatskin --help'";

/// The likeliest meant verb, or nullptr if none is near.
const char* nearestVerb(std::string_view given) {
  const char* best = nullptr;
  std::size_t best_distance = 3;  // two slips of the finger are a slip, three are another word
  for (const VerbEntry& entry : kVerbs) {
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
  for (const VerbEntry& entry : kVerbs)
    text += fmt::format("  {:<11} {}\n", entry.name, entry.description);
  text +=
      "\n"
      "Every verb has --help with an example, --json FILE, --seed, --threads, --max-memory and --quiet.\n"
      "Exit codes: 0 success, 1 failure while running, 2 wrong usage, 3 unusable input.\n\n"
      "Example:\n"
      "  heatskin demo-asset -o pumpkin.glb && heatskin render pumpkin.glb -o pumpkin.png\n";
  return text;
}

/// Help without the small print: name, what it takes, its default.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->get_positional()) return "";
    // The type's name is followed by the names of its checks.
    const std::string type = option->get_type_name();
    std::string text = " " + type.substr(0, type.find(':'));
    if (!option->get_default_str().empty()) text += fmt::format(" ({})", option->get_default_str());
    return text;
  }

  std::string make_positionals(const CLI::App* app) const override {
    const auto inputs = app->get_options([](const CLI::Option* o) { return o->get_positional(); });
    return inputs.empty() ? std::string() : make_group("Input", true, inputs);
  }

  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    std::string text = "\nUsage: " + app->get_name();
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = option->get_name(true);
      text += option->get_required() ? " " + name : " [" + name + "]";
    }
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional() || !option->get_required()) continue;
      text += fmt::format(" {} {}", option->get_name(), option->get_type_name());
    }
    return text + " [options]\n";
  }
};

void addCommonOptions(CLI::App& app, CommonOptions& common, std::string& max_memory) {
  const std::string title = "Options of every verb";
  app.get_help_ptr()->description("Print this help");
  app.add_option("--json", common.json, "Write results as JSON to FILE; - is stdout")
      ->type_name("FILE")
      ->group(title);
  app.add_option("--seed", common.seed, "Random seed; the same seed gives the same bytes")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))  // as TOML has it
      ->capture_default_str()
      ->group(title);
  app.add_option("--threads", common.threads,
                 "Number of threads, at most one per core; 0: all cores. Results do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(title);
  app.add_option("--max-memory", max_memory,
                 "Memory limit such as 4G or 500M; work that needs more is refused (default: four fifths of "
                 "the memory there is)")
      ->type_name("SIZE")
      ->group(title);
  app.add_flag("--quiet,-q", common.quiet,
               "Print errors only: no progress, warnings or results on the terminal")
      ->group(title);
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
  CLI::App app(entry.description, fmt::format("heatskin {}", entry.name));
  app.formatter(std::make_shared<HelpFormatter>());
  CommonOptions common;
  const auto verb = entry.make();
  common.seed = verb->defaultSeed();
  verb->describe(app);
  std::string max_memory;
  addCommonOptions(app, common, max_memory);
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
    for (const VerbEntry& entry : kVerbs)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    return usageError(fmt::format("no verb given; choose one of {}{}", names, kHelpHint));
  }
  const std::string& first = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "--version") {
    const std::string_view commit = buildCommit();
    return console.writeStdout(
        fmt::format("heatskin {}{}\n", kVersion, commit.empty() ? "" : fmt::format(" ({})", commit)));
  }
  if (first == "help" && rest.size() == 1) return run({rest[0], "--help"}, console);
  if (first == "--help" || first == "-h" || first == "help") return console.writeStdout(overview());
  if (first.starts_with('-')) {
    return usageError(fmt::format("a verb comes first, not '{}'{}", first, kHelpHint));
  }
  for (const VerbEntry& entry : kVerbs) {
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

#pragma once

// The verbs there are, and the options of each as the parser sees them: for the command line itself, for its
// manual pages and for completions.

#include <memory>
#include <span>
#include <string>

#include "cli/verb.h"

namespace heatskin::cli {

struct VerbEntry {
  const char* name;
  const char* description;
  std::unique_ptr<Verb> (*make)();
};

/// In the order in which --help lists them.
std::span<const VerbEntry> verbs();

/// Said once for all verbs, in --help and in the manual.
inline constexpr const char* kEveryVerbHas =
    "Every verb has --help with an example, --json FILE, --seed, --threads, --max-memory and --quiet.";
inline constexpr const char* kExitCodes =
    "Exit codes: 0 success, 1 failure while running, 2 wrong usage, 3 unusable input.";

/// The title of the options that every verb has.
inline constexpr const char* kCommonGroup = "Options of every verb";

/// A verb with its options declared, ready to parse. The parser writes into `verb`, `common` and
/// `max_memory`, so that it cannot be moved.
struct DescribedVerb {
  explicit DescribedVerb(const VerbEntry& entry);
  ~DescribedVerb();
  DescribedVerb(const DescribedVerb&) = delete;
  DescribedVerb& operator=(const DescribedVerb&) = delete;

  std::unique_ptr<Verb> verb;
  CommonOptions common;
  std::string max_memory;
  std::unique_ptr<CLI::App> app;
};

}  // namespace heatskin::cli

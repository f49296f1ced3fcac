#pragma once

// A verb of the command line: what it accepts and what it does. Verbs hold no algorithm; they read options,
// call the library and show the outcome.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "heatskin/base/result.h"

#include "cli/console.h"
#include "cli/file_plan.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace CLI {
class App;
}

namespace heatskin::cli {

/// Options every verb has.
struct CommonOptions {
  std::string json;        ///< where the machine-readable results go; "-": stdout, empty: nowhere
  std::uint64_t seed = 1;  ///< of everything random
  int threads = 0;         ///< 0: all cores
  bool quiet = false;
};

/// What a running verb is given.
struct Session {
  Console& console;
  CommonOptions common;
  std::string command;  ///< as the user typed it, for a shell: "heatskin fit 'my file.glb' -o out.glb"
  FilePlan files;       ///< what is read and written
  std::set<std::string> warned;  ///< about meshes: files of one run often hold the same one

  /// Set by a verb that saves its state, or has nothing left to lose: a first signal no longer ends the
  /// program.
  std::optional<GracefulInterrupt> graceful = {};
};

class Verb {
 public:
  virtual ~Verb() = default;

  /// What --seed is unless given.
  virtual std::uint64_t defaultSeed() const { return CommonOptions().seed; }

  /// Adds the verb's own options and an example to `app`, whose name and description are set.
  virtual void describe(CLI::App& app) = 0;

  /// Looks at the options and names every file that will be read or written in `session.files`, which has
  /// that of --json. Reads at most configurations, writes nothing.
  virtual Result<void> prepare(Session& session) = 0;

  /// Does the work. All outputs were checked.
  virtual Result<void> run(Session& session) = 0;

  /// False if nothing depends on --seed.
  virtual bool random() const { return true; }
};

std::unique_ptr<Verb> makeFit();
std::unique_ptr<Verb> makeInspect();
std::unique_ptr<Verb> makeEval();
std::unique_ptr<Verb> makeQuery();
std::unique_ptr<Verb> makeRender();
std::unique_ptr<Verb> makeRd();
std::unique_ptr<Verb> makeImport();
std::unique_ptr<Verb> makeExport();
std::unique_ptr<Verb> makeAttach();
std::unique_ptr<Verb> makeTransfer();
std::unique_ptr<Verb> makeLod();
std::unique_ptr<Verb> makeEdit();
std::unique_ptr<Verb> makeBake();
std::unique_ptr<Verb> makeCompare();
std::unique_ptr<Verb> makeDemoAsset();
std::unique_ptr<Verb> makeDemo();
std::unique_ptr<Verb> makeBench();
std::unique_ptr<Verb> makeStudy();
std::unique_ptr<Verb> makeView();
std::unique_ptr<Verb> makeManual();
std::unique_ptr<Verb> makeCompletion();
std::unique_ptr<Verb> makeGallery();
std::unique_ptr<Verb> makeBatch();

}  // namespace heatskin::cli

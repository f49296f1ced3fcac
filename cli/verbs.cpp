#include "cli/verbs.h"

#include <cstdint>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace heatskin::cli {
namespace {

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
    {"gallery", "Write an index page of many products, with pictures and figures", makeGallery},
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
    {"manual", "Write manual pages", makeManual},
    {"completion", "Print a script with which a shell completes verbs, options and values", makeCompletion},
};

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
  const std::string title = kCommonGroup;
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

}  // namespace

std::span<const VerbEntry> verbs() {
  return kVerbs;
}

DescribedVerb::DescribedVerb(const VerbEntry& entry)
    : verb(entry.make()),
      app(std::make_unique<CLI::App>(entry.description, fmt::format("heatskin {}", entry.name))) {
  app->formatter(std::make_shared<HelpFormatter>());
  common.seed = verb->defaultSeed();
  verb->describe(*app);
  addCommonOptions(*app, common, max_memory);
}

DescribedVerb::~DescribedVerb() = default;

}  // namespace heatskin::cli

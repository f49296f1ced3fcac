// heatskin manual: a manual page for every verb, and one for the options of a fit, made from what the parser
// and the table of options know.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/training/config.h"
#include "heatskin/version.h"

#include "cli/option_facts.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace heatskin::cli {
namespace {

/// A page before it is in any format. Texts are plain; `names` are set apart in bold, `values` in italics.
struct Term {
  std::vector<std::string> names;
  std::string value;
};

struct Block {
  enum class Kind { kSection, kParagraph, kItem, kSynopsis, kExamples } kind = Kind::kParagraph;
  std::string text = {};                  ///< title, paragraph, or what an item says of its term
  Term term = {};                         ///< of an item; of a synopsis: what is typed, and what is filled in
  std::vector<std::string> choices = {};  ///< of an item: the values there are
  std::vector<std::string> lines = {};    ///< examples
};

struct Page {
  std::string name;
  int section = 1;
  std::string what;
  std::vector<Block> blocks;

  void title(std::string text) { blocks.push_back({Block::Kind::kSection, std::move(text)}); }
  void paragraph(std::string text) { blocks.push_back({Block::Kind::kParagraph, std::move(text)}); }
  void item(Term term, std::string text, std::vector<std::string> choices = {}) {
    blocks.push_back({Block::Kind::kItem, std::move(text), std::move(term), std::move(choices)});
  }
  void synopsis(std::string typed, std::string filled_in) {
    blocks.push_back({Block::Kind::kSynopsis, {}, {{std::move(typed)}, std::move(filled_in)}});
  }
  void examples(std::vector<std::string> lines) {
    if (lines.empty()) return;
    title("Examples");
    blocks.push_back({Block::Kind::kExamples, {}, {}, {}, std::move(lines)});
  }
};

std::string upper(std::string_view text) {
  std::string raised(text);
  std::transform(raised.begin(), raised.end(), raised.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return raised;
}

/// Text as troff takes it: nothing in it is a request, and hyphens can be copied.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      default:
        escaped += c;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

/// Texts as Markdown takes them: nothing in them is markup.
std::string markdown(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\`*_[]<>#|~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

struct RoffFormat {
  static std::string text(std::string_view t) { return roff(t); }
  static std::string bold(std::string_view t) { return "\\fB" + roff(t) + "\\fR"; }
  static std::string italic(std::string_view t) { return t.empty() ? "" : "\\fI" + roff(t) + "\\fR"; }
  // The version stands for the date: the same program writes the same pages.
  static std::string head(const Page& page) {
    return fmt::format(".TH {} {} \"heatskin {}\" \"heatskin {}\" \"heatskin manual\"\n.SH NAME\n{} \\- {}\n",
                       roff(upper(page.name)), page.section, kVersion, kVersion, roff(page.name),
                       roff(page.what));
  }
  static std::string section(std::string_view title) { return ".SH " + roff(upper(title)) + "\n"; }
  static std::string paragraph(std::string_view t) { return roff(t) + "\n"; }
  /// Between blocks that follow each other without a title.
  static constexpr std::string_view kNextParagraph = ".PP\n", kNextLine = ".br\n";
  static std::string item(const std::string& term, const std::string& body) {
    return ".TP\n" + term + "\n" + body + "\n";
  }
  static std::string synopsis(const std::string& line) { return line + "\n"; }
  static std::string verbatim(const std::vector<std::string>& lines) {
    std::string out = ".nf\n";
    for (const std::string& line : lines)
      out += roff(line) + "\n";
    return out + ".fi\n";
  }
};

struct MarkdownFormat {
  static std::string text(std::string_view t) { return markdown(t); }
  static std::string bold(std::string_view t) { return "`" + std::string(t) + "`"; }
  static std::string italic(std::string_view t) { return t.empty() ? "" : "*" + markdown(t) + "*"; }
  static std::string head(const Page& page) {
    return fmt::format("# {}\n\n{}\n\n", markdown(page.name), markdown(page.what) + ".");
  }
  static std::string section(std::string_view title) { return "## " + markdown(title) + "\n\n"; }
  static std::string paragraph(std::string_view t) { return markdown(t) + "\n\n"; }
  static constexpr std::string_view kNextParagraph = {}, kNextLine = {};
  static std::string item(const std::string& term, const std::string& body) {
    return term + "\n: " + (body.empty() ? "(no description)" : body) + "\n\n";
  }
  static std::string synopsis(const std::string& line) { return line + "\n\n"; }
  static std::string verbatim(const std::vector<std::string>& lines) {
    return fmt::format("```sh\n{}\n```\n\n", fmt::join(lines, "\n"));
  }
};

template <class Format>
std::string rendered(const Page& page) {
  std::string out = Format::head(page);
  Block::Kind before = Block::Kind::kSection;
  for (const Block& block : page.blocks) {
    if (before != Block::Kind::kSection) {
      if (block.kind == Block::Kind::kParagraph) out += Format::kNextParagraph;
      if (block.kind == Block::Kind::kSynopsis) out += Format::kNextLine;
    }
    before = block.kind;
    std::string term;
    for (const std::string& name : block.term.names)
      term += (term.empty() ? "" : ", ") + Format::bold(name);
    if (!block.term.value.empty()) term += (term.empty() ? "" : " ") + Format::italic(block.term.value);
    switch (block.kind) {
      case Block::Kind::kSection:
        out += Format::section(block.text);
        break;
      case Block::Kind::kParagraph:
        out += Format::paragraph(block.text);
        break;
      case Block::Kind::kSynopsis:
        out += Format::synopsis(term);
        break;
      case Block::Kind::kExamples:
        out += Format::verbatim(block.lines);
        break;
      case Block::Kind::kItem: {
        std::string body = Format::text(block.text);
        std::string values;
        for (const std::string& choice : block.choices)
          values += (values.empty() ? "" : ", ") + Format::bold(choice);
        if (!values.empty()) body += (body.empty() ? "One of: " : " One of: ") + values + ".";
        out += Format::item(term, body);
      }
    }
  }
  return out;
}

void addExitAndEnvironment(Page& page) {
  page.title("Exit status");
  page.item({{"0"}, {}}, "Success.");
  page.item({{"1"}, {}}, "Failure while running.");
  page.item({{"2"}, {}}, "Wrong usage.");
  page.item({{"3"}, {}}, "Unusable input.");
  page.paragraph("An error is one line on the standard error stream; no file is left half written.");
  page.title("Environment");
  page.item({{"HEATSKIN_CACHE"}, {}},
            "Folder of cached preprocessing (default: ~/.cache/heatskin); off disables the cache.");
  page.item({{"HEATSKIN_SIMD"}, {}},
            "Vector instructions to use instead of the best this machine has, such as AVX2.");
}

/// Two sentences, or one.
std::string sentences(std::string first, const std::string& second) {
  if (second.empty()) return first;
  if (!first.empty() && !first.ends_with('.')) first += '.';
  return first + (first.empty() ? "" : " ") + second;
}

Page verbPage(const VerbEntry& entry) {
  const DescribedVerb verb(entry);
  const auto options = optionFacts(verb);
  const FooterFacts footer = footerFacts(verb);

  Page page{fmt::format("heatskin-{}", entry.name), 1, entry.description, {}};
  std::string arguments;
  for (const OptionFacts& option : options) {
    if (!option.input) continue;
    const std::string name = option.value + (option.repeated ? "..." : "");
    arguments += (arguments.empty() ? "" : " ") + (option.required ? name : "[" + name + "]");
  }
  for (const OptionFacts& option : options) {
    if (!option.input && option.required)
      arguments += (arguments.empty() ? "" : " ") + option.names[0] + " " + option.value;
  }
  page.title("Synopsis");
  page.synopsis(fmt::format("heatskin {}", entry.name),
                arguments + (arguments.empty() ? "" : " ") + "[options]");
  page.title("Description");
  page.paragraph(std::string(entry.description) + ".");
  for (const std::string& paragraph : footer.paragraphs)
    page.paragraph(paragraph);

  std::string group;
  for (const OptionFacts& option : options) {
    const std::string& title = option.input ? "Input" : option.group;
    if (title != group) {
      group = title;
      page.title(title);
    }
    // Long lists are a matter for the verb's own listing.
    constexpr std::size_t kMostListed = 12;
    const bool said = std::all_of(
        option.choices.begin(), option.choices.end(),
        [&](const std::string& choice) { return option.description.find(choice) != std::string::npos; });
    const bool list = !said && !option.unfinished && option.choices.size() <= kMostListed;
    std::string text = option.description;
    if (!option.fallback.empty()) text = sentences(text, fmt::format("Default: {}.", option.fallback));
    if (list && !option.choices.empty())
      text = sentences(text, {}) + (text.empty() || text.ends_with('.') ? "" : ".");
    page.item(option.input ? Term{{}, option.value} : Term{option.names, option.value}, text,
              list ? option.choices : std::vector<std::string>{});
  }
  addExitAndEnvironment(page);
  page.examples(footer.examples);
  return page;
}

Page overviewPage() {
  Page page{"heatskin", 1, "textures without UVs", {}};
  page.title("Synopsis");
  page.synopsis("heatskin", "VERB [INPUT] [options]");
  page.synopsis("heatskin --version", {});
  page.title("Description");
  page.paragraph(
      "heatskin gives triangle meshes a texture without texture coordinates: anisotropic kernels that live "
      "on the "
      "surface, fitted to how a mesh looks, evaluated at any point of it, rendered, baked, transferred and "
      "viewed.");
  page.paragraph(kEveryVerbHas);
  page.title("Verbs");
  for (const VerbEntry& entry : verbs())
    page.item({{fmt::format("heatskin-{}", entry.name)}, "(1)"}, std::string(entry.description) + ".");
  page.title("Options of a fit");
  page.item({{"heatskin-options"}, "(7)"}, "What --set and --config take.");
  addExitAndEnvironment(page);
  page.examples({"heatskin demo-asset -o pumpkin.glb", "heatskin fit pumpkin.glb -o pumpkin_fit.glb",
                 "heatskin render pumpkin_fit.glb -o pumpkin.png"});
  return page;
}

/// Options of a fit have no names of their own on the command line.
Page optionsPage() {
  const auto config = presetConfig("default");
  Page page{"heatskin-options", 7, "options of a fit", {}};
  page.title("Description");
  page.paragraph(
      "These are given as --set KEY=VALUE to the verbs that fit, or in a TOML file that --config names, "
      "where the "
      "part before the dot is the section. Defaults are those of the preset default.");
  page.title("Options");
  for (const OptionInfo& option : fitOptions()) {
    std::string text = option.help;
    if (!option.range.empty()) text = sentences(text, fmt::format("Range: {}.", option.range));
    if (config) text = sentences(text, fmt::format("Default: {}.", optionText(*config, option.key)));
    page.item({{option.key}, option.type}, text);
  }
  return page;
}

class Manual : public Verb {
 public:
  bool random() const override { return false; }

  void describe(CLI::App& app) override {
    app.add_option("-o,--output", folder_, "The folder to write the pages into")
        ->required()
        ->type_name("DIR");
    app.add_option("--format", format_, "Manual pages (man) or Markdown for a web site")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"man", "markdown"}))
        ->capture_default_str();
    app.footer(
        "Writes heatskin.1, a page for every verb and heatskin-options.7. Packages install them; 'man -l "
        "DIR/heatskin.1'\n"
        "shows one.\n\n"
        "Example:\n"
        "  heatskin manual -o man");
  }

  Result<void> prepare(Session& session) override {
    const bool man = format_ == "man";
    std::vector<std::string> names;
    const auto add = [&](const Page& page) {
      names.push_back(page.name + (man ? fmt::format(".{}", page.section) : std::string(".md")));
      pages_.emplace_back(names.back(), man ? rendered<RoffFormat>(page) : rendered<MarkdownFormat>(page));
    };
    add(overviewPage());
    for (const VerbEntry& entry : verbs())
      add(verbPage(entry));
    add(optionsPage());
    session.files.writesInto(folder_, names, "-o");
    return {};
  }

  Result<void> run(Session& session) override {
    Json files = Json::array();
    for (const auto& [name, text] : pages_) {
      if (auto saved = saveText(std::filesystem::path(folder_) / name, text); !saved) return saved;
      files.push_back(name);
    }
    return saveJson(session.console, session.common.json,
                    {{"folder", displayPath(folder_)}, {"files", files}});
  }

 private:
  std::string folder_, format_ = "man";
  std::vector<std::pair<std::string, std::string>> pages_;
};

}  // namespace

std::unique_ptr<Verb> makeManual() {
  return std::make_unique<Manual>();
}

}  // namespace heatskin::cli

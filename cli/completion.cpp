// heatskin completion: what a shell needs to complete verbs, options and their values, made from the parser's
// own declarations.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/option_facts.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace heatskin::cli {
namespace {

struct VerbFacts {
  std::string name, description;
  std::vector<OptionFacts> options;
};

std::vector<VerbFacts> allFacts() {
  std::vector<VerbFacts> facts;
  for (const VerbEntry& entry : verbs())
    facts.push_back({entry.name, entry.description, optionFacts(DescribedVerb(entry))});
  return facts;
}

/// Names that only the program knows when it is asked: of studies and benches. The command that prints them.
std::string_view listOfNames(std::string_view verb) {
  if (verb == "study") return "heatskin study --list";
  if (verb == "bench") return "heatskin bench --names";
  return {};
}

std::string oneOf(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

const OptionFacts* firstInput(const VerbFacts& verb) {
  const auto it = std::find_if(verb.options.begin(), verb.options.end(),
                               [](const OptionFacts& option) { return option.input; });
  return it == verb.options.end() ? nullptr : &*it;
}

/// Commands of bash that offer what an option takes and return.
std::string bashValue(const OptionFacts& option) {
  switch (option.offered) {
    case Offered::kChoices:
      return fmt::format("{}_heatskin_words \"{}\"; return", option.unfinished ? "compopt -o nospace; " : "",
                         oneOf(option.choices));
    case Offered::kFolder:
      return "_heatskin_folders; return";
    case Offered::kFile:
      return "return";
    case Offered::kNothing:
      break;
  }
  return "_heatskin_nothing; return";
}

std::string bashScript(const std::vector<VerbFacts>& all) {
  std::string names;
  for (const VerbFacts& verb : all)
    names += (names.empty() ? "" : " ") + verb.name;
  std::string text =
      "# Completion of heatskin for bash, written by 'heatskin completion bash'.\n"
      "\n"
      "_heatskin_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); _heatskin_no_files; }\n"
      "_heatskin_folders() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); "
      "_heatskin_no_files; }\n"
      "_heatskin_nothing() { _heatskin_no_files; }\n"
      "# Without words readline offers files; not where there can be none.\n"
      "_heatskin_no_files() { compopt +o default +o bashdefault; }\n"
      "\n"
      "_heatskin() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  # readline takes --option=value for three words\n"
      "  if [[ $cur == \"=\" ]]; then cur=; elif [[ $prev == \"=\" ]]; then "
      "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  if [[ $COMP_CWORD == 1 ]]; then\n";
  text += fmt::format("    _heatskin_words \"{} help --help --version\"; return\n  fi\n", names);
  text += fmt::format(
      "  case ${{COMP_WORDS[1]}} in\n  help)\n    [[ $COMP_CWORD == 2 ]] && _heatskin_words \"{}\" ;;\n",
      names);
  for (const VerbFacts& verb : all) {
    text += fmt::format("  {})\n    case $prev in\n", verb.name);
    std::vector<std::string> offered;
    for (const OptionFacts& option : verb.options) {
      if (option.input) continue;
      offered.insert(offered.end(), option.names.begin(), option.names.end());
      if (!option.value.empty())
        text += fmt::format("    {}) {} ;;\n", fmt::join(option.names, "|"), bashValue(option));
    }
    text += fmt::format("    esac\n    if [[ $cur == -* ]]; then _heatskin_words \"{}\"; return; fi\n",
                        oneOf(offered));
    const OptionFacts* input = firstInput(verb);
    if (const auto list = listOfNames(verb.name); !list.empty()) {
      text += fmt::format("    _heatskin_words \"$({} 2>/dev/null)\" ;;\n", list);
    } else {
      text += fmt::format("    {} ;;\n", input == nullptr ? "_heatskin_nothing; return" : bashValue(*input));
    }
  }
  return text + "  esac\n}\ncomplete -o bashdefault -o default -F _heatskin heatskin\n";
}

/// Inside single quotes of zsh and fish.
std::string quoted(std::string_view text, std::string_view quote_as, std::string_view also_escaped) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += quote_as;
    } else if (also_escaped.find(c) != std::string_view::npos) {
      escaped += '\\';
      escaped += c;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string zshText(std::string_view text) {
  return quoted(text, "'\\''", "[]:\\");
}

std::string zshAction(const OptionFacts& option) {
  switch (option.offered) {
    case Offered::kChoices:
      return option.unfinished ? fmt::format("compadd -S \"\" -- {}", oneOf(option.choices))
                               : fmt::format("({})", oneOf(option.choices));
    case Offered::kFolder:
      return "_files -/";
    case Offered::kFile:
      return "_files";
    case Offered::kNothing:
      break;
  }
  return " ";
}

std::string zshScript(const std::vector<VerbFacts>& all) {
  std::string text =
      "#compdef heatskin\n# Completion of heatskin for zsh, written by 'heatskin completion zsh'.\n\n"
      "_heatskin() {\n  local context state state_descr line\n  typeset -A opt_args\n  local -a verbs\n  "
      "verbs=(\n";
  for (const VerbFacts& verb : all)
    text += fmt::format("    '{}:{}'\n", verb.name, zshText(verb.description));
  text +=
      "    'help:Help for a verb'\n  )\n"
      "  _arguments -C '--version[Version, commit, build type and vector instructions]' '--help[List of "
      "verbs]' "
      "'1:verb:->verb' '*::argument:->rest'\n"
      "  case $state in\n  verb) _describe -t verbs verb verbs ;;\n  rest)\n    case $words[1] in\n"
      "    help) _describe -t verbs verb verbs ;;\n";
  for (const VerbFacts& verb : all) {
    text += fmt::format("    {})\n      _arguments -s", verb.name);
    for (const OptionFacts& option : verb.options) {
      if (option.input) continue;
      for (const std::string& name : option.names) {
        std::string others;
        if (!option.repeated) others = fmt::format("({})", oneOf(option.names));
        text += fmt::format(" \\\n        '{}{}{}[{}]", option.repeated ? "*" : "", others, name,
                            zshText(option.description));
        if (!option.value.empty()) text += fmt::format(":{}:{}", zshText(option.value), zshAction(option));
        text += "'";
      }
    }
    const OptionFacts* input = firstInput(verb);
    if (const auto list = listOfNames(verb.name); !list.empty()) {
      text += fmt::format(" \\\n        '*:name:($({} 2>/dev/null))'", list);
    } else if (input != nullptr) {
      text += fmt::format(" \\\n        '*:{}:{}'", zshText(input->value), zshAction(*input));
    }
    text += " ;;\n";
  }
  return text +
         "    esac ;;\n  esac\n}\n\n"
         "if [[ $funcstack[1] == _heatskin ]]; then _heatskin \"$@\"; else compdef _heatskin heatskin; fi\n";
}

std::string fishText(std::string_view text) {
  return quoted(text, "\\'", "\\");
}

std::string fishScript(const std::vector<VerbFacts>& all) {
  std::string text =
      "# Completion of heatskin for fish, written by 'heatskin completion fish'.\n\n"
      "complete -c heatskin -f\n"
      "complete -c heatskin -n __fish_use_subcommand -l version -d 'Version, commit, build type and vector "
      "instructions'\n"
      "complete -c heatskin -n __fish_use_subcommand -l help -d 'List of verbs'\n";
  for (const VerbFacts& verb : all)
    text += fmt::format("complete -c heatskin -n __fish_use_subcommand -a {} -d '{}'\n", verb.name,
                        fishText(verb.description));
  for (const VerbFacts& verb : all) {
    const std::string begin =
        fmt::format("complete -c heatskin -n '__fish_seen_subcommand_from {}'", verb.name);
    const auto value = [](const OptionFacts& option) {
      switch (option.offered) {
        case Offered::kChoices:
          return fmt::format(" -x -a '{}'", fishText(oneOf(option.choices)));
        case Offered::kFolder:
          return std::string(" -x -a '(__fish_complete_directories)'");
        case Offered::kFile:
          return std::string(" -r -F");
        case Offered::kNothing:
          break;
      }
      return std::string(" -x");
    };
    for (const OptionFacts& option : verb.options) {
      if (option.input) continue;
      text += begin;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) text += value(option);
      text += fmt::format(" -d '{}'\n", fishText(option.description));
    }
    const OptionFacts* input = firstInput(verb);
    if (const auto list = listOfNames(verb.name); !list.empty()) {
      text += fmt::format("{} -a '({} 2>/dev/null)'\n", begin, list);
    } else if (input != nullptr && input->offered == Offered::kChoices) {
      text += fmt::format("{} -a '{}'\n", begin, fishText(oneOf(input->choices)));
    } else if (input != nullptr && input->offered == Offered::kFile) {
      text += begin + " -F\n";
    }
  }
  return text;
}

class Completion : public Verb {
 public:
  bool random() const override { return false; }

  void describe(CLI::App& app) override {
    app.add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    app.footer(
        "Packages install these scripts. By hand: 'source <(heatskin completion bash)' in ~/.bashrc; for zsh "
        "a file "
        "_heatskin\n"
        "in a folder of $fpath; for fish ~/.config/fish/completions/heatskin.fish.\n\n"
        "Example:\n"
        "  heatskin completion bash > /etc/bash_completion.d/heatskin");
  }

  Result<void> prepare(Session& session) override {
    if (session.common.json == "-") return usageError("--json -: stdout has the script");
    return {};
  }

  Result<void> run(Session& session) override {
    const auto all = allFacts();
    const std::string script = shell_ == "bash"  ? bashScript(all)
                               : shell_ == "zsh" ? zshScript(all)
                                                 : fishScript(all);
    if (auto written = session.console.writeStdout(script); !written) return written;
    return saveJson(session.console, session.common.json, {{"shell", shell_}});
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> makeCompletion() {
  return std::make_unique<Completion>();
}

}  // namespace heatskin::cli

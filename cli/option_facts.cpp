#include "cli/option_facts.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "heatskin/evaluators/method.h"
#include "heatskin/training/config.h"

namespace heatskin::cli {
namespace {

/// Lines that were broken for a terminal, as one.
std::string oneParagraph(std::string_view text) {
  std::string joined;
  for (const char c : text) {
    const bool space = c == '\n' || c == ' ' || c == '\t';
    if (!space) {
      joined += c;
    } else if (!joined.empty() && joined.back() != ' ') {
      joined += ' ';
    }
  }
  while (joined.ends_with(' '))
    joined.pop_back();
  return joined;
}

std::vector<std::string> splitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Values of options that are checked where they are used, not by the parser.
std::vector<std::string> knownValues(std::string_view name) {
  if (name == "--preset") return presetNames();
  if (name == "--method") return {std::begin(kMethodNames), std::end(kMethodNames)};
  if (name != "--set") return {};
  std::vector<std::string> keys;
  for (const OptionInfo& option : fitOptions())
    keys.push_back(option.key + "=");
  return keys;
}

/// By the value's name, as in "OUT.glb", "DIR", "ASSET": what is in capitals there is meant literally by
/// nobody.
Offered offeredFor(std::string_view value) {
  if (value == "DIR") return Offered::kFolder;
  constexpr std::string_view kFiles[] = {"FILE",  "FILES", "ASSET",   "PRODUCT",  "MESH",
                                         "MODEL", "PNG",   "CHANGED", "TEXTURED", "KERNELS",
                                         "P",     "PATCH", "IMAGE",   "A",        "B"};
  const bool file = value.find('.') != std::string_view::npos ||
                    std::find(std::begin(kFiles), std::end(kFiles), value) != std::end(kFiles);
  return file && value.find("..") == std::string_view::npos ? Offered::kFile : Offered::kNothing;
}

OptionFacts factsOf(const CLI::Option& option) {
  OptionFacts facts;
  facts.input = option.get_positional();
  if (facts.input) {
    facts.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames())
      facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
      facts.names.push_back("--" + name);
  }
  // CLI11 appends what its checks accept: "N:INT in [1 - 8]", "NAME:{texture,vertex}".
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (facts.input) {
    facts.value = facts.names[0];
  } else if (option.get_type_size() != 0) {
    facts.value = type.substr(0, colon);
  }
  if (!facts.value.empty()) {
    const std::size_t open = type.find('{'), close = type.rfind('}');
    if (colon != std::string::npos && open != std::string::npos && close != std::string::npos &&
        open < close) {
      facts.choices = splitAt(std::string_view(type).substr(open + 1, close - open - 1), ',');
    } else if (!facts.input && facts.value.find('|') != std::string::npos) {
      facts.choices = splitAt(facts.value, '|');
      std::erase(facts.choices, "N");
    } else {
      facts.choices = knownValues(facts.names.back());
    }
    facts.unfinished = !facts.choices.empty() && facts.choices[0].ends_with('=');
    facts.offered = facts.choices.empty() ? offeredFor(facts.value) : Offered::kChoices;
  }
  facts.description = oneParagraph(option.get_description());
  facts.fallback = option.get_default_str();
  facts.group = option.get_group();
  facts.required = option.get_required();
  facts.repeated = option.get_items_expected_max() > 1 ||
                   option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return facts;
}

}  // namespace

std::vector<OptionFacts> optionFacts(const DescribedVerb& verb) {
  std::vector<OptionFacts> inputs, options;
  for (const CLI::Option* option : verb.app->get_options()) {
    OptionFacts facts = factsOf(*option);
    if (facts.group.empty()) continue;  // hidden
    (facts.input ? inputs : options).push_back(std::move(facts));
  }
  inputs.insert(inputs.end(), std::make_move_iterator(options.begin()),
                std::make_move_iterator(options.end()));
  return inputs;
}

FooterFacts footerFacts(const DescribedVerb& verb) {
  FooterFacts facts;
  std::string paragraph;
  const auto finish = [&] {
    const std::string text = oneParagraph(paragraph);
    if (!text.empty()) facts.paragraphs.push_back(text);
    paragraph.clear();
  };
  bool examples = false;
  std::istringstream lines(verb.app->get_footer());
  for (std::string line; std::getline(lines, line);) {
    if (line == "Example:") {
      finish();
      examples = true;
    } else if (examples) {
      if (const std::string command = oneParagraph(line); !command.empty()) facts.examples.push_back(line);
    } else if (line.empty()) {
      finish();
    } else {
      paragraph += line + "\n";
    }
  }
  finish();
  for (std::string& example : facts.examples)
    example.erase(0, example.find_first_not_of(' '));
  return facts;
}

}  // namespace heatskin::cli

#pragma once

// What a manual page or a completion says of an option, read from the parser's own declaration, so that none
// of them can name an option that is not there.

#include <string>
#include <vector>

#include "cli/verbs.h"

namespace heatskin::cli {

/// What a shell offers for a value.
enum class Offered {
  kNothing,  ///< a number, a free text
  kChoices,  ///< OptionFacts::choices
  kFile,
  kFolder,
};

struct OptionFacts {
  std::vector<std::string> names;    ///< "-o", "--output"; for an input its name, "ASSET"
  std::string value;                 ///< "N", "OUT.glb"; empty: a switch
  std::string description;           ///< one line
  std::string fallback;              ///< its value unless given; may be empty
  std::string group;                 ///< the title it stands under
  std::vector<std::string> choices;  ///< all values, where they can be listed
  Offered offered = Offered::kNothing;
  bool input = false;       ///< given by its place, without a name
  bool required = false;    ///< the verb refuses to run without
  bool repeated = false;    ///< may be given several times
  bool unfinished = false;  ///< a choice is the beginning of a value: KEY=
};

/// The options of a verb, inputs first, otherwise in the order of --help.
std::vector<OptionFacts> optionFacts(const DescribedVerb& verb);

/// The text below the options: paragraphs of prose and, indented, of examples.
struct FooterFacts {
  std::vector<std::string> paragraphs;  ///< each one line
  std::vector<std::string> examples;    ///< commands
};

FooterFacts footerFacts(const DescribedVerb& verb);

}  // namespace heatskin::cli

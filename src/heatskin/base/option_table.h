#pragma once

// Options as data: one line for every member of an options struct. Parsing, ranges, help, TOML files, the
// identity of checkpoints and the options in product files all follow from these lines.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace heatskin {

using OptionValue = std::variant<bool, std::int64_t, double, std::string_view>;

enum class OptionType { kBool, kInteger, kNumber, kChoice };

/// One member of an options struct.
struct Option {
  std::string_view key;  ///< in TOML and on the command line: words_with_underscores
  OptionType type = OptionType::kNumber;
  double low = 0, high = 0;                      ///< allowed numbers, both included
  std::span<const std::string_view> names = {};  ///< of a choice, in the order of its enum
  OptionValue (*get)(const void* options) = nullptr;
  void (*set)(void* options, const OptionValue& value) = nullptr;
  std::string_view help;
  std::string_view when_key, when_value;  ///< counts only if that option has that value; empty: always
  bool stored = true;                     ///< of a method: decides colours, so products hold it

  constexpr Option when(std::string_view other, std::string_view value) const {
    Option copy = *this;
    copy.when_key = other;
    copy.when_value = value;
    return copy;
  }
  constexpr Option notStored() const {
    Option copy = *this;
    copy.stored = false;
    return copy;
  }
};

namespace option_table {

template <class>
struct MemberOf;
template <class S, class M>
struct MemberOf<M S::*> {
  using Struct = S;
  using Member = M;
};

}  // namespace option_table

/// The line of a number or a switch: option<&LocalOptions::max_radius>("max_radius", 1e-4, 10, "...").
template <auto Pointer>
constexpr Option option(std::string_view key, double low, double high, std::string_view help) {
  using Struct = typename option_table::MemberOf<decltype(Pointer)>::Struct;
  using Member = typename option_table::MemberOf<decltype(Pointer)>::Member;
  using Stored =
      std::conditional_t<std::is_same_v<Member, bool>, bool,
                         std::conditional_t<std::is_floating_point_v<Member>, double, std::int64_t>>;
  Option o;
  o.key = key;
  o.type = std::is_same_v<Stored, bool>     ? OptionType::kBool
           : std::is_same_v<Stored, double> ? OptionType::kNumber
                                            : OptionType::kInteger;
  o.low = low;
  o.high = high;
  o.help = help;
  o.get = [](const void* s) {
    return OptionValue(static_cast<Stored>(static_cast<const Struct*>(s)->*Pointer));
  };
  o.set = [](void* s, const OptionValue& v) {
    static_cast<Struct*>(s)->*Pointer = static_cast<Member>(std::get<Stored>(v));
  };
  return o;
}

template <auto Pointer>
constexpr Option option(std::string_view key, std::string_view help) {
  static_assert(std::is_same_v<bool, typename option_table::MemberOf<decltype(Pointer)>::Member>,
                "a number needs a range");
  return option<Pointer>(key, 0, 1, help);
}

/// The line of an enum whose values have `Names`.
template <auto Pointer, const auto& Names>
constexpr Option choice(std::string_view key, std::string_view help) {
  using Struct = typename option_table::MemberOf<decltype(Pointer)>::Struct;
  using Member = typename option_table::MemberOf<decltype(Pointer)>::Member;
  static_assert(std::is_enum_v<Member>);
  Option o;
  o.key = key;
  o.type = OptionType::kChoice;
  o.names = Names;
  o.help = help;
  o.get = [](const void* s) {
    const auto index = static_cast<std::size_t>(static_cast<const Struct*>(s)->*Pointer);
    return OptionValue(index < std::size(Names) ? Names[index] : std::string_view("?"));
  };
  o.set = [](void* s, const OptionValue& v) {
    const auto* found = std::find(std::begin(Names), std::end(Names), std::get<std::string_view>(v));
    static_cast<Struct*>(s)->*Pointer = static_cast<Member>(found - std::begin(Names));
  };
  return o;
}

/// "max_radius" -> "maxRadius": how product files spell keys and names of choices.
inline std::string camelCase(std::string_view words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == '_' && i + 1 < words.size()) {
      const char c = words[++i];
      result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    } else {
      result += words[i];
    }
  }
  return result;
}

}  // namespace heatskin

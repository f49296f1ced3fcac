#pragma once

// Sanitised code is five to fifty times slower. Tests that try many cases try fewer of them there: what a
// sanitizer looks for shows in the first few, and the optimised build tries all.

#include <cstddef>

namespace heatskin::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `all` cases in an ordinary build, `few` in a sanitised one.
template <class Number>
constexpr Number casesToTry(Number all, Number few) {
  return kSanitized ? few : all;
}

}  // namespace heatskin::testing

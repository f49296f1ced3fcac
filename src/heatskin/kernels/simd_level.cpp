#include "heatskin/kernels/simd_level.h"

#include <cstdint>

#include <hwy/highway.h>

namespace heatskin {
namespace {

void choose(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Every target that can run here, whatever is chosen now.
std::vector<std::int64_t> runnable(std::int64_t& chosen) {
  chosen = hwy::SupportedTargets() & HWY_TARGETS;
  hwy::SetSupportedTargetsForTest(0);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  // The lowest bit set is the widest: that one is in use.
  chosen &= -chosen;
  choose(chosen == (targets.empty() ? 0 : targets.front()) ? 0 : chosen);
  return targets;
}

}  // namespace

std::vector<std::string> simdLevels() {
  std::int64_t chosen = 0;
  std::vector<std::string> names;
  for (const std::int64_t target : runnable(chosen))
    names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string simdLevel() {
  std::int64_t chosen = 0;
  runnable(chosen);
  return hwy::TargetName(chosen);
}

bool setSimdLevel(std::string_view name) {
  if (name.empty()) {
    choose(0);
    return true;
  }
  std::int64_t chosen = 0;
  for (const std::int64_t target : runnable(chosen)) {
    if (name != hwy::TargetName(target)) continue;
    choose(target);
    return true;
  }
  return false;
}

}  // namespace heatskin

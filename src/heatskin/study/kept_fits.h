#pragma once

// Fits that several studies ask for: HKTex on spot is a row of five of them, and takes longer than all that
// is measured afterwards. A study keeps every fit it makes beside its rows, as the product and the time it
// took, and the next study of the same folder measures what is there.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "heatskin/study/study.h"

namespace heatskin::study {

struct KeptFit {
  std::vector<std::uint8_t> product;  ///< a GLB
  Json timing = Json::object();       ///< of the fit, when it was made
};

/// The place of one fit among those kept.
class KeptFits {
 public:
  /// `identity` is all that decides about the fit, but for the program's version.
  KeptFits(const RunContext& context, const Json& identity);

  /// Nothing if it was never made, is damaged, or is to be made afresh.
  std::optional<KeptFit> find() const;

  /// Whoever made the fit can go on without: a full disk is no failure.
  void keep(const KeptFit& fit) const;

 private:
  std::filesystem::path product_, record_;  ///< empty: nothing is kept
  bool fresh_ = false;
};

}  // namespace heatskin::study

#pragma once

// The list of assets of a batch: a text file with a JSON object in each line. A line that cannot be used is
// no reason to do nothing: it becomes a row with an error.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin::batch {

/// Longest line, and largest manifest; what is larger is a mistake, or an attack.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxManifestBytes = std::size_t{2} << 30;

/// An option of a fit: of the table (`of_fit`, "rates.color") or of whoever runs the fit ("max_bytes"), where
/// an empty value stands for a switch that is on.
struct LineOption {
  std::string key, value;
  bool of_fit = false;
};

/// What a line asks of its fit, in an order that does not depend on that of the line. Lines that ask for the
/// same share it.
struct LineOptions {
  std::vector<LineOption> options;
  std::vector<std::filesystem::path> files;  ///< that they name, which decide about the outcome, too

  /// A text that is equal for equal options.
  std::string identity() const;
  /// The value of an option that is not of the table; null if it is not there.
  const std::string* find(std::string_view key) const;
};

/// A line that can be used.
struct BatchAsset {
  std::size_t line = 0;        ///< in the manifest, from 1
  std::string input;           ///< as it was written
  std::string output;          ///< name of the product without ".glb", below the folder of the batch
  std::filesystem::path file;  ///< the input, absolute
  std::shared_ptr<const LineOptions> options;
  double cost = 0;    ///< expected seconds on one thread, from the line; 0: not said
  double memory = 0;  ///< expected bytes, from the line; 0: not said
};

/// One that cannot.
struct BadLine {
  std::size_t line = 0;
  std::string input, output;  ///< if they could be read
  std::string error;
};

struct Manifest {
  std::filesystem::path path;  ///< absolute
  std::string fingerprint;     ///< of its bytes and of the defaults
  std::vector<BatchAsset> assets;
  std::vector<BadLine> bad;

  std::size_t size() const { return assets.size() + bad.size(); }
};

/// Reads {"input": .., "output": .., "options": {..}} from each line. `output` may have folders and the
/// ending .glb, but never leads out of `folder`, where products will be; without it, it is the input's name
/// without ending. Inputs are relative to the manifest's folder. Keys of `options` are those of a fit's
/// options
/// ("rates.color") or the names of options around it ("max_bytes", "no_eval"); `defaults` is such an
/// object (JSON) for all lines, whose own options go before. Fails if the file cannot be read, has no line,
/// or `defaults` is wrong.
Result<Manifest> readManifest(const std::filesystem::path& path, const std::filesystem::path& folder,
                              std::string_view defaults = {});

/// Why `name` cannot be an output of a batch; empty: it can.
std::string whyNoOutputName(std::string_view name);

}  // namespace heatskin::batch

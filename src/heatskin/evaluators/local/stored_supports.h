#pragma once

// Supports that need not be searched for: a file says how each kernel's unfolding went (docs/format.md,
// "Charts").

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heatskin::local {

class SupportProxy;

/// A step of an unfolding from face to face.
struct UnfoldStep {
  std::uint32_t parent = 0;  ///< an earlier step; of the first one, which is on the kernel's face, not read
  std::uint8_t edge = 0;     ///< of the parent's face that is crossed
  bool counts = true;        ///< false: it only leads on, another step is where the kernel reaches the face
};

/// See the head of the file. What it says fits the surface and the kernels it was made for: edges that are
/// crossed have a face behind them, and no kernel counts a face twice.
class StoredSupports {
 public:
  virtual ~StoredSupports() = default;

  virtual std::size_t kernelCount() const = 0;

  /// The simplified copy of the surface that the steps are on; null: they are on the surface itself.
  virtual std::shared_ptr<const SupportProxy> proxy() const { return nullptr; }

  /// With a copy, its face that a kernel's centre is on.
  virtual std::uint32_t proxyFaceOf(std::size_t /*kernel*/) const { return 0; }

  /// Steps that count, of all kernels.
  virtual std::size_t pairCount() const = 0;

  /// The steps of one kernel, parents first. `order` becomes the order in which the corners at a vertex are
  /// joined, as numbers of steps that count (0: the first of them); empty: by distance.
  virtual void stepsOf(std::size_t kernel, std::vector<UnfoldStep>& steps,
                       std::vector<std::uint32_t>& order) const = 0;
};

}  // namespace heatskin::local

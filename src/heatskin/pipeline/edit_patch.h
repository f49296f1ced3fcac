#pragma once

// Look edits as files: lists of strokes and recolourings, and patches, which can also be undone
// (docs/transfer.md).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/pipeline/edit_product.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/transfer/look_edit.h"

namespace heatskin {

/// What kinds of files there are.
enum class EditFile : std::uint8_t { kStrokes, kMask, kRecolor };

/// Operations, or for a mask its regions, from a JSON text; `source` is its name in messages. Strict: unknown
/// keys, numbers that are not finite and everything out of range are refused. Points of triangles are looked
/// up on the product.
Result<std::vector<EditOperation>> parseEdits(std::string_view text, EditFile kind, const std::string& source,
                                              const LoadedProduct& product);

/// A patch: operations, and what it takes to undo them.
struct EditPatch {
  std::vector<EditOperation> operations;
  std::string before, after;            ///< fingerprints of the kernels; empty: it cannot be undone
  std::vector<std::uint32_t> replaced;  ///< kernels of the edited product that go, increasing
  KernelSet restored;                   ///< kernels that come back

  /// Their values in a look of material variants, and its mean.
  struct Look {
    std::vector<std::string> names;
    ChannelValues mean;     // [C]
    ChannelTable channels;  // [restored, C]
  };
  std::vector<Look> looks;
};

std::string patchJson(const EditPatch& patch);

/// `with_undo`: also what it takes to undo it, which has to suit the product; otherwise the patch may be one
/// of another mesh.
Result<EditPatch> parsePatch(std::string_view text, const std::string& source, const LoadedProduct& product,
                             bool with_undo);

/// Of the kernels of a product and of its looks, as 32 hexadecimal digits.
std::string kernelFingerprint(const KernelSet& kernels, std::span<const ProductLook> looks = {});

/// Applies operations, each in the looks it names. The patch that undoes them goes to `patch`, if given.
Result<EditOutcome> editLook(const LoadedProduct& product, const std::vector<EditOperation>& operations,
                             const EditOptions& options, EditPatch* patch = nullptr);

/// Takes an edit back: the kernels are those before it, to the bit. Refuses a product that the patch did not
/// make.
Result<EditOutcome> undoEdit(const LoadedProduct& product, const EditPatch& patch,
                             const EditOptions& options);

}  // namespace heatskin

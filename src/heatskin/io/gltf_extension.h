#pragma once

// Extensions of a document's root that are handed on unread. Private to the glTF reader.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// The text of member `name` of the object `object`, which is a complete JSON value the parser has accepted.
/// Nothing when `object` is no object or has no such member; refused when it has two.
Result<std::optional<std::string_view>> memberText(std::string_view object, std::string_view name);

/// The extension `name` of the root with the bytes of every buffer view that a property called "bufferView",
/// at any depth, refers to; nothing when the document does not have it. `text` is the text `document` was
/// parsed from. Refused: an extension given twice, or a view that does not exist, leaves its buffer or would
/// take more memory than the budget has.
Result<std::optional<RawExtension>> readRawExtension(const Document& document,
                                                     std::span<const std::uint8_t> text,
                                                     const std::string& name, Buffers& buffers,
                                                     MemoryBudget& budget);

/// The same from a copy in the extras of a scene, which survives programs that drop extensions they do not
/// know: {"geometry": text, "extension": the extension's object, "views": {"5": base64, ...}} under `name`.
/// The first scene that has one counts; nothing when none does.
Result<std::optional<RawExtension>> readExtrasExtension(const Document& document, const std::string& name,
                                                        MemoryBudget& budget);

}  // namespace heatskin::gltf

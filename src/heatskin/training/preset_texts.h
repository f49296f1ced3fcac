#pragma once

#include <span>
#include <string_view>

namespace heatskin {

/// A file of the folder presets/ as the build found it; defined in a generated source
/// (cmake/embed_presets.cmake).
struct PresetText {
  std::string_view name;  ///< stem of the file
  std::string_view text;  ///< TOML
};

std::span<const PresetText> presetTexts();

}  // namespace heatskin

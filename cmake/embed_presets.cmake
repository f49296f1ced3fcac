# The presets become part of the library: presets/*.toml -> a C++ source with their texts, which joins the training module.
# Written while configuring: a source that a command of the build makes would be compiled last, alone, when everything
# else is done.

file(GLOB preset_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/presets/*.toml)
set(preset_source "// Generated from presets/*.toml by cmake/embed_presets.cmake.\n\n")
string(APPEND preset_source "#include \"heatskin/training/preset_texts.h\"\n\nnamespace heatskin {\n\n")
string(APPEND preset_source "std::span<const PresetText> presetTexts() {\n  static constexpr PresetText kTexts[] = {\n")
foreach(file ${preset_files})
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND preset_source "      {\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
string(APPEND preset_source "  };\n  return kTexts;\n}\n\n}  // namespace heatskin\n")
# Only when it changed, so that configuring again compiles nothing.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/preset_texts.cpp CONTENT "${preset_source}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${preset_files})
target_sources(heatskin_training PRIVATE ${PROJECT_BINARY_DIR}/generated/preset_texts.cpp)

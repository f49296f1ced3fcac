# The presets become part of the library: presets/*.toml -> a C++ source with their texts.
# As a script (cmake -P), with OUTPUT and PRESETS (a list of files), it writes that source; included, it adds it to the
# training module.

if(CMAKE_SCRIPT_MODE_FILE)
  set(source "// Generated from presets/*.toml by cmake/embed_presets.cmake.\n\n")
  string(APPEND source "#include \"heatskin/training/preset_texts.h\"\n\nnamespace heatskin {\n\n")
  string(APPEND source "std::span<const PresetText> presetTexts() {\n  static constexpr PresetText kTexts[] = {\n")
  foreach(file ${PRESETS})
    cmake_path(GET file STEM name)
    file(READ ${file} text)
    string(APPEND source "      {\"${name}\", R\"preset(${text})preset\"},\n")
  endforeach()
  string(APPEND source "  };\n  return kTexts;\n}\n\n}  // namespace heatskin\n")
  file(WRITE ${OUTPUT} "${source}")
  return()
endif()

file(GLOB preset_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/presets/*.toml)
set(preset_source ${PROJECT_BINARY_DIR}/generated/preset_texts.cpp)
add_custom_command(OUTPUT ${preset_source}
                   COMMAND ${CMAKE_COMMAND} -D OUTPUT=${preset_source} "-DPRESETS=${preset_files}"
                           -P ${CMAKE_CURRENT_LIST_FILE}
                   DEPENDS ${preset_files} ${CMAKE_CURRENT_LIST_FILE}
                   COMMENT "Embedding the presets" VERBATIM)
target_sources(heatskin_training PRIVATE ${preset_source})

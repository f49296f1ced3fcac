# The viewer's page becomes part of the library if `make viewer` has built it (viewer/index.html in the build folder);
# without it everything else works, and `heatskin view` says what is missing.

set(viewer_page ${PROJECT_BINARY_DIR}/viewer/index.html)
set(viewer_source ${PROJECT_BINARY_DIR}/generated/viewer_page.cpp)
# Whoever builds the page later configures again (scripts/viewer.sh).
if(EXISTS ${viewer_page})
  set(HEATSKIN_VIEWER_PAGE ${viewer_page})
else()
  set(HEATSKIN_VIEWER_PAGE ${PROJECT_BINARY_DIR}/generated/no_viewer.html)
  file(WRITE ${HEATSKIN_VIEWER_PAGE} "")
endif()
configure_file(cmake/viewer_page.cpp.in ${viewer_source} @ONLY)
# The assembler reads the page, so neither the dependencies that the compiler writes nor ccache know of it.
set_source_files_properties(${viewer_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
if(EXISTS ${viewer_page})
  set_source_files_properties(${viewer_source} PROPERTIES OBJECT_DEPENDS ${viewer_page})
endif()
target_sources(heatskin_viewing PRIVATE ${viewer_source})

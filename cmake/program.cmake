# The command line, its tests, and the test of the installed tree.

# Verbs hold no algorithm: optimising the option parser's templates would only cost compile time.
if(NOT HEATSKIN_UNITY)
  heatskin_pch_owner(heatskin_cli_pch OPTIMISATION ${HEATSKIN_OPTIMISATION_light}
                     HEADERS <CLI/CLI.hpp> <nlohmann/json.hpp>)
  target_include_directories(heatskin_cli_pch SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE} ${CLI11_INCLUDE})
endif()

file(GLOB verb_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
add_library(heatskin_verbs OBJECT ${verb_sources})
add_library(heatskin_benches OBJECT ${bench_sources})
# Compiled together, the verbs read these headers once anyway.
if(HEATSKIN_UNITY)
  target_precompile_headers(heatskin_verbs REUSE_FROM heatskin_pch_light)
else()
  target_precompile_headers(heatskin_verbs REUSE_FROM heatskin_cli_pch)
endif()
target_precompile_headers(heatskin_benches REUSE_FROM heatskin_pch_light)
target_compile_options(heatskin_verbs PRIVATE ${HEATSKIN_OPTIMISATION_light})
target_compile_options(heatskin_benches PRIVATE ${HEATSKIN_OPTIMISATION_light})
# Rooflines are what the processor can do.
set(rooflines ${bench_sources})
list(FILTER rooflines INCLUDE REGEX "_roofline\\.cpp$")
set_source_files_properties(${rooflines} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
# Eigenpairs to compare ours with (Debian: libspectra-dev). Slow to compile, and only one bench uses it.
option(HEATSKIN_SPECTRA "Let bench spectral compare with Spectra" OFF)
target_compile_definitions(heatskin_benches PRIVATE $<$<BOOL:${HEATSKIN_SPECTRA}>:HEATSKIN_HAVE_SPECTRA=1>)
foreach(target heatskin_verbs heatskin_benches)
  # "cli/console.h" and "bench/harness.h" are found from the root of the project.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
                             ${PROJECT_BINARY_DIR}/generated)
  target_include_directories(${target} SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE} ${CLI11_INCLUDE})
  target_link_libraries(${target} PRIVATE heatskin_flags Eigen3::Eigen fmt::fmt TBB::tbb)
endforeach()

# Two units of equal size: they are compiled last, and one alone would keep one core waiting.
list(LENGTH verb_sources verb_count)
math(EXPR verb_batch "(${verb_count} + 1) / 2")
heatskin_unity(heatskin_verbs ${verb_batch})
heatskin_unity(heatskin_benches)
set(build_commit ${PROJECT_BINARY_DIR}/generated/build_commit.cpp)
add_custom_target(heatskin_build_commit BYPRODUCTS ${build_commit}
                  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${build_commit} -D BUILD_TYPE=$<CONFIG>
                          -P ${PROJECT_SOURCE_DIR}/cmake/write_build_commit.cmake
                  COMMENT "Which commit this is")
add_executable(heatskin_cli $<TARGET_OBJECTS:heatskin_verbs> $<TARGET_OBJECTS:heatskin_benches> ${build_commit})
add_dependencies(heatskin_cli heatskin_build_commit)
target_include_directories(heatskin_cli PRIVATE ${PROJECT_SOURCE_DIR})
# zlib for the exact distances of bench unfolding.
target_link_libraries(heatskin_cli PRIVATE heatskin heatskin_flags fmt::fmt TBB::tbb ZLIB::ZLIB)
set_target_properties(heatskin_cli PROPERTIES OUTPUT_NAME heatskin LINKER_LANGUAGE CXX
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                      INSTALL_RPATH "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}>")

if(HEATSKIN_TESTS)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*_test.cpp)
  if(cli_tests)
    add_executable(test_cli ${cli_tests})
    add_dependencies(test_cli heatskin_cli)
    target_include_directories(test_cli PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
    target_include_directories(test_cli SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE})
    target_link_libraries(test_cli PRIVATE heatskin fmt::fmt)
    heatskin_test(test_cli)
    heatskin_unity(test_cli 8)
    gtest_discover_tests(test_cli TEST_PREFIX "cli/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})
  endif()

  # heatskin_core does without files and the libraries that read them. The same check on the command line, which needs
  # them all, must fail.
  add_executable(core_program ${PROJECT_SOURCE_DIR}/tests/core/core_program.cpp)
  target_link_libraries(core_program PRIVATE heatskin_core heatskin_flags)
  add_test(NAME core/program COMMAND core_program)
  foreach(subject core_program:heatskin_core heatskin_cli:heatskin)
    string(REPLACE ":" ";" subject ${subject})
    list(GET subject 0 program)
    list(GET subject 1 library)
    add_test(NAME core/links_of_${program}
             COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${program}> -D LIBRARY=$<TARGET_FILE:${library}>
                     -P ${PROJECT_SOURCE_DIR}/tests/core/check_links.cmake)
  endforeach()
  set_tests_properties(core/links_of_heatskin_cli PROPERTIES
                       PASS_REGULAR_EXPRESSION "links libpng.*needs [^\n]*png_")
  set_tests_properties(core/program core/links_of_core_program core/links_of_heatskin_cli PROPERTIES
                       TIMEOUT ${HEATSKIN_HANG_LIMIT})

  # Which commits are another program.
  add_test(NAME build_commit
           COMMAND ${CMAKE_COMMAND} -D SCRIPT=${PROJECT_SOURCE_DIR}/cmake/write_build_commit.cmake
                   -D FOLDER=${PROJECT_BINARY_DIR}/Testing/build_commit
                   -P ${PROJECT_SOURCE_DIR}/tests/build_commit/check_build_commit.cmake)
  set_tests_properties(build_commit PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})

  # A folder includes only folders above it; and whether the checker would notice.
  find_program(PYTHON3 python3 REQUIRED)
  add_test(NAME includes/order COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/check_includes.py)
  add_test(NAME includes/planted_errors COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/check_includes.py --self-test)
  # Texts of the library name no options and verbs; and whether that checker would notice.
  add_test(NAME messages/library COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/check_messages.py)
  add_test(NAME messages/planted_errors COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/check_messages.py --self-test)
  set_tests_properties(includes/order includes/planted_errors messages/library messages/planted_errors
                       PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})

  # Readers written from docs/format.md against `heatskin query`, and written products against docs/schema. What they test
  # does not depend on how the program was built.
  if(NOT HEATSKIN_SANITIZE)
    foreach(subject python javascript schema)
      add_test(NAME readers/${subject} COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/readers/readers_test.py
                                               $<TARGET_FILE:heatskin_cli> ${subject})
      set_tests_properties(readers/${subject} PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
    endforeach()
    # Damaged products, for these readers and ours.
    foreach(subject python javascript heatskin)
      add_test(NAME readers/hostile_${subject} COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/readers/hostile_test.py
                                                       $<TARGET_FILE:heatskin_cli> ${subject})
      set_tests_properties(readers/hostile_${subject} PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
    endforeach()
    # The three.js plugin in headless Chromium against `heatskin query`.
    add_test(NAME three/chromium COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/three/three_test.py
                                         $<TARGET_FILE:heatskin_cli> ${PROJECT_BINARY_DIR}/three)
    set_tests_properties(three/chromium PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
    # The viewer: what it serves and exports, and its page in headless Chromium.
    foreach(subject server page)
      add_test(NAME viewer/${subject} COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/viewer/viewer_test.py
                                              $<TARGET_FILE:heatskin_cli> ${PROJECT_BINARY_DIR}/viewer_tests ${subject})
      set_tests_properties(viewer/${subject} PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
    endforeach()
    # The Kubernetes job of cluster/. Slurm, GNU parallel and Snakemake are `make cluster-test`.
    add_test(NAME cluster/kubernetes COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/cluster/engines_test.py
                                             $<TARGET_FILE:heatskin_cli> kubernetes)
    set_tests_properties(cluster/kubernetes PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
    # A baked product in Blender, where that is installed (it is no package of ours), beside our own picture.
    add_test(NAME blender/baked COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/blender/blender_test.py
                                        $<TARGET_FILE:heatskin_cli> ${PROJECT_BINARY_DIR}/blender)
    set_tests_properties(blender/baked PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
  endif()

  # Everything that runs on several threads, for ThreadSanitizer above all.
  add_executable(test_threads ${PROJECT_SOURCE_DIR}/tests/threads/threads_test.cpp)
  target_include_directories(test_threads PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_threads PRIVATE heatskin fmt::fmt)
  heatskin_test(test_threads)
  gtest_discover_tests(test_threads TEST_PREFIX "threads/" DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})
  # Whether ThreadSanitizer sees into our loops: a planted race must be reported, its clean twin must not.
  if(HEATSKIN_SANITIZE STREQUAL "thread")
    add_executable(planted_race ${PROJECT_SOURCE_DIR}/tests/threads/planted_race.cpp
                   $<TARGET_OBJECTS:heatskin_base>)
    target_include_directories(planted_race PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(planted_race PRIVATE heatskin_flags Eigen3::Eigen TBB::tbb fmt::fmt)
    add_test(NAME threads/planted_race COMMAND planted_race race)
    add_test(NAME threads/clean_twin COMMAND planted_race clean)
    set_tests_properties(threads/planted_race PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT}
                         PASS_REGULAR_EXPRESSION "WARNING: ThreadSanitizer: data race")
    set_tests_properties(threads/clean_twin PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT}
                         PASS_REGULAR_EXPRESSION "^400\n$")
  endif()

  # What a project that contains heatskin gets, and whether the check would notice more.
  foreach(planted OFF ON)
    set(name subproject)
    if(planted)
      set(name subproject_planted_error)
    endif()
    add_test(NAME ${name}
             COMMAND ${CMAKE_COMMAND}
                     -D PLANTED=${planted}
                     -D HEATSKIN_BUILD_DIR=${PROJECT_BINARY_DIR}
                     -D HEATSKIN_SOURCE_DIR=${PROJECT_SOURCE_DIR}
                     -D CXX=${CMAKE_CXX_COMPILER}
                     -P ${PROJECT_SOURCE_DIR}/tests/subproject/check_subproject.cmake)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})
  endforeach()
  set_tests_properties(subproject_planted_error PROPERTIES PASS_REGULAR_EXPRESSION "heatskin made heatskin_cli")

  # The documentation as a web site, whose broken links are errors; and whether they would be noticed. What the Debian
  # packages hold.
  if(NOT HEATSKIN_SANITIZE AND HEATSKIN_INSTALL)
    add_test(NAME docs/site COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs.sh)
    add_test(NAME docs/planted_errors COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs.sh --self-test)
    add_test(NAME deb COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/deb/deb_test.py)
    set_tests_properties(docs/site docs/planted_errors deb PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
  endif()

  # Builds a project against the installed tree, once with find_package and once with pkg-config.
  if(NOT HEATSKIN_SANITIZE)
    add_test(NAME install_consumer
             COMMAND ${CMAKE_COMMAND}
                     -D HEATSKIN_BUILD_DIR=${PROJECT_BINARY_DIR}
                     -D HEATSKIN_SOURCE_DIR=${PROJECT_SOURCE_DIR}
                     -D HEATSKIN_LIBDIR=${CMAKE_INSTALL_LIBDIR}
                     -D CXX=${CMAKE_CXX_COMPILER}
                     -D PYTHON3=${PYTHON3}
                     -P ${PROJECT_SOURCE_DIR}/tests/install/install_consumer.cmake)
    add_test(NAME tour/planted_errors
             COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/install/extract_tour.py --self-test)
    set_tests_properties(install_consumer tour/planted_errors PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})
  endif()

  # Long tests first, so that none of them runs alone at the end. Without times of an earlier run CTest goes by these.
  foreach(test_and_cost viewer/page:130 viewer/server:60 install_consumer:50 deb:40 python/examples:40 three/chromium:30
          readers/python:25 readers/javascript:25 python/running:20 readers/hostile_python:20 python/texture:15)
    string(REPLACE ":" ";" test_and_cost ${test_and_cost})
    list(GET test_and_cost 0 test)
    list(GET test_and_cost 1 cost)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${cost})
    endif()
  endforeach()
endif()

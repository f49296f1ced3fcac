# heatskin_module(NAME [CORE | HOT] DEPS ... LIBS ... TEST_DEPS ...): the object library of src/heatskin/NAME. CORE: it
# belongs to heatskin_core. HOT: it does not, but a fit or a picture spends its time there. Both are optimised most.
# heatskin_module_tests(), after all modules, makes the test programs test_NAME from their *_test.cpp files. A module's test program links only the module, what it depends on, and TEST_DEPS, so one module can
# be built and tested while another is being rewritten.

add_library(heatskin_flags INTERFACE)
target_compile_options(heatskin_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -ffp-contract=off
  # GCC 12 reports overlapping and endless copies inside std::string that cannot happen (GCC bug 105651), and with
  # precompiled headers it does so even though they are system headers. AddressSanitizer looks for real ones.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>
  $<$<BOOL:${HEATSKIN_WERROR}>:-Werror>)
target_compile_options(heatskin_flags INTERFACE ${HEATSKIN_SANITIZE_COMPILE})
target_compile_definitions(heatskin_flags INTERFACE ${HEATSKIN_SANITIZE_DEFINITIONS})
if(NOT HEATSKIN_SANITIZE)
  # Highway's levels are SSE4, AVX2 and AVX-512: processors with SSSE3 and no SSE4 are those of 2006 and 2007, and run
  # the plain level. Sanitised builds have fewer still (sanitizers.cmake).
  target_compile_definitions(heatskin_flags INTERFACE HWY_DISABLED_TARGETS=\(HWY_SSSE3\))
endif()
target_link_options(heatskin_flags INTERFACE ${HEATSKIN_SANITIZE_LINK})

# Seconds after which a test hangs, as far as we are concerned. Not a statement about speed: tests also pass on a busy
# machine. Above what tests/support/run_process.h grants one process.
set(HEATSKIN_HANG_LIMIT 3600)

# Tests spend their time in the library; optimising their own code would only make them slower to build.
set(HEATSKIN_TEST_OPTIMISATION $<$<CONFIG:Release>:-Og>)

include(cmake/precompiled.cmake)
# -O3, CMake's choice for a release, is worth 5 to 8 % of a fit in the core and only compile time where modules read files
# and call each other: three quarters of the time to compile io at -O2 went into optimising it. -Og compiles these in 78 %
# of the time of -O1, with no more code.
set(HEATSKIN_OPTIMISATION_light $<$<CONFIG:Release>:-Og>)
heatskin_pch_owner(heatskin_pch_hot)
# Most of the light modules read or write JSON.
heatskin_pch_owner(heatskin_pch_light OPTIMISATION ${HEATSKIN_OPTIMISATION_light} HEADERS <nlohmann/json.hpp>)
target_include_directories(heatskin_pch_light SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE})
if(HEATSKIN_TESTS)
  heatskin_pch_owner(heatskin_test_pch OPTIMISATION ${HEATSKIN_TEST_OPTIMISATION} LIBS GTest::gtest
                     HEADERS <gtest/gtest.h>)
  set_target_properties(heatskin_test_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  # Compiled once, for all test programs, and without the precompiled header: reading that takes longer than all of it.
  configure_file(cmake/test_paths.cpp.in generated/test_paths.cpp @ONLY)
  add_library(heatskin_test_paths OBJECT ${PROJECT_BINARY_DIR}/generated/test_paths.cpp)
  target_link_libraries(heatskin_test_paths PRIVATE heatskin_flags)
  target_include_directories(heatskin_test_paths PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endif()

# heatskin_test(TARGET): the flags of all test programs.
function(heatskin_test target)
  target_link_libraries(${target} PRIVATE heatskin_flags GTest::gtest_main)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:heatskin_test_paths>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${target} PRIVATE ${HEATSKIN_TEST_OPTIMISATION})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(${target} REUSE_FROM heatskin_test_pch)
endfunction()

# heatskin_unity(TARGET [BATCH]): its files are compiled together, up to BATCH in one unit, which spares parsing headers
# and instantiating templates again and again: a build from nothing takes half the time. Whoever edits files turns
# HEATSKIN_UNITY off (CONTRIBUTING.md). Highway compiles its files once per SIMD level, by themselves.
option(HEATSKIN_UNITY "Compile the files of a module together" ON)
function(heatskin_unity target)
  if(NOT HEATSKIN_UNITY)
    return()
  endif()
  set(batch 32)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  # Units this long fill the compiler's heap again and again; -ftime-report showed 7 % of the time in collecting garbage.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
  list(FILTER sources INCLUDE REGEX "_(simd|roofline)\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(heatskin_module name)
  cmake_parse_arguments(ARG "CORE;HOT" "" "DEPS;LIBS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/heatskin/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  set(closure)
  set(libs ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    if(ARG_CORE AND NOT dep IN_LIST HEATSKIN_CORE_MODULES)
      message(FATAL_ERROR "${name} belongs to the core and cannot depend on ${dep}, which does not")
    endif()
    list(APPEND closure ${HEATSKIN_CLOSURE_${dep}})
    list(APPEND libs ${HEATSKIN_LIBS_${dep}})
  endforeach()

  if(sources)
    add_library(heatskin_${name} OBJECT ${sources})
    target_include_directories(heatskin_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                               ${PROJECT_BINARY_DIR}/generated PRIVATE ${NLOHMANN_JSON_INCLUDE})
    target_link_libraries(heatskin_${name} PUBLIC Eigen3::Eigen ${libs} PRIVATE heatskin_flags)
    set(level light)
    if(ARG_CORE OR ARG_HOT)
      set(level hot)
    endif()
    target_compile_options(heatskin_${name} PRIVATE ${HEATSKIN_OPTIMISATION_${level}})
    target_precompile_headers(heatskin_${name} REUSE_FROM heatskin_pch_${level})
    heatskin_unity(heatskin_${name})
    list(APPEND closure heatskin_${name})
  endif()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES libs)
  set(HEATSKIN_CLOSURE_${name} ${closure} PARENT_SCOPE)
  set(HEATSKIN_LIBS_${name} ${libs} PARENT_SCOPE)
  set(HEATSKIN_TESTS_${name} ${tests} PARENT_SCOPE)
  set(HEATSKIN_TEST_DEPS_${name} ${ARG_TEST_DEPS} PARENT_SCOPE)
  set(HEATSKIN_MODULES ${HEATSKIN_MODULES} ${name} PARENT_SCOPE)
  if(ARG_CORE)
    set(HEATSKIN_CORE_MODULES ${HEATSKIN_CORE_MODULES} ${name} PARENT_SCOPE)
  endif()
endfunction()

function(heatskin_module_tests)
  foreach(name ${HEATSKIN_MODULES})
    if(NOT HEATSKIN_TESTS OR NOT HEATSKIN_TESTS_${name})
      continue()
    endif()
    set(closure ${HEATSKIN_CLOSURE_${name}})
    set(libs ${HEATSKIN_LIBS_${name}})
    foreach(dep ${HEATSKIN_TEST_DEPS_${name}})
      list(APPEND closure ${HEATSKIN_CLOSURE_${dep}})
      list(APPEND libs ${HEATSKIN_LIBS_${dep}})
    endforeach()
    list(REMOVE_DUPLICATES closure)
    list(REMOVE_DUPLICATES libs)
    add_executable(test_${name} ${HEATSKIN_TESTS_${name}})
    foreach(object ${closure})
      target_sources(test_${name} PRIVATE $<TARGET_OBJECTS:${object}>)
    endforeach()
    target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
                               ${NLOHMANN_JSON_INCLUDE})
    target_link_libraries(test_${name} PRIVATE Eigen3::Eigen ${libs})
    heatskin_test(test_${name})
    heatskin_unity(test_${name} 8)
    gtest_discover_tests(test_${name} TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT})
  endforeach()
endfunction()

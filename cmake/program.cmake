# The command line, its tests, and the test of the installed tree.

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(cli_sources)
  # Verbs hold no algorithm: optimising the option parser's templates would only cost compile time.
  file(GLOB verb_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
  set_source_files_properties(${verb_sources} PROPERTIES COMPILE_OPTIONS -O1)
  add_executable(heatskin_cli ${cli_sources})
  # "cli/console.h" and "bench/harness.h" are found from the root of the project.
  target_include_directories(heatskin_cli PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(heatskin_cli SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE} ${CLI11_INCLUDE})
  # zlib for the exact distances of bench unfolding.
  find_package(ZLIB REQUIRED)
  target_link_libraries(heatskin_cli PRIVATE heatskin heatskin_flags fmt::fmt TBB::tbb ZLIB::ZLIB)
  set_target_properties(heatskin_cli PROPERTIES OUTPUT_NAME heatskin
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                        INSTALL_RPATH "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}>")
endif()

if(HEATSKIN_TESTS AND cli_sources)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*_test.cpp)
  if(cli_tests)
    add_executable(test_cli ${cli_tests})
    add_dependencies(test_cli heatskin_cli)
    target_include_directories(test_cli PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
    target_include_directories(test_cli SYSTEM PRIVATE ${NLOHMANN_JSON_INCLUDE})
    target_link_libraries(test_cli PRIVATE heatskin heatskin_flags fmt::fmt GTest::gtest_main)
    target_compile_definitions(test_cli PRIVATE HEATSKIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                               HEATSKIN_BUILD_DIR="${PROJECT_BINARY_DIR}"
                               HEATSKIN_BINARY_DEFAULT="$<TARGET_FILE:heatskin_cli>")
    target_compile_options(test_cli PRIVATE ${HEATSKIN_TEST_OPTIMISATION})
    gtest_discover_tests(test_cli TEST_PREFIX "cli/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
  endif()

  # Builds a project against the installed tree, once with find_package and once with pkg-config.
  if(NOT HEATSKIN_SANITIZE)
    add_test(NAME install_consumer
             COMMAND ${CMAKE_COMMAND}
                     -D HEATSKIN_BUILD_DIR=${PROJECT_BINARY_DIR}
                     -D HEATSKIN_SOURCE_DIR=${PROJECT_SOURCE_DIR}
                     -D HEATSKIN_LIBDIR=${CMAKE_INSTALL_LIBDIR}
                     -D CXX=${CMAKE_CXX_COMPILER}
                     -P ${PROJECT_SOURCE_DIR}/tests/install/install_consumer.cmake)
    set_tests_properties(install_consumer PROPERTIES TIMEOUT 300)
  endif()
endif()

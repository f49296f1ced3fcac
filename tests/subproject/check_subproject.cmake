# Configures a project that contains heatskin (add_subdirectory) and looks at what that project gets: the libraries, and no
# build type, compiler launcher, tests, programs or install rules. With PLANTED, heatskin is told to do what it does on its
# own, and the check must fail.

cmake_minimum_required(VERSION 3.25)

set(work ${HEATSKIN_BUILD_DIR}/subproject)
if(PLANTED)
  set(work ${work}-planted)
  set(planted -DHEATSKIN_TESTS=ON -DHEATSKIN_INSTALL=ON)
endif()
file(REMOVE_RECURSE ${work})

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("configuring the parent" ${CMAKE_COMMAND} -S ${HEATSKIN_SOURCE_DIR}/tests/subproject -B ${work} -G Ninja
    -DHEATSKIN_SOURCE_DIR=${HEATSKIN_SOURCE_DIR} -DCMAKE_CXX_COMPILER=${CXX} ${planted})
# The whole way from our sources to the parent's programs is known; building it would only take long.
run("planning the parent's programs" ninja -C ${work} -n app full)
file(READ ${work}/build.ninja rules)
# The parent has no build type, so nothing is optimised.
foreach(flag ccache -O3 NDEBUG)
  if(rules MATCHES "${flag}")
    message(FATAL_ERROR "the parent gets ${flag}, which it did not ask for")
  endif()
endforeach()
run("listing tests" ${CMAKE_CTEST_COMMAND} --test-dir ${work} -N)
if(NOT output MATCHES "Total Tests: 0\n")
  message(FATAL_ERROR "the parent has tests that are not its own:\n${output}")
endif()
run("installing" ${CMAKE_COMMAND} --install ${work} --prefix ${work}/prefix)
file(GLOB_RECURSE installed ${work}/prefix/*)
if(installed)
  message(FATAL_ERROR "the parent installs what is not its own: ${installed}")
endif()
file(REMOVE_RECURSE ${work})

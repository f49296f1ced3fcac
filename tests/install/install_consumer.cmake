# Installs what was built into a temporary folder, moves the tree, builds a small project against it with find_package
# and with pkg-config, and runs it. The same for the programs of the tour and the README. Also: the installed headers are
# those of cmake/public_headers.cmake, each compiles on its own, and nothing installed remembers where it was built.

cmake_minimum_required(VERSION 3.25)

set(work ${HEATSKIN_BUILD_DIR}/install-consumer)
set(prefix ${work}/moved/prefix)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/moved)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The cube has side 2 and keeps its size: area 24.
function(expect_cube what text)
  if(NOT text MATCHES "^heatskin [0-9.]+, a cube of area 24\\.000000, fitted$")
    message(FATAL_ERROR "${what} printed '${text}'")
  endif()
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${HEATSKIN_BUILD_DIR} --prefix ${work}/prefix)
file(RENAME ${work}/prefix ${prefix})

# The headers are the listed ones, include only each other, and heatskin.h includes them all.
include(${HEATSKIN_SOURCE_DIR}/cmake/public_headers.cmake)
set(listed version.h ${HEATSKIN_PUBLIC_HEADERS})
list(TRANSFORM listed PREPEND heatskin/)
list(SORT listed)
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*)
list(SORT headers)
if(NOT headers STREQUAL listed)
  message(FATAL_ERROR "installed are\n${headers}\ninstead of\n${listed}")
endif()
# check_includes(NAME TEXT): what a header includes is installed, too.
function(check_includes name text)
  string(REGEX MATCHALL "#include [\"<]heatskin/[^\">]+" includes "${text}")
  foreach(include ${includes})
    string(REGEX REPLACE "#include [\"<]" "" include "${include}")
    if(NOT include IN_LIST headers)
      set(problem "${name} includes ${include}, which is not installed" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
foreach(header ${headers})
  set(problem)
  file(READ ${prefix}/include/${header} text)
  check_includes(${header} "${text}")
  if(problem)
    message(FATAL_ERROR "${problem}")
  endif()
endforeach()
check_includes(planted "#include <vector>\n#include \"heatskin/training/trainer.h\"\n")
if(NOT problem)
  message(FATAL_ERROR "a planted include of a private header was not noticed")
endif()
file(READ ${prefix}/include/heatskin/heatskin.h text)
foreach(header ${HEATSKIN_PUBLIC_HEADERS})
  if(NOT header STREQUAL "heatskin.h" AND NOT text MATCHES "#include \"heatskin/${header}\"")
    message(FATAL_ERROR "heatskin.h does not include ${header}")
  endif()
endforeach()

# find_package, of everything and of the core; with everything come the tour and the headers one by one.
run("extracting the tour" ${PYTHON3} ${HEATSKIN_SOURCE_DIR}/tests/install/extract_tour.py ${HEATSKIN_SOURCE_DIR}/README.md
    ${HEATSKIN_SOURCE_DIR}/docs/tour.md ${work}/tour)
foreach(core OFF ON)
  set(more)
  if(NOT core)
    set(more -DTOUR=${work}/tour "-DHEADERS=${headers}")
  endif()
  run("configuring the consumer" ${CMAKE_COMMAND} -S ${HEATSKIN_SOURCE_DIR}/tests/install -B ${work}/find_package_${core}
      -G Ninja -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} -DCORE=${core} ${more})
  run("building the consumer" ${CMAKE_COMMAND} --build ${work}/find_package_${core})
  run("running the consumer" ${work}/find_package_${core}/consumer)
  expect_cube("the find_package consumer" "${output}")
endforeach()

# The programs of the tour, in the order in which they can run.
set(bin ${work}/find_package_OFF)
run("the pumpkin" ${prefix}/bin/heatskin demo-asset -o ${work}/model.glb --resolution 1000 --texture 256)
run("the README's fit" ${bin}/fit_and_query ${work}/model.glb ${work}/readme.glb)
run("the tour's fit" ${bin}/whole_fit ${work}/model.glb ${work}/product.glb)
if(NOT output MATCHES "^[0-9]+ kernels, surface PSNR [0-9.]+ dB\nface 0: [0-9. ]+$" OR NOT EXISTS ${work}/product.glb)
  message(FATAL_ERROR "the tour's fit printed '${output}'")
endif()
run("the tour's colours" ${bin}/colours ${work}/product.glb)
if(NOT output MATCHES "^[0-9.]+ [0-9.]+ [0-9.]+\n[0-9.]+ [0-9.]+ [0-9.]+$")
  message(FATAL_ERROR "the tour's colours are '${output}'")
endif()
# The program sees the same colours; it prints more digits.
file(WRITE ${work}/ours.txt "${output}\n")
file(WRITE ${work}/points.csv "0,0,1\n0.1,0.2,0.3\n")
run("the program's colours" ${prefix}/bin/heatskin query ${work}/product.glb --points ${work}/points.csv --no-header -q
    -o ${work}/theirs.csv)
run("comparing colours" ${PYTHON3} -c "
import sys
a, b = [[float(x) for x in open(f).read().replace(',', ' ').split()] for f in sys.argv[1:]]
assert len(a) == len(b) == 6 and max(abs(x - y) for x, y in zip(a, b)) < 1e-3, (a, b)"
    ${work}/ours.txt ${work}/theirs.csv)
run("the tour's core" ${bin}/core_only)
# A program that is no C++ must not go unnoticed.
file(WRITE ${work}/broken/broken.cpp "#include <heatskin/heatskin.h>\nint main() { return heatskin::noSuchFunction(); }\n")
run("configuring a broken tour" ${CMAKE_COMMAND} -S ${HEATSKIN_SOURCE_DIR}/tests/install -B ${work}/broken_build
    -G Ninja -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} -DTOUR=${work}/broken)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/broken_build --target broken RESULT_VARIABLE status
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "noSuchFunction")
  message(FATAL_ERROR "a planted error in the tour was not noticed:\n${output}")
endif()

# pkg-config. What is compiled is the same for all.
set(ENV{PKG_CONFIG_PATH} ${prefix}/${HEATSKIN_LIBDIR}/pkgconfig)
run("pkg-config --cflags" pkg-config --cflags heatskin_core)
separate_arguments(flags UNIX_COMMAND "${output}")
run("compiling with pkg-config" ${CXX} -std=c++20 -c ${HEATSKIN_SOURCE_DIR}/tests/install/main.cpp -o ${work}/main.o ${flags})
foreach(mode heatskin "heatskin;--static" heatskin_core)
  run("pkg-config ${mode}" pkg-config --libs ${mode})
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("linking with pkg-config ${mode}" ${CXX} ${work}/main.o -o ${work}/pkg_config ${flags}
      -Wl,-rpath,${prefix}/${HEATSKIN_LIBDIR})
  run("running the pkg-config consumer" ${work}/pkg_config)
  expect_cube("the pkg-config ${mode} consumer" "${output}")
endforeach()

# No build path and no private target in what was installed.
file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc)
foreach(file ${texts})
  file(READ ${file} text)
  foreach(secret ${HEATSKIN_BUILD_DIR} ${HEATSKIN_SOURCE_DIR}/ heatskin_flags)
    string(FIND "${text}" "${secret}" where)
    if(NOT where EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${secret}")
    endif()
  endforeach()
endforeach()

run("the installed program" ${prefix}/bin/heatskin --version)
file(REMOVE_RECURSE ${work})

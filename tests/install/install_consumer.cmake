# Installs what was built into a temporary folder, moves the tree, builds a small project against it with find_package
# and with pkg-config, and runs it. Also: every installed header compiles on its own, and nothing installed remembers
# where it was built.

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

# The tetrahedron's edges are sqrt(8) and its bounding box has side 2, so it keeps its size: area sqrt(3) * 8.
set(expected "area 13.856406")
function(expect_area what text)
  if(NOT text MATCHES "^heatskin [0-9.]+, ${expected}$")
    message(FATAL_ERROR "${what} printed '${text}' instead of '... ${expected}'")
  endif()
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${HEATSKIN_BUILD_DIR} --prefix ${work}/prefix)
file(RENAME ${work}/prefix ${prefix})

# find_package, of everything and of the core
foreach(core OFF ON)
  run("configuring the consumer" ${CMAKE_COMMAND} -S ${HEATSKIN_SOURCE_DIR}/tests/install -B ${work}/find_package_${core}
      -G Ninja -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} -DCORE=${core})
  run("building the consumer" ${CMAKE_COMMAND} --build ${work}/find_package_${core})
  run("running the consumer" ${work}/find_package_${core}/consumer)
  expect_area("the find_package consumer" "${output}")
endforeach()

# pkg-config
set(ENV{PKG_CONFIG_PATH} ${prefix}/${HEATSKIN_LIBDIR}/pkgconfig)
foreach(mode heatskin "heatskin;--static" heatskin_core)
  run("pkg-config ${mode}" pkg-config --cflags --libs ${mode})
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("compiling with pkg-config ${mode}" ${CXX} -std=c++20 ${HEATSKIN_SOURCE_DIR}/tests/install/main.cpp
      -o ${work}/pkg_config ${flags} -Wl,-rpath,${prefix}/${HEATSKIN_LIBDIR})
  run("running the pkg-config consumer" ${work}/pkg_config)
  expect_area("the pkg-config ${mode} consumer" "${output}")
endforeach()

# Every header is complete, needs only Eigen, and is found under its installed name.
run("pkg-config --cflags" pkg-config --cflags eigen3)
separate_arguments(eigen UNIX_COMMAND "${output}")
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/heatskin/*.h)
if(NOT "heatskin/surface/surface.h" IN_LIST headers)
  message(FATAL_ERROR "surface.h is not among the installed headers: ${headers}")
endif()
foreach(header ${headers})
  if(header MATCHES "-inl\\.h$")
    message(FATAL_ERROR "${header} is private and was installed")
  endif()
endforeach()
foreach(round forwards backwards)
  set(text)
  foreach(header ${headers})
    string(APPEND text "#include <${header}>\n")
  endforeach()
  file(WRITE ${work}/${round}.cpp "${text}")
  run("compiling all installed headers (${round})" ${CXX} -std=c++20 -fsyntax-only -Wall -Wextra -Werror
      -I${prefix}/include ${eigen} ${work}/${round}.cpp)
  list(REVERSE headers)
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

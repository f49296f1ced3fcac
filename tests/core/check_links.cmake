# cmake -D PROGRAM=... -D LIBRARY=... -P check_links.cmake: fails if the program, or what the library's objects ask for,
# needs one of the libraries that read and write files of others.

cmake_minimum_required(VERSION 3.25)

set(forbidden_libraries png jpeg webp draco embree simdjson)
set(forbidden_symbols png_ jpeg_ WebP draco:: rtcNew simdjson:: nlohmann:: "heatskin::[a-zA-Z]*Gl[bt]" "heatskin::loadAsset")

execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND nm -C --undefined-only ${LIBRARY} OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
# Both lists must be what they seem: a program needs libc, and the library asks for it.
if(NOT libraries MATCHES "libc\\.so" OR NOT symbols MATCHES " U memcpy")
  message(FATAL_ERROR "cannot see what ${PROGRAM} and ${LIBRARY} need")
endif()
foreach(name ${forbidden_libraries})
  if(libraries MATCHES "lib${name}")
    message(SEND_ERROR "${PROGRAM} links lib${name}")
  endif()
endforeach()
foreach(name ${forbidden_symbols})
  if(symbols MATCHES " U [^\n]*${name}[^\n]*")
    message(SEND_ERROR "${LIBRARY} needs ${CMAKE_MATCH_0}")
  endif()
endforeach()

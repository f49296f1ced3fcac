# Precompiled headers. Four fifths of the time to compile one of our files went into parsing Eigen and the standard
# library; parsed once for each kind of target, that time is gone. Files still include what they use.
#
# A precompiled header can be shared only by targets with the same flags, and by targets of one optimisation level: GCC
# optimises what it takes from a precompiled header as the header was, whatever the target asks for (the verbs, at -O1
# with the header of the core, took 54 s instead of 34). Hence one for each level of the library, one for unit tests,
# which are not position-independent and have GoogleTest, and, where files are compiled one by one, one for the verbs
# with the option parser.

set(HEATSKIN_PCH_LIBRARY
  <algorithm> <array> <atomic> <bit> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <numbers> <numeric> <optional> <span> <string> <string_view> <utility> <vector>
  <Eigen/Core> <Eigen/Geometry> <fmt/format.h>)

file(WRITE ${PROJECT_BINARY_DIR}/generated/pch_owner.cpp "// Only here to own a precompiled header.\n")

# heatskin_pch_owner(NAME [OPTIMISATION -On] LIBS libraries... HEADERS headers...)
function(heatskin_pch_owner name)
  cmake_parse_arguments(ARG "" "OPTIMISATION" "LIBS;HEADERS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/pch_owner.cpp)
  target_link_libraries(${name} PRIVATE heatskin_flags Eigen3::Eigen fmt::fmt ${ARG_LIBS})
  target_precompile_headers(${name} PRIVATE ${HEATSKIN_PCH_LIBRARY} ${ARG_HEADERS})
  if(ARG_OPTIMISATION)
    target_compile_options(${name} PRIVATE ${ARG_OPTIMISATION})
  endif()
endfunction()

#pragma once

namespace heatskin::testing {

/// An OBJ with vertex colours and without texture coordinates: nothing to warn about.
inline constexpr const char* kTetrahedron =
    "v 1 1 1 1 0 0\nv 1 -1 -1 0 1 0\nv -1 1 -1 0 0 1\nv -1 -1 1 1 1 0\n"
    "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n";

}  // namespace heatskin::testing

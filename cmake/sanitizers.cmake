# Sanitizers: HEATSKIN_SANITIZE=address (AddressSanitizer and UBSan) or thread (ThreadSanitizer).
# Sets HEATSKIN_SANITIZE_COMPILE, HEATSKIN_SANITIZE_LINK and HEATSKIN_SANITIZE_DEFINITIONS, empty without sanitizers.

set(HEATSKIN_SANITIZE_COMPILE)
set(HEATSKIN_SANITIZE_LINK)
set(HEATSKIN_SANITIZE_DEFINITIONS)
if(HEATSKIN_SANITIZE STREQUAL "address")
  # Without the null and object-size checks: they double the time to compile Eigen code, and AddressSanitizer finds what
  # they would find.
  set(HEATSKIN_SANITIZE_COMPILE -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr
                                -fno-sanitize-recover=all)
  set(HEATSKIN_SANITIZE_LINK -fsanitize=address,undefined)
elseif(HEATSKIN_SANITIZE STREQUAL "thread")
  set(HEATSKIN_SANITIZE_COMPILE -fsanitize=thread)
  set(HEATSKIN_SANITIZE_LINK -fsanitize=thread)
  # Debian's oneTBB is not instrumented: ThreadSanitizer would see neither where its tasks begin nor where they end, and
  # report every parallel loop. Loops then run on threads of the standard library (base/block_threads_std.cpp).
  set(HEATSKIN_SANITIZE_DEFINITIONS HEATSKIN_STD_THREADS)
elseif(HEATSKIN_SANITIZE)
  message(FATAL_ERROR "HEATSKIN_SANITIZE is '${HEATSKIN_SANITIZE}'; it may be 'address', 'thread' or empty")
endif()
if(HEATSKIN_SANITIZE)
  list(APPEND HEATSKIN_SANITIZE_COMPILE
       -fno-omit-frame-pointer
       # Instrumented library code (std::regex) makes GCC 12 see uninitialised reads that are none.
       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # Vectorised files are compiled once for every SIMD level; sanitised, the two that differ most are enough.
  list(APPEND HEATSKIN_SANITIZE_DEFINITIONS
       "HWY_DISABLED_TARGETS=(HWY_AVX3|HWY_AVX3_DL|HWY_SSE4|HWY_SSSE3)")
endif()

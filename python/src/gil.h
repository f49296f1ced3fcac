#pragma once

// Work without the GIL, also when the interpreter ends in the middle of it. At its end Python lets no other
// thread have the GIL again: a thread that asks is ended by unwinding, which C++ does not allow everywhere
// (std::terminate).

#include <pybind11/pybind11.h>

namespace heatskin::python {

/// The interpreter is about to end: whoever is at work stops soon and does not ask for the GIL.
bool interpreterEnds();

/// Registers what happens then: work that can be stopped is, and has a moment to leave.
void watchEndOfInterpreter();

/// Gives the GIL back while it lives. A thread that ends its work after the interpreter has ended waits for
/// the end of the process.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil() noexcept(false);  // Python may unwind it
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace heatskin::python

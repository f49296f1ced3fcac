#pragma once

#include <string>

namespace heatskin::cli {

/// Opens an address in the system's browser; false if that did not work. A machine without one is no error.
bool openInBrowser(const std::string& address);

}  // namespace heatskin::cli

#include "cli/browser.h"

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;  // NOLINT: POSIX names it so

namespace heatskin::cli {

bool openInBrowser(const std::string& address) {
  std::string program = "xdg-open", argument = address;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace heatskin::cli

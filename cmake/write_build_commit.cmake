# cmake -D SOURCE=DIR -D OUTPUT=FILE [-D BUILD_TYPE=Release] -P write_build_commit.cmake: writes FILE, what buildCommit()
# and buildType() (cli/build_commit.h) answer. Run by every build: a commit is not known when CMake configures. FILE stays as it is unless the answer changes,
# and nothing but the program contains it, so a commit costs one small file and one link.
cmake_minimum_required(VERSION 3.25)

# What the program is made of. Commits that change only tests, documents or scripts are the same program.
set(parts src cli bench cmake presets CMakeLists.txt ":(exclude)*_test.cpp")

function(git out)
  execute_process(COMMAND git -C ${SOURCE} -c core.quotepath=off ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE code ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    set(text "")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Empty in a tree that git knows nothing about.
git(commit log -1 --format=%h --abbrev=10 -- ${parts})
if(NOT commit STREQUAL "")
  git(changes diff HEAD --no-ext-diff --no-textconv -- ${parts})
  git(untracked ls-files --others --exclude-standard -- ${parts})
  if(NOT "${changes}${untracked}" STREQUAL "")
    string(REPLACE "\n" ";" files "${untracked}")
    foreach(file IN LISTS files)
      if(EXISTS ${SOURCE}/${file})
        file(SHA1 ${SOURCE}/${file} digest)
        string(APPEND changes "${file} ${digest}\n")
      endif()
    endforeach()
    string(SHA1 digest "${changes}")
    string(SUBSTRING ${digest} 0 8 digest)
    string(APPEND commit "+${digest}")
  endif()
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Made by cmake/write_build_commit.cmake.
#include "cli/build_commit.h"

namespace heatskin::cli {

std::string_view buildCommit() {
  return "@commit@";
}

std::string_view buildType() {
  return "@BUILD_TYPE@";
}

}  // namespace heatskin::cli
]])

# cmake -D SCRIPT=write_build_commit.cmake -D FOLDER=DIR -P check_build_commit.cmake: what counts as another program, in a
# repository made here.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
set(tree ${FOLDER}/tree)
set(output ${FOLDER}/out.cpp)
# Nothing above the new tree is a repository for git.
set(ENV{GIT_CEILING_DIRECTORIES} ${FOLDER})

function(git)
  execute_process(COMMAND git -C ${tree} -c user.name=Somebody -c user.email=somebody@example.org
                          -c commit.gpgsign=false ${ARGN}
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

# answer(OUT): the commit that the script finds now.
function(answer out)
  execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE=${tree} -D OUTPUT=${output} -P ${SCRIPT}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${output} text)
  if(NOT text MATCHES "return \"([0-9a-f+]*)\"")
    message(FATAL_ERROR "no answer in: ${text}")
  endif()
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

function(expect what condition)
  cmake_language(EVAL CODE "if(NOT (${condition}))\nmessage(FATAL_ERROR \"not true: ${what}\")\nendif()")
endfunction()

file(WRITE ${tree}/src/a.cpp "int a;\n")
answer(none)
expect("without git there is no commit" "\"${none}\" STREQUAL \"\"")

git(init -q)
git(add .)
git(commit -q -m "First")
answer(first)
expect("ten digits or more" "\"${first}\" MATCHES \"^[0-9a-f]+$\"")

# The same answer leaves the file alone: nothing is compiled or linked again.
file(TIMESTAMP ${output} before "%s")
file(TOUCH_NOCREATE ${tree}/src/a.cpp)
execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 1.1)
file(WRITE ${tree}/docs/a.md "Text\n")
file(WRITE ${tree}/src/a_test.cpp "int test;\n")
answer(written)
git(add .)
git(commit -q -m "Documents and tests")
answer(documents)
file(TIMESTAMP ${output} after "%s")
expect("new documents and tests are the same program" "\"${written}\" STREQUAL \"${first}\"")
expect("a commit of documents and tests is the same program" "\"${documents}\" STREQUAL \"${first}\"")
expect("the file is left alone" "\"${before}\" STREQUAL \"${after}\"")

file(WRITE ${tree}/src/a.cpp "int b;\n")
answer(edited)
expect("an edit has digits of its own" "\"${edited}\" MATCHES \"^${first}[+][0-9a-f]+$\"")
file(WRITE ${tree}/src/a.cpp "int c;\n")
answer(again)
expect("another edit is another program" "NOT \"${again}\" STREQUAL \"${edited}\"")
file(WRITE ${tree}/src/new.cpp "int d;\n")
answer(new)
expect("a file git does not know counts" "NOT \"${new}\" STREQUAL \"${again}\"")
file(WRITE ${tree}/src/new.cpp "int e;\n")
answer(other)
expect("what is in it counts, too" "NOT \"${other}\" STREQUAL \"${new}\"")

git(add .)
git(commit -q -m "Second")
answer(second)
expect("a commit has no digits of edits" "\"${second}\" MATCHES \"^[0-9a-f]+$\"")
expect("a commit of sources is another program" "NOT \"${second}\" STREQUAL \"${first}\"")
file(REMOVE_RECURSE ${FOLDER})
message(STATUS "ok")

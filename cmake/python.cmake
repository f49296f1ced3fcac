# The Python package (python/): an extension module over the libraries, beside the files that are Python. Off unless asked for
# (`make python`, `make test`): nobody needs it to build the program. build/python is a folder for PYTHONPATH.

# Debian's python3, which has Debian's numpy and pybind11, whatever else comes first in PATH; pip names its own.
find_program(HEATSKIN_PYTHON_EXECUTABLE python3 HINTS /usr/bin NO_DEFAULT_PATH
             DOC "The Python that the package is built for")
if(NOT HEATSKIN_PYTHON_EXECUTABLE)
  find_program(HEATSKIN_PYTHON_EXECUTABLE python3)
endif()
set(Python_EXECUTABLE ${HEATSKIN_PYTHON_EXECUTABLE})
set(missing)
find_package(Python 3.9 COMPONENTS Interpreter Development.Module QUIET)
if(NOT Python_FOUND)
  list(APPEND missing "the headers of ${HEATSKIN_PYTHON_EXECUTABLE} (Debian: python3-dev)")
endif()
set(PYBIND11_FINDPYTHON ON)
if(Python_FOUND)
  find_package(pybind11 2.10 CONFIG QUIET)
endif()
if(NOT pybind11_FOUND)
  list(APPEND missing "pybind11 (Debian: pybind11-dev)")
endif()
if(missing)
  list(JOIN missing " and " missing)
  set(HEATSKIN_PYTHON_MISSING "${missing}")
  message(STATUS "The Python package is not built: ${missing} not found")
  if(HEATSKIN_TESTS)
    add_test(NAME python/not_built COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${missing} not found")
    set_tests_properties(python/not_built PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")
  endif()
  return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cpp)
# Without pybind11's extras: link-time optimisation and stripping cost minutes.
pybind11_add_module(heatskin_python MODULE NO_EXTRAS ${python_sources})
target_link_libraries(heatskin_python PRIVATE heatskin heatskin_flags fmt::fmt TBB::tbb)
target_include_directories(heatskin_python PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
# All of it hands numbers over: optimising templates of the binding would only cost compile time.
target_compile_options(heatskin_python PRIVATE ${HEATSKIN_OPTIMISATION_light})
# Other extensions may have other versions of what is linked in here; nobody shall see ours.
target_link_options(heatskin_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(heatskin_python PROPERTIES OUTPUT_NAME _native
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/heatskin)
heatskin_unity(heatskin_python 4)

# What is Python, as links: an edit needs no build.
file(GLOB python_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/heatskin/*.py
     ${PROJECT_SOURCE_DIR}/python/heatskin/*.pyi ${PROJECT_SOURCE_DIR}/python/heatskin/py.typed)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/heatskin/bin)
foreach(file ${python_files})
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/python/heatskin/${name} SYMBOLIC)
endforeach()
if(HEATSKIN_PROGRAM)
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/heatskin ${PROJECT_BINARY_DIR}/python/heatskin/bin/heatskin SYMBOLIC)
endif()

# What was compiled is the same with and without sanitizers; scripts/sanitize.sh runs some of these in its own way.
if(HEATSKIN_TESTS AND HEATSKIN_PROGRAM AND NOT HEATSKIN_SANITIZE)
  set(python_tests ${PROJECT_SOURCE_DIR}/tests/python)
  foreach(subject geometry arrays texture running types)
    add_test(NAME python/${subject} COMMAND ${HEATSKIN_PYTHON_EXECUTABLE} ${python_tests}/run_pytest.py ${PROJECT_BINARY_DIR}
                                            test_${subject}.py)
  endforeach()
  add_test(NAME python/examples COMMAND ${HEATSKIN_PYTHON_EXECUTABLE} ${python_tests}/examples_test.py ${PROJECT_BINARY_DIR})
  add_test(NAME python/wheel COMMAND ${HEATSKIN_PYTHON_EXECUTABLE} ${python_tests}/wheel_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(python/geometry python/arrays python/texture python/running python/types python/examples python/wheel
                       PROPERTIES TIMEOUT ${HEATSKIN_HANG_LIMIT} SKIP_RETURN_CODE 77)
endif()

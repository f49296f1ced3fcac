# The library: the objects of all modules behind one target.

set(heatskin_objects)
set(heatskin_libs)
foreach(module ${HEATSKIN_MODULES})
  if(TARGET heatskin_${module})
    list(APPEND heatskin_objects $<TARGET_OBJECTS:heatskin_${module}>)
  endif()
  list(APPEND heatskin_libs ${HEATSKIN_LIBS_${module}})
endforeach()
list(REMOVE_DUPLICATES heatskin_libs)

add_library(heatskin ${heatskin_objects})
add_library(heatskin::heatskin ALIAS heatskin)
set_target_properties(heatskin PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(heatskin PUBLIC cxx_std_20)
target_include_directories(heatskin PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Only Eigen appears in our headers; the rest is needed at link time.
target_link_libraries(heatskin PUBLIC Eigen3::Eigen PRIVATE ${heatskin_libs})
target_link_options(heatskin PRIVATE ${HEATSKIN_SANITIZE_LINK})

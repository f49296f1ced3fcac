# The libraries: the objects of all modules behind two targets. heatskin_core fits and evaluates textures on surfaces
# made from arrays and meets no files; heatskin adds files, pictures and figures.

function(heatskin_library target)
  set(objects)
  set(libs)
  foreach(module ${ARGN})
    if(TARGET heatskin_${module})
      list(APPEND objects $<TARGET_OBJECTS:heatskin_${module}>)
    endif()
    list(APPEND libs ${HEATSKIN_LIBS_${module}})
  endforeach()
  list(REMOVE_DUPLICATES libs)
  add_library(${target} ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        INSTALL_RPATH "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN>")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Only Eigen appears in our headers; the rest is needed at link time.
  target_link_libraries(${target} PUBLIC Eigen3::Eigen PRIVATE ${libs})
  target_link_options(${target} PRIVATE ${HEATSKIN_SANITIZE_LINK})
endfunction()

set(heatskin_outer_modules ${HEATSKIN_MODULES})
list(REMOVE_ITEM heatskin_outer_modules ${HEATSKIN_CORE_MODULES})
heatskin_library(heatskin_core ${HEATSKIN_CORE_MODULES})
heatskin_library(heatskin ${heatskin_outer_modules})
target_link_libraries(heatskin PUBLIC heatskin_core)
set_target_properties(heatskin_core PROPERTIES EXPORT_NAME core)
add_library(heatskin::core ALIAS heatskin_core)
add_library(heatskin::heatskin ALIAS heatskin)

# `cmake --install`: the library, its headers, the program, a CMake package and a pkg-config file.

include(CMakePackageConfigHelpers)
set(heatskin_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heatskin)

install(TARGETS heatskin_core EXPORT heatskinCoreTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS heatskin EXPORT heatskinTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET heatskin_cli)
  install(TARGETS heatskin_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Public headers need nothing but Eigen and each other.
include(cmake/public_headers.cmake)
foreach(header ${HEATSKIN_PUBLIC_HEADERS})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/src/heatskin/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin/${folder})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/heatskin/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT heatskinCoreTargets NAMESPACE heatskin:: DESTINATION ${heatskin_package_dir})
install(EXPORT heatskinTargets NAMESPACE heatskin:: DESTINATION ${heatskin_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heatskinConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/heatskinConfig.cmake
                              INSTALL_DESTINATION ${heatskin_package_dir})
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heatskinConfig.cmake ${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
        DESTINATION ${heatskin_package_dir})

# heatskin.pc and heatskin_core.pc. A static library needs its dependencies in every link, so they are not private then.
# The files find their prefix from where they lie, so the tree may be moved.
file(RELATIVE_PATH HEATSKIN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(heatskin_pkg_config name requires packages libs)
  set(HEATSKIN_PC_NAME ${name})
  set(HEATSKIN_PC_REQUIRES ${requires})
  set(HEATSKIN_PC_REQUIRES_PRIVATE)
  set(HEATSKIN_PC_LIBS)
  set(HEATSKIN_PC_LIBS_PRIVATE)
  if(BUILD_SHARED_LIBS)
    set(HEATSKIN_PC_REQUIRES_PRIVATE ${packages})
    set(HEATSKIN_PC_LIBS_PRIVATE ${libs})
  else()
    string(APPEND HEATSKIN_PC_REQUIRES " ${packages}")
    set(HEATSKIN_PC_LIBS ${libs})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/heatskin.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
heatskin_pkg_config(heatskin_core "eigen3" "tbb fmt libhwy" "-lmeshoptimizer")
heatskin_pkg_config(heatskin "heatskin_core" "libpng libjpeg zlib libwebp draco cpp-httplib" "-lmeshoptimizer")

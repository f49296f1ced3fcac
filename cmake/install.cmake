# `cmake --install`: the library, its headers, the program, a CMake package and a pkg-config file.

include(CMakePackageConfigHelpers)
set(heatskin_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heatskin)

install(TARGETS heatskin_core EXPORT heatskinCoreTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS heatskin EXPORT heatskinTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(TARGET heatskin_cli)
  install(TARGETS heatskin_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  # Manual pages and completions, which the program writes itself. Without them (only heatskin_cli was built) the rest is
  # installed.
  set(pages ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${pages}/stamp DEPENDS heatskin_cli VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/completions
    COMMAND heatskin_cli manual -q -o ${pages}/man1
    COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/man7
    COMMAND ${CMAKE_COMMAND} -E rename ${pages}/man1/heatskin-options.7 ${pages}/man7/heatskin-options.7
    # As Debian wants them; man reads them on every system.
    COMMAND gzip -9nr ${pages}/man1 ${pages}/man7
    COMMAND heatskin_cli completion bash > ${pages}/completions/heatskin
    COMMAND heatskin_cli completion zsh > ${pages}/completions/_heatskin
    COMMAND heatskin_cli completion fish > ${pages}/completions/heatskin.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
    COMMENT "Manual pages and completions")
  add_custom_target(heatskin_manual ALL DEPENDS ${pages}/stamp)
  install(DIRECTORY ${pages}/man1 ${pages}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program OPTIONAL)
  install(FILES ${pages}/completions/heatskin DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT program OPTIONAL)
  install(FILES ${pages}/completions/_heatskin DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          COMPONENT program OPTIONAL)
  install(FILES ${pages}/completions/heatskin.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program OPTIONAL)
endif()

# Public headers need nothing but Eigen and each other.
include(cmake/public_headers.cmake)
foreach(header ${HEATSKIN_PUBLIC_HEADERS})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/src/heatskin/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin/${folder}
          COMPONENT development)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/heatskin/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)

install(EXPORT heatskinCoreTargets NAMESPACE heatskin:: DESTINATION ${heatskin_package_dir} COMPONENT development)
install(EXPORT heatskinTargets NAMESPACE heatskin:: DESTINATION ${heatskin_package_dir} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heatskinConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/heatskinConfig.cmake
                              INSTALL_DESTINATION ${heatskin_package_dir})
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heatskinConfig.cmake ${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
        DESTINATION ${heatskin_package_dir} COMPONENT development)

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
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endfunction()
heatskin_pkg_config(heatskin_core "eigen3" "tbb fmt libhwy" "-lmeshoptimizer")
heatskin_pkg_config(heatskin "heatskin_core" "libpng libjpeg zlib libwebp draco cpp-httplib" "-lmeshoptimizer")

if(PROJECT_IS_TOP_LEVEL AND TARGET heatskin_cli)
  include(cmake/debian.cmake)
endif()

# `cmake --install`: the library, its headers, the program, a CMake package and a pkg-config file.

include(CMakePackageConfigHelpers)
set(heatskin_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heatskin)

install(TARGETS heatskin EXPORT heatskinTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET heatskin_cli)
  install(TARGETS heatskin_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Public headers need nothing but Eigen and each other. These are for our own sources and tests.
set(private_headers
  PATTERN "*-inl.h" EXCLUDE
  PATTERN "test_*.h" EXCLUDE
  PATTERN "*_checker.h" EXCLUDE
  PATTERN "gltf_*.h" EXCLUDE
  PATTERN "glb_builder.h" EXCLUDE
  PATTERN "block_threads.h" EXCLUDE
  PATTERN "repeated_face.h" EXCLUDE)
foreach(module ${HEATSKIN_MODULES})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/heatskin/${module}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin
          FILES_MATCHING PATTERN "*.h" ${private_headers})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/heatskin/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heatskin)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT heatskinTargets NAMESPACE heatskin:: DESTINATION ${heatskin_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heatskinConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/heatskinConfig.cmake
                              INSTALL_DESTINATION ${heatskin_package_dir})
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heatskinConfig.cmake ${PROJECT_BINARY_DIR}/heatskinConfigVersion.cmake
        DESTINATION ${heatskin_package_dir})

# A static libheatskin needs its dependencies in every link, so they are not private then.
set(heatskin_pc_packages "tbb fmt libpng libjpeg libwebp draco libhwy")
set(heatskin_pc_libs "-lmeshoptimizer -lembree3")
if(BUILD_SHARED_LIBS)
  set(HEATSKIN_PC_REQUIRES_PRIVATE ${heatskin_pc_packages})
  set(HEATSKIN_PC_LIBS_PRIVATE ${heatskin_pc_libs})
else()
  set(HEATSKIN_PC_REQUIRES ${heatskin_pc_packages})
  set(HEATSKIN_PC_LIBS ${heatskin_pc_libs})
endif()
# The file finds its prefix from where it lies, so the tree may be moved.
file(RELATIVE_PATH HEATSKIN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/heatskin.pc.in ${PROJECT_BINARY_DIR}/heatskin.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heatskin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

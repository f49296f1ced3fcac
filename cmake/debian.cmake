# `make deb`: Debian packages of the program, of the library for those who build with it and, where it was built, of the Python
# package, made by CPack from the install rules. Debian's own files (changelog, copyright) are made here, so that nobody keeps them twice.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heatskin)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "heatskin maintainers <maintainers@heatskin.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "textures for triangle meshes without texture coordinates")
set(about "heatskin fits anisotropic kernels that live on the surface of a mesh to how
the mesh looks, so that it has a colour at every point without a UV layout.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME heatskin)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "${about}
This package has the program: it fits, evaluates, renders, bakes, transfers and
shows such textures.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheatskin-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libeigen3-dev, libtbb-dev, libhwy-dev, libfmt-dev, libpng-dev, libjpeg-dev, zlib1g-dev, libwebp-dev, libdraco-dev, libmeshoptimizer-dev, libcpp-httplib-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "${about}
This package has the headers and static libraries for C++20 programs.")

# For Debian's own python3 alone: its folder and its numpy. The program is that of the other package.
set(deb_packages heatskin:program libheatskin-dev:development)
if(TARGET heatskin_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  list(APPEND deb_packages python3-heatskin:python)
  set(python ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-heatskin)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= ${python}), python3 (<< ${Python_VERSION_MAJOR}.${next_minor}), python3-numpy, heatskin (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-tqdm, python3-scipy")
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION "${about}
This package has the Python module heatskin: fits, queries and geometry on numpy
arrays.")
  set(dist_packages lib/python3/dist-packages/heatskin)
  install(TARGETS heatskin_python LIBRARY DESTINATION ${dist_packages} COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES ${python_files} DESTINATION ${dist_packages} COMPONENT python EXCLUDE_FROM_ALL)
  # python3 -m heatskin is /usr/bin/heatskin.
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${dist_packages}/bin\")
file(CREATE_LINK ../../../../../bin/heatskin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${dist_packages}/bin/heatskin\" SYMBOLIC)"
          COMPONENT python EXCLUDE_FROM_ALL)
endif()

# The changelog Debian wants: one entry, dated like the last commit so that the same sources make the same package.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --date=rfc2822 --format=%ad OUTPUT_VARIABLE date
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  set(date "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
string(CONCAT changelog "heatskin (${PROJECT_VERSION}) unstable; urgency=medium\n\n"
              "  * See CHANGELOG.md in the sources.\n\n"
              " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
string(CONCAT copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
              "Upstream-Name: heatskin\n\nFiles: *\nCopyright: 2026 the heatskin developers\nLicense: Apache-2.0\n"
              " On Debian systems, the complete text of the Apache License, Version 2.0,\n"
              " is in \"/usr/share/common-licenses/Apache-2.0\".\n")
set(folder ${PROJECT_BINARY_DIR}/debian)
file(WRITE ${folder}/copyright "${copyright}")
file(CONFIGURE OUTPUT ${folder}/changelog CONTENT "${changelog}" @ONLY)
execute_process(COMMAND gzip -9nf -k ${folder}/changelog)
file(RENAME ${folder}/changelog.gz ${folder}/changelog.gz.tmp)
file(RENAME ${folder}/changelog.gz.tmp ${folder}/changelog.gz)
foreach(package ${deb_packages})
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 name)
  list(GET package 1 component)
  install(FILES ${folder}/copyright DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${folder}/changelog.gz DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)

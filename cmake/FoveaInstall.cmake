# Installation by cmake --install: libraries, headers and the package for find_package(fovea).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY FOVEA_LIBRARIES)
list(REMOVE_ITEM libraries fovea_apps fovea_programs fovea_golden)  # used by the programs only
get_property(dependencies GLOBAL PROPERTY FOVEA_DEPENDENCY_TARGETS)
install(TARGETS ${libraries} ${dependencies} fovea_flags EXPORT fovea-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(installed_headers ${CMAKE_BINARY_DIR}/installed_headers)
list(FIND rooms apps first_program)
list(SUBLIST rooms 0 ${first_program} installed_rooms)
list(TRANSFORM installed_rooms REPLACE "/.*" "")
list(REMOVE_DUPLICATES installed_rooms)
list(REMOVE_ITEM installed_rooms ops)  # installed_headers.cmake adds its public headers
install(CODE "set(SOURCE \"${CMAKE_SOURCE_DIR}\")
set(ROOMS ${installed_rooms})
set(TARGET \"${installed_headers}\")")
install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/installed_headers.cmake)
install(DIRECTORY ${installed_headers}/ DESTINATION include/fovea)
install(EXPORT fovea-targets NAMESPACE fovea:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/fovea-config.cmake.in
  ${CMAKE_BINARY_DIR}/fovea-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fovea-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fovea-config.cmake ${CMAKE_BINARY_DIR}/fovea-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

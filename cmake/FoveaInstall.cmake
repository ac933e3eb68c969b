# Installation by cmake --install: libraries, headers and the package for find_package(fovea).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY FOVEA_LIBRARIES)
list(REMOVE_ITEM libraries fovea_apps fovea_programs fovea_golden)  # used by the programs only
get_property(dependencies GLOBAL PROPERTY FOVEA_DEPENDENCY_TARGETS)
install(TARGETS ${libraries} ${dependencies} fovea_flags EXPORT fovea-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(ROOMS ${FOVEA_HEADER_ROOMS})
set(TARGET \"${FOVEA_HEADERS}/fovea\")")
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/installed_headers.cmake)
install(DIRECTORY ${FOVEA_HEADERS}/ DESTINATION include)
install(EXPORT fovea-targets NAMESPACE fovea:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fovea-config.cmake.in
  ${PROJECT_BINARY_DIR}/fovea-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fovea-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fovea-config.cmake ${PROJECT_BINARY_DIR}/fovea-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

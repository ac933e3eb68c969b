# cmake --install: libraries, headers and the package that find_package(fovea) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY FOVEA_LIBRARIES)
list(REMOVE_ITEM libraries fovea_apps fovea_golden)  # of the programs alone
get_property(dependencies GLOBAL PROPERTY FOVEA_DEPENDENCY_TARGETS)
install(TARGETS ${libraries} ${dependencies} fovea_flags EXPORT fovea-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder base engine formats data models figures optim settings train inspect report)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION include/fovea
          FILES_MATCHING PATTERN "*.h" PATTERN "cuda" EXCLUDE)
endforeach()
file(GLOB shelf ${CMAKE_SOURCE_DIR}/ops/*.h)  # the families below it are private
list(REMOVE_ITEM shelf ${CMAKE_SOURCE_DIR}/ops/kernels.h)
install(FILES ${shelf} DESTINATION include/fovea/ops)
install(EXPORT fovea-targets NAMESPACE fovea:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/fovea-config.cmake.in
  ${CMAKE_BINARY_DIR}/fovea-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fovea-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fovea-config.cmake ${CMAKE_BINARY_DIR}/fovea-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

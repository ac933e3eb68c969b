# The public headers as <fovea/room/header.h>: what is installed, and what another project includes that has
# fovea as a subproject.

# Rooms up to report/ are libraries; FOVEA_HEADER_ROOMS are their folders with public headers.
list(FIND rooms apps first_program)
list(SUBLIST rooms 0 ${first_program} FOVEA_LIBRARY_ROOMS)
set(FOVEA_HEADER_ROOMS ${FOVEA_LIBRARY_ROOMS})
list(TRANSFORM FOVEA_HEADER_ROOMS REPLACE "/.*" "")
list(REMOVE_DUPLICATES FOVEA_HEADER_ROOMS)
list(REMOVE_ITEM FOVEA_HEADER_ROOMS ops)  # installed_headers.cmake adds its public headers
set(FOVEA_HEADERS ${PROJECT_BINARY_DIR}/headers)

# Writes the headers when CMake configures, which it does again when one of them changes.
function(fovea_write_headers)
  execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DROOMS=${FOVEA_HEADER_ROOMS}"
            "-DTARGET=${FOVEA_HEADERS}/fovea" -P ${PROJECT_SOURCE_DIR}/cmake/installed_headers.cmake)
  list(TRANSFORM FOVEA_HEADER_ROOMS PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE folders)
  list(TRANSFORM folders APPEND "/*.h")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folders} ${PROJECT_SOURCE_DIR}/include/*.h)
  file(GLOB shelf CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers} ${shelf})
endfunction()

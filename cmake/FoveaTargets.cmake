# Helpers that keep the folders' CMakeLists short.

# fovea_library(<name> [SOURCES ...] [EXCEPT ...] [COMPUTING ...] [LINK ...] [PRIVATE_LINK ...]): a
# static library with the project's warnings. By default its sources are all .cpp files in its folder and
# below, except in folders with a CMakeLists.txt: these are rooms of their own. COMPUTING (patterns): sources with loops over elements, compiled with full optimisation as the
# objects fovea_<name>_computing.
function(fovea_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCEPT;COMPUTING;LINK;PRIVATE_LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB_RECURSE ARG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
    list(REMOVE_ITEM ARG_SOURCES "" ${ARG_EXCEPT})
    file(GLOB rooms RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
    foreach(room ${rooms})
      cmake_path(GET room PARENT_PATH room)
      list(FILTER ARG_SOURCES EXCLUDE REGEX "^${room}/")
    endforeach()
  endif()
  if(ARG_COMPUTING)
    file(GLOB computing CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_COMPUTING})
    list(REMOVE_ITEM computing "" ${ARG_EXCEPT})
    list(REMOVE_ITEM ARG_SOURCES ${computing})
    add_library(fovea_${name}_computing OBJECT ${computing})
    target_include_directories(fovea_${name}_computing PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(fovea_${name}_computing PRIVATE ${ARG_LINK} ${ARG_PRIVATE_LINK} fovea_flags)
    fovea_unite(fovea_${name}_computing)
    list(APPEND ARG_SOURCES $<TARGET_OBJECTS:fovea_${name}_computing>)
  endif()
  add_library(fovea_${name} STATIC ${ARG_SOURCES})
  add_library(fovea::${name} ALIAS fovea_${name})
  set_target_properties(fovea_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(fovea_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK} fovea_flags)
  target_compile_features(fovea_${name} INTERFACE cxx_std_20)  # a project that sets no standard gets it
  fovea_compile_quickly(fovea_${name})
  fovea_unite(fovea_${name})
  if(PROJECT_IS_TOP_LEVEL)
    target_include_directories(fovea_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                               $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<INSTALL_INTERFACE:include>)
  else()  # another project may have folders named like fovea's rooms
    target_include_directories(fovea_${name} PRIVATE ${PROJECT_SOURCE_DIR} INTERFACE ${FOVEA_HEADERS})
  endif()
  set_property(GLOBAL APPEND PROPERTY FOVEA_LIBRARIES fovea_${name})
endfunction()

add_library(fovea_flags INTERFACE)
target_compile_options(fovea_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  # GCC 12 reports impossible overlaps in std::string concatenation (GCC bug 105329).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow>)
if(FOVEA_WERROR)
  target_compile_options(fovea_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
if(FOVEA_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FOVEA_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      # Reports need no more than the numbers of lines.
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-g1>)
  add_link_options(-fsanitize=${FOVEA_SANITIZE})
endif()

# Parsing the standard library and JSON for each source took most of the build, so a dozen sources are
# compiled together. (For incremental work use a launcher such as ccache.)
set(unites ${FOVEA_UNITY})
if(FOVEA_UNITY STREQUAL "AUTO")
  set(unites ON)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set(unites OFF)
  endif()
endif()
function(fovea_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${unites} UNITY_BUILD_BATCH_SIZE 12)
  set_source_files_properties(${FOVEA_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# -O1 is enough for sources that read settings, write files and call kernels, and for tests. With a
# sanitizer, compiling them faster saves more time than running them faster, but for those that every op
# or image runs through.
function(fovea_compile_quickly target)
  set(level -O1)
  if(FOVEA_SANITIZE AND NOT target MATCHES "^fovea_(engine|ops|data)$")
    set(level -O0)
  endif()
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo>>:${level}>)
endfunction()

# The lines of programs.txt, and their names.
set(program_list ${CMAKE_CURRENT_LIST_DIR}/programs.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${program_list})
file(STRINGS ${program_list} FOVEA_PROGRAM_LINES REGEX "^[a-z]")
list(TRANSFORM FOVEA_PROGRAM_LINES REPLACE " .*" "" OUTPUT_VARIABLE FOVEA_PROGRAMS)

# fovea_app(<name> <source> [<library>...]): an executable in the build folder, with what programs share.
function(fovea_app name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE fovea_apps fovea_flags ${ARGN})
  fovea_compile_quickly(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

function(fovea_print_summary)
  message(STATUS "")
  message(STATUS "fovea ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
  message(STATUS "  compiler   ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  message(STATUS "  CUDA       ${FOVEA_HAS_CUDA} ${CMAKE_CUDA_COMPILER_VERSION}"
                 " (architectures: ${CMAKE_CUDA_ARCHITECTURES})")
  message(STATUS "  OpenMP     ${FOVEA_HAS_OPENMP}")
  foreach(library JPEG PNG)
    if(${library}_FOUND)
      message(STATUS "  ${library}       found")
    else()
      message(STATUS "  ${library}       not found: stb_image decodes it instead")
    endif()
  endforeach()
  if(WEBP_FOUND)
    message(STATUS "  WebP       found")
  else()
    message(STATUS "  WebP       not found: .webp files are no pictures")
  endif()
  if(NOT UTF8PROC_FOUND)
    message(STATUS "  utf8proc   not found: class names in two forms of Unicode are two names")
  endif()
  if(NOT ZLIB_FOUND)
    message(STATUS "  zlib       not found: compressed .npz files and TorchScript programs are not read")
  endif()
  if(NOT PUGIXML_FOUND)
    message(STATUS "  pugixml    not found: annotations in PASCAL VOC's XML are not read")
  endif()
  if(NOT HDF5_FOUND)
    message(STATUS "  HDF5       not found: NYU's labelled depth file is not read")
  endif()
  if(MPI_FOUND)
    message(STATUS "  MPI        ${MPI_CXX_VERSION}")
  else()
    message(STATUS "  MPI        not found: mpirun cannot train with several processes")
  endif()
  if(NCCL_FOUND)
    message(STATUS "  NCCL       found")
  elseif(FOVEA_HAS_CUDA)
    message(STATUS "  NCCL       not found: GPUs of several processes exchange through host memory")
  endif()
  if(NOT FOVEA_HAS_OPENMP)
    message(STATUS "  without OpenMP the kernels run on one thread")
  endif()
  message(STATUS "")
endfunction()

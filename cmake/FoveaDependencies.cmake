# Finds installed dependencies. Header-only libraries may also be placed under FOVEA_DEPS or .deps/.
if(NOT FOVEA_DEPS AND EXISTS ${PROJECT_SOURCE_DIR}/.deps)
  set(FOVEA_DEPS ${PROJECT_SOURCE_DIR}/.deps)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # the other project links them, too
endif()
set(FOVEA_DEPS_HINTS ${FOVEA_DEPS} ${FOVEA_DEPS}/include ${FOVEA_DEPS}/usr/include)

# fovea_header(<target> <header> <apt package> [subdirectories...]): an include-only target, or else the
# header in missing_headers and the package in missing_packages.
set(missing_headers)
set(missing_packages)
function(fovea_header target header package)
  find_path(FOVEA_${target}_DIR ${header} HINTS ${FOVEA_DEPS_HINTS} PATH_SUFFIXES ${ARGN})
  if(NOT FOVEA_${target}_DIR)
    set(missing_headers ${missing_headers} ${header} PARENT_SCOPE)
    set(missing_packages ${missing_packages} ${package} PARENT_SCOPE)
    return()
  endif()
  add_library(fovea_dep_${target} INTERFACE)
  target_include_directories(fovea_dep_${target} SYSTEM INTERFACE
                             $<BUILD_INTERFACE:${FOVEA_${target}_DIR}>)
  set_property(GLOBAL APPEND PROPERTY FOVEA_DEPENDENCY_TARGETS fovea_dep_${target})
endfunction()

fovea_header(eigen Eigen/Core libeigen3-dev eigen3)
fovea_header(json nlohmann/json.hpp nlohmann-json3-dev)
if(PROJECT_IS_TOP_LEVEL)  # for the programs
  fovea_header(cli11 CLI/CLI.hpp libcli11-dev)
endif()
fovea_header(stb stb_image.h libstb-dev stb)
if(FOVEA_BUILD_TESTS AND PROJECT_IS_TOP_LEVEL)
  fovea_header(doctest doctest/doctest.h doctest-dev)
endif()
if(missing_headers)
  list(JOIN missing_headers ", " missing_headers)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "Not found: ${missing_headers}. To install: apt-get install ${missing_packages} "
                      "(or put the headers under .deps/, see CONTRIBUTING.md).")
endif()

find_package(JPEG QUIET)
find_package(PNG QUIET)
# fovea_library_or_none(<name> <header> <library>... [FOLDERS <folder>...]): the target fovea_dep_<name> if
# all parts are found, for libraries without a CMake module. <NAME>_FOUND is the result. The header may
# stand in one of the folders below the usual places.
function(fovea_library_or_none name header)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" FOLDERS)
  string(TOUPPER ${name} NAME)
  find_path(FOVEA_${NAME}_DIR ${header} PATH_SUFFIXES ${ARG_FOLDERS})
  set(found ${FOVEA_${NAME}_DIR})
  set(libraries)
  foreach(library ${ARG_UNPARSED_ARGUMENTS})
    string(TOUPPER FOVEA_${library}_LIBRARY variable)
    find_library(${variable} ${library})
    list(APPEND libraries ${${variable}})
    if(NOT ${variable})
      set(found OFF)
    endif()
  endforeach()
  set(${NAME}_FOUND OFF PARENT_SCOPE)
  if(NOT found)
    return()
  endif()
  set(${NAME}_FOUND ON PARENT_SCOPE)
  add_library(fovea_dep_${name} INTERFACE)
  target_include_directories(fovea_dep_${name} SYSTEM INTERFACE $<BUILD_INTERFACE:${FOVEA_${NAME}_DIR}>)
  target_link_libraries(fovea_dep_${name} INTERFACE ${libraries})
  set_property(GLOBAL APPEND PROPERTY FOVEA_DEPENDENCY_TARGETS fovea_dep_${name})
endfunction()

fovea_library_or_none(webp webp/demux.h webpdemux webp)
fovea_library_or_none(utf8proc utf8proc.h utf8proc)
fovea_library_or_none(zlib zlib.h z)
fovea_library_or_none(pugixml pugixml.hpp pugixml)
fovea_library_or_none(hdf5 hdf5.h hdf5_serial FOLDERS hdf5/serial)
# Debian's shared libhdf5 loads thirty others (curl, TLS, Kerberos) to read files on servers, which
# doubles the start-up time of each program. Linked as an archive, it needs none of them. Other projects
# get the shared one: the archive may not be position independent, and a shared library of theirs needs that.
if(HDF5_FOUND AND PROJECT_IS_TOP_LEVEL)
  include(CheckCXXSourceCompiles)
  find_library(FOVEA_HDF5_ARCHIVE libhdf5_serial.a)
  set(parts ${FOVEA_HDF5_ARCHIVE} sz z ${CMAKE_DL_LIBS} m)
  set(CMAKE_REQUIRED_INCLUDES ${FOVEA_HDF5_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${parts})
  check_cxx_source_compiles(
    "#include <hdf5.h>\nint main() { return H5Fopen(\"\", H5F_ACC_RDONLY, H5P_DEFAULT) < 0; }"
    FOVEA_HDF5_LINKS_ALONE)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(FOVEA_HDF5_ARCHIVE AND FOVEA_HDF5_LINKS_ALONE)
    get_target_property(shared fovea_dep_hdf5 INTERFACE_LINK_LIBRARIES)
    set_target_properties(fovea_dep_hdf5 PROPERTIES INTERFACE_LINK_LIBRARIES
      "$<BUILD_INTERFACE:${parts}>;$<INSTALL_INTERFACE:${shared}>")
  endif()
endif()
find_package(Threads REQUIRED)

# MPI's C interface; the old C++ one is not wanted.
set(FOVEA_MPI AUTO CACHE STRING "Training with several processes: ON, OFF, or AUTO: where MPI is found")
set_property(CACHE FOVEA_MPI PROPERTY STRINGS AUTO ON OFF)
set(MPI_FOUND OFF)
if(NOT FOVEA_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_FOUND AND FOVEA_MPI STREQUAL "ON")
    message(FATAL_ERROR "FOVEA_MPI=ON, but MPI was not found. Install it: apt-get install "
                        "libopenmpi-dev openmpi-bin (or libmpich-dev mpich), or configure with "
                        "-DFOVEA_MPI=OFF.")
  endif()
endif()

set(FOVEA_HAS_OPENMP OFF)
if(FOVEA_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    set(FOVEA_HAS_OPENMP ON)
  endif()
endif()

# AUTO avoids running the slow CUDA compiler on machines without a GPU: it requires nvcc and a driver, or
# explicitly given architectures.
set(FOVEA_HAS_CUDA OFF)
set(wants_cuda ${FOVEA_CUDA})
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT PROJECT_IS_TOP_LEVEL AND NOT "CUDA" IN_LIST languages)  # which only the outer project can enable
  if(FOVEA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "FOVEA_CUDA=ON in another project, which must enable the language itself: "
                        "project(... LANGUAGES CXX CUDA).")
  endif()
  set(wants_cuda OFF)
endif()
if(wants_cuda STREQUAL "AUTO")
  find_library(FOVEA_CUDA_DRIVER NAMES libcuda.so.1 PATHS /usr/lib/wsl/lib)
  set(wants_cuda OFF)
  if(FOVEA_CUDA_DRIVER OR EXISTS /proc/driver/nvidia/version OR DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(wants_cuda ON)
  endif()
endif()
if(wants_cuda)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)  # this machine's; else one that newer drivers translate
      set(CMAKE_CUDA_ARCHITECTURES 80)
      if(EXISTS /dev/nvidia0)
        set(CMAKE_CUDA_ARCHITECTURES native)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(FOVEA_HAS_CUDA ON)
  elseif(NOT FOVEA_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "FOVEA_CUDA=${FOVEA_CUDA}, but nvcc was not found. Put it on PATH, or "
                        "configure with -DFOVEA_CUDA=OFF.")
  endif()
endif()

# NCCL moves the bytes between the GPUs of several processes, which MPI starts.
set(FOVEA_NCCL AUTO CACHE STRING "Exchanges between GPUs by NCCL: ON, OFF, or AUTO: where NCCL is found")
set_property(CACHE FOVEA_NCCL PROPERTY STRINGS AUTO ON OFF)
set(NCCL_FOUND OFF)
if(NOT FOVEA_NCCL STREQUAL "OFF" AND FOVEA_HAS_CUDA AND MPI_FOUND)
  list(APPEND CMAKE_INCLUDE_PATH ${CUDAToolkit_INCLUDE_DIRS})  # some toolkits have it
  list(APPEND CMAKE_LIBRARY_PATH ${CUDAToolkit_LIBRARY_DIR})
  fovea_library_or_none(nccl nccl.h nccl)
endif()
if(FOVEA_NCCL STREQUAL "ON" AND NOT NCCL_FOUND)
  message(FATAL_ERROR "FOVEA_NCCL=ON needs CUDA (found: ${FOVEA_HAS_CUDA}), MPI (found: ${MPI_FOUND}) and "
                      "NCCL. Install NVIDIA's package libnccl-dev, or configure with -DFOVEA_NCCL=OFF.")
endif()

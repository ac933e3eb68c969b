# Finds what is installed. Header-only libraries may also stand under FOVEA_DEPS or .deps/.
if(NOT FOVEA_DEPS AND EXISTS ${CMAKE_SOURCE_DIR}/.deps)
  set(FOVEA_DEPS ${CMAKE_SOURCE_DIR}/.deps)
endif()
set(FOVEA_DEPS_HINTS ${FOVEA_DEPS} ${FOVEA_DEPS}/include ${FOVEA_DEPS}/usr/include)

# fovea_header(<target> <header> <apt package> [subdirectories...]): an include-only target.
function(fovea_header target header package)
  find_path(FOVEA_${target}_DIR ${header} HINTS ${FOVEA_DEPS_HINTS} PATH_SUFFIXES ${ARGN})
  if(NOT FOVEA_${target}_DIR)
    message(FATAL_ERROR "${header} was not found. Install it: apt-get install ${package} "
                        "(or put it under .deps/, see README, section Build).")
  endif()
  add_library(fovea_dep_${target} INTERFACE)
  target_include_directories(fovea_dep_${target} SYSTEM INTERFACE
                             $<BUILD_INTERFACE:${FOVEA_${target}_DIR}>)
  set_property(GLOBAL APPEND PROPERTY FOVEA_DEPENDENCY_TARGETS fovea_dep_${target})
endfunction()

fovea_header(eigen Eigen/Core libeigen3-dev eigen3)
fovea_header(json nlohmann/json.hpp nlohmann-json3-dev)
fovea_header(cli11 CLI/CLI.hpp libcli11-dev)
fovea_header(stb stb_image.h libstb-dev stb)
if(FOVEA_BUILD_TESTS)
  fovea_header(doctest doctest/doctest.h doctest-dev)
endif()

find_package(JPEG QUIET)
find_package(PNG QUIET)
find_package(Threads REQUIRED)

set(FOVEA_HAS_OPENMP OFF)
if(FOVEA_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    set(FOVEA_HAS_OPENMP ON)
  endif()
endif()

# AUTO spares those without a GPU a compiler that is slow: it asks for nvcc and for a driver, or for
# architectures that somebody has named.
set(FOVEA_HAS_CUDA OFF)
set(wants_cuda ${FOVEA_CUDA})
if(FOVEA_CUDA STREQUAL "AUTO")
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

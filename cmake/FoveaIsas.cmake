# The CPU's instruction sets, one row each; engine/cpu_isa.h tests whether a processor supports them.
set(FOVEA_ONLY_ISA "" CACHE STRING
  "Compile the kernels of these instruction sets alone, e.g. v3 or v4;v4bf16_twin; empty: of all")

# fovea_isa(<name> [ABOVE <name>] [FAMILIES <family>...] FLAGS <flag>...): FAMILIES are the folders of
# ops/ with cpu*.cpp files to compile for this set, by default all. The other families use the kernels of
# the set ABOVE which this one is, if that is compiled. In these sources FOVEA_ISA is the set's name, and FOVEA_ISA_<name> is
# defined for the set itself and for all sets below it, so the highest must be tested first.
function(fovea_isa name)
  cmake_parse_arguments(ARG "" "ABOVE" "FAMILIES;FLAGS" ${ARGN})
  set(below)
  if(ARG_ABOVE)
    get_property(below GLOBAL PROPERTY FOVEA_ISA_LINEAGE_${ARG_ABOVE})
  endif()
  set_property(GLOBAL PROPERTY FOVEA_ISA_LINEAGE_${name} ${name} ${below})
  set_property(GLOBAL PROPERTY FOVEA_ISA_FLAGS_${name} ${ARG_FLAGS})
  if(NOT FOVEA_ONLY_ISA OR ARG_ABOVE IN_LIST FOVEA_ONLY_ISA)
    set_property(GLOBAL PROPERTY FOVEA_ISA_FAMILIES_${name} ${ARG_FAMILIES})
  endif()
  if(NOT FOVEA_ONLY_ISA OR name IN_LIST FOVEA_ONLY_ISA)
    set_property(GLOBAL APPEND PROPERTY FOVEA_ISAS ${name})
  endif()
endfunction()

# x86-64 levels of the psABI, and above them what multiplies bf16.
fovea_isa(v2 FLAGS -msse4.2)
set(avx2 -mavx2 -mfma -mbmi2 -mf16c)
fovea_isa(v3 ABOVE v2 FLAGS ${avx2})
set(avx512 -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl ${avx2} -mprefer-vector-width=512)
fovea_isa(v4 ABOVE v3 FLAGS ${avx512})
set(bf16_families attention gemm)
fovea_isa(v4bf16_twin ABOVE v4 FAMILIES ${bf16_families} FLAGS ${avx512})
fovea_isa(v4bf16 ABOVE v4 FAMILIES ${bf16_families} FLAGS ${avx512} -mavx512bf16)
fovea_isa(amx_twin ABOVE v3 FAMILIES ${bf16_families} FLAGS ${avx2})
fovea_isa(amx ABOVE v4 FAMILIES ${bf16_families} FLAGS ${avx512} -mavx512bf16 -mamx-tile -mamx-bf16)
get_property(isas GLOBAL PROPERTY FOVEA_ISAS)
if(NOT isas)
  message(FATAL_ERROR "FOVEA_ONLY_ISA=${FOVEA_ONLY_ISA}: expected some of "
    "v2, v3, v4, v4bf16_twin, v4bf16, amx_twin, amx")
endif()

# fovea_isa_owner(<variable> <isa> <family>): the set that compiles a family's kernels for <isa>.
function(fovea_isa_owner variable isa family)
  get_property(lineage GLOBAL PROPERTY FOVEA_ISA_LINEAGE_${isa})
  foreach(owner ${lineage})
    get_property(families GLOBAL PROPERTY FOVEA_ISA_FAMILIES_${owner})
    if(NOT families OR family IN_LIST families)
      set(${variable} ${owner} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "instruction set ${isa}: neither it nor a set below it has the family ${family}")
endfunction()

# fovea_isa_objects(<target> <isa> <file>...): compiles for the set those of the files ops/<family>/*
# whose families belong to it. -fno-math-errno and -fno-trapping-math let loops with sqrt and selects
# vectorise; unlike -ffast-math they preserve NaN and infinity.
function(fovea_isa_objects target isa)
  set(own)
  foreach(file ${ARGN})
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME family)
    fovea_isa_owner(owner ${isa} ${family})
    if(owner STREQUAL isa)
      list(APPEND own ${file})
    endif()
  endforeach()
  get_property(lineage GLOBAL PROPERTY FOVEA_ISA_LINEAGE_${isa})
  get_property(flags GLOBAL PROPERTY FOVEA_ISA_FLAGS_${isa})
  add_library(${target} OBJECT ${own})
  list(TRANSFORM lineage PREPEND FOVEA_ISA_)
  target_compile_definitions(${target} PRIVATE FOVEA_ISA=${isa} ${lineage})
  target_compile_options(${target} PRIVATE ${flags} -fno-math-errno -fno-trapping-math)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE fovea_flags)
  fovea_unite(${target})
endfunction()

# fovea_families(<variable> <file>...): the sorted families of sources ops/<family>/*.
function(fovea_families variable)
  set(families ${ARGN})
  list(TRANSFORM families REPLACE "/[^/]*$" "")
  list(TRANSFORM families REPLACE ".*/" "")
  list(REMOVE_DUPLICATES families)
  list(SORT families)
  set(${variable} ${families} PARENT_SCOPE)
endfunction()

# fovea_table(<file> <namespace> <family>=<namespace>...): writes the table of kernels (ops/kernels.h) of
# a device or an instruction set, each family's kernels from the given namespace; the families that are
# not listed have none.
function(fovea_table to namespace)
  set(INCLUDES)
  set(DECLARATIONS)
  set(MEMBERS)
  file(GLOB calls CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*/call.h)
  fovea_families(families ${calls})
  foreach(family ${families})
    string(APPEND INCLUDES "#include \"ops/${family}/call.h\"\n")
    set(type "std::remove_reference_t<decltype(Kernels::${family})>")
    set(entries ${ARGN})
    list(FILTER entries INCLUDE REGEX "^${family}=")
    if(entries)
      string(REGEX REPLACE "^.*=" "" owner ${entries})
      string(APPEND DECLARATIONS "namespace ${owner} {\nextern ${type} ${family}_kernels;\n}\n")
      string(APPEND MEMBERS "\n    .${family} = ${owner}::${family}_kernels,")
    else()
      string(APPEND MEMBERS "\n    .${family} = kNoKernels<${type}>,")
    endif()
  endforeach()
  set(NAMESPACE ${namespace})
  configure_file(${PROJECT_SOURCE_DIR}/ops/table.cpp.in ${to} @ONLY)
endfunction()

# fovea_cpu_table(<file> <isa> <family>...): writes the table of an instruction set.
function(fovea_cpu_table to isa)
  set(entries)
  foreach(family ${ARGN})
    fovea_isa_owner(owner ${isa} ${family})
    list(APPEND entries "${family}=cpu::${owner}")
  endforeach()
  fovea_table(${to} cpu::${isa} ${entries})
endfunction()

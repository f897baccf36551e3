# The families of ops, the one list of them.
#
# A folder that knows something of a family has it in <Family>.cpp, or where that
# grows large in files <Family><Topic>.cpp beside it. The rest follows: CMake
# compiles what is there, and writes the names of these files to a Families.def
# from which C++ registers them. The ops themselves are in <Family>Ops.td and
# <Family>Ops.h of include/shoal/Dialect/Shoal/IR; those of Collectives are the
# `spmd` dialect's.
set(SHOAL_FAMILIES
  Annotations
  Elementwise
  Contraction
  Reduction
  Structure
  Reshape
  Indexing
  Windows
  Ordering
  Fourier
  Random
  NN
  ControlFlow
  Manual
  Collectives
  CustomCall
  HostCall
)

# shoal_find_families(VAR PATTERN): the files of this folder that match PATTERN,
# which has @ in the place of a family, in the order of the list.
function(shoal_find_families var pattern)
  set(found)
  foreach(family ${SHOAL_FAMILIES})
    string(REPLACE @ ${family} glob ${pattern})
    file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS
         ${CMAKE_CURRENT_SOURCE_DIR}/${glob})
    list(APPEND found ${files})
  endforeach()
  set(${var} ${found} PARENT_SCOPE)
endfunction()

# shoal_add_families(TARGET PATTERN): compiles the files into TARGET, and lists
# them in a Families.def that TARGET can include.
function(shoal_add_families target pattern)
  shoal_find_families(files ${pattern})
  target_sources(${target} PRIVATE ${files})
  list(TRANSFORM files REPLACE "(.*/)?(.*)\\.cpp" "SHOAL_FAMILY(\\2)\n")
  list(JOIN files "" lines)
  file(CONFIGURE OUTPUT Families.def CONTENT "${lines}#undef SHOAL_FAMILY\n")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  # A name that is slightly another one would be left out in silence.
  string(REPLACE @ "" glob ${pattern})
  file(GLOB rest RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${CMAKE_CURRENT_SOURCE_DIR}/${glob})
  get_directory_property(targets BUILDSYSTEM_TARGETS)
  foreach(other ${targets})
    get_target_property(sources ${other} SOURCES)
    list(REMOVE_ITEM rest ${sources})
  endforeach()
  if(rest)
    message(FATAL_ERROR "of no family, and in no list of ${CMAKE_CURRENT_SOURCE_DIR}: ${rest}")
  endif()
endfunction()

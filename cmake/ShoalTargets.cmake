# How Shoal's libraries and tools are built: static libraries against the
# shared libMLIR / libLLVM. Most of what compiling a source takes is reading
# MLIR's headers and compiling their inline functions, so what sees MLIR shares
# one precompiled header, and in a build from nothing (SHOAL_UNITY_BUILD, in the
# release preset) a batch of sources is compiled as one. The dev preset has no
# batches: there a change compiles one source.

# What sees MLIR is compiled so.
function(shoal_share_headers target)
  if(SHOAL_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ShoalPCH)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  # Each source of a batch names itself in what LDBG() prints.
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SHOAL_UNITY_BUILD}
    UNITY_BUILD_BATCH_SIZE ${SHOAL_UNITY_BATCH}
    UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
  # Half of the rest is inlining calls that run once an op; the search and the
  # interpreter, which spend time in their own loops, inline as elsewhere.
  get_target_property(is_hot ${target} SHOAL_HOT)
  if(NOT is_hot AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -inline-threshold=100")
  endif()
endfunction()

# shoal_add_library(Name sources... [HOT] [DEPENDS tablegen-targets...] [LINK libs...])
# A static library that sees MLIR. Every one depends on the dialects' generated
# headers, so that no include order can race TableGen. HOT: its own code, not
# MLIR's, is where time goes.
function(shoal_add_library name)
  cmake_parse_arguments(ARG "HOT" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES SHOAL_HOT ${ARG_HOT})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(TARGET shoal-headers)
    add_dependencies(${name} shoal-headers)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  shoal_share_headers(${name})
endfunction()

# shoal_add_tool(name sources... LINK libs...)
function(shoal_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  add_dependencies(${name} shoal-headers)
  # What check-shoal builds before it runs.
  set_property(GLOBAL APPEND PROPERTY SHOAL_TEST_DEPENDS ${name})
  # CMake compiles executables with -fPIE; the shared header is -fPIC.
  target_compile_options(${name} PRIVATE -fPIC)
  shoal_share_headers(${name})
endfunction()

# shoal_add_unit_test(name sources... LINK libs...)
# A GoogleTest program that ctest and check-shoal run.
function(shoal_add_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  shoal_add_tool(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} GTest::gmock GTest::gtest_main)
  # Tests name their helpers alike; each file is one source.
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Unit)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit)
endfunction()

# The runtime of programs for CUDA, on the emulated device.

shoal_add_runtime_program(CUDACollectivesTests shoal_rt_cuda CollectivesTest.cpp)
add_dependencies(CUDACollectivesTests shoal_cuda_emulation)
target_compile_definitions(CUDACollectivesTests PRIVATE
  SHOAL_TEST_EMULATION="$<TARGET_FILE:shoal_cuda_emulation>")
shoal_add_ranks_tests(CUDACollectives CUDACollectivesTests)

# A source of the toy programs takes it in as bytes.
set(toy_kernels ${PROJECT_BINARY_DIR}/test/Runtime/toy-kernels.so)
add_library(toy-kernels MODULE ToyKernels.c)
set_target_properties(toy-kernels PROPERTIES PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Runtime)
set_source_files_properties(ToyProgramCUDA.cpp PROPERTIES OBJECT_DEPENDS ${toy_kernels})
function(shoal_add_toy_program_for_cuda name emulation)
  shoal_add_runtime_program(${name} shoal_rt_cuda ToyProgramCUDA.cpp)
  add_dependencies(${name} toy-kernels shoal_cuda_emulation)
  target_compile_definitions(${name} PRIVATE
    TOY_KERNELS="${toy_kernels}" TOY_EMULATION="${emulation}")
endfunction()
shoal_add_toy_program_for_cuda(toy-program-cuda $<TARGET_FILE:shoal_cuda_emulation>)
shoal_add_toy_program_for_cuda(toy-program-cuda-huge $<TARGET_FILE:shoal_cuda_emulation>)
target_compile_definitions(toy-program-cuda-huge PRIVATE TOY_ARENA="1024000000000000")
shoal_add_toy_program_for_cuda(toy-program-cuda-alone /no/such/emulation.so)
foreach(test executable executable_cuda)
  add_test(NAME CUDA.${test} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${test}.py
    $<TARGET_FILE:toy-program-cuda> $<TARGET_FILE:toy-program-cuda-huge>
    $<TARGET_FILE:toy-program-cuda-alone>)
  set_tests_properties(CUDA.${test} PROPERTIES LABELS unit TIMEOUT 600)
endforeach()

# The calls of one device: the same tests as on the CPU, and the copies that
# other calls are made of.
shoal_add_runtime_program(CUDARuntimeTests shoal_rt_cuda
  CUDACopyTest.cpp
  CUDADescribeTest.cpp
  CUDAEpilogueTest.cpp
  CUDAFloat8Test.cpp
  CUDAGemmTest.cpp
  CUDARaggedTest.cpp
  CUDATestMain.cpp
  EinsumTest.cpp
  NcclReductionsTest.cpp
  RaggedEinsumTest.cpp
  ScanTest.cpp
  WindowsTest.cpp
)
target_link_libraries(CUDARuntimeTests PRIVATE GTest::gmock GTest::gtest)
# CUDACopyTest runs parts of kernels.
target_include_directories(CUDARuntimeTests PRIVATE ${PROJECT_SOURCE_DIR}/test/emulation)
add_dependencies(CUDARuntimeTests shoal_cuda_emulation)
target_compile_definitions(CUDARuntimeTests PRIVATE
  SHOAL_TEST_EMULATION="$<TARGET_FILE:shoal_cuda_emulation>")
gtest_discover_tests(CUDARuntimeTests DISCOVERY_MODE PRE_TEST TEST_PREFIX CUDA.
  PROPERTIES LABELS unit ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")

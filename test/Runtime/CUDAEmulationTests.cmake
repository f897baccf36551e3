# The emulated device itself: no program of the compiler is needed.

add_library(cuda-emulation-kernels MODULE CUDAEmulationKernels.c)
set_target_properties(cuda-emulation-kernels PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Runtime)

add_executable(CUDAEmulationTests
  CUDAEmulationFloat8Test.cpp
  CUDAEmulationKernelsTest.cpp
  CUDAEmulationMatmulTest.cpp
  CUDAEmulationMemoryTest.cpp
  CUDAEmulationStreamsTest.cpp
)
add_dependencies(CUDAEmulationTests cuda-emulation-kernels)
target_compile_definitions(CUDAEmulationTests PRIVATE
  SHOAL_TEST_KERNELS="$<TARGET_FILE:cuda-emulation-kernels>")
target_link_libraries(CUDAEmulationTests PRIVATE shoal_cuda_emulation
  GTest::gmock GTest::gtest_main)
set_target_properties(CUDAEmulationTests PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Runtime)
set_property(GLOBAL APPEND PROPERTY SHOAL_TEST_DEPENDS CUDAEmulationTests)
gtest_discover_tests(CUDAEmulationTests DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit)

# NCCL on ranks of MPI.
add_executable(CUDAEmulationNcclTests CUDAEmulationNcclTest.cpp)
target_compile_definitions(CUDAEmulationNcclTests PRIVATE OMPI_SKIP_MPICXX)
target_link_libraries(CUDAEmulationNcclTests PRIVATE shoal_cuda_emulation
  MPI::MPI_CXX GTest::gmock GTest::gtest)
set_target_properties(CUDAEmulationNcclTests PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Runtime)
set_property(GLOBAL APPEND PROPERTY SHOAL_TEST_DEPENDS CUDAEmulationNcclTests)

# shoal_add_nccl_test(name ranks arguments...)
function(shoal_add_nccl_test name ranks)
  add_test(NAME EmulatedNccl.${name} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks}
    $<TARGET_FILE:CUDAEmulationNcclTests> ${ARGN})
  set_tests_properties(EmulatedNccl.${name} PROPERTIES LABELS unit TIMEOUT 60
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;SHOAL_EMULATION_TIMEOUT=2")
endfunction()
foreach(ranks 1 2 4)
  shoal_add_nccl_test(${ranks} ${ranks})
endforeach()

# Programs that break NCCL's laws end with an error that names the breach.
function(shoal_add_wrong_nccl_test name expected)
  shoal_add_nccl_test(${name} 2 ${name})
  set_tests_properties(EmulatedNccl.${name} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endfunction()
set(differ "emulated device: the ranks of a communicator call differently: rank . of 2")
shoal_add_wrong_nccl_test(other-call "${differ} .*ncclAllReduce of 8 int32, sum.*ncclAllGather of 4 int32|${differ} .*ncclAllGather of 4 int32.*ncclAllReduce of 8 int32, sum")
shoal_add_wrong_nccl_test(other-count "${differ} ncclAllReduce of [78] int32, sum, rank . ncclAllReduce of [78] int32, sum")
shoal_add_wrong_nccl_test(other-type "${differ} ncclAllReduce of 8 (int32|float32), sum, rank . ncclAllReduce of 8 (int32|float32), sum")
shoal_add_wrong_nccl_test(other-reduction "${differ} ncclAllReduce of 8 int32, (sum|max), rank . ncclAllReduce of 8 int32, (sum|max)")
shoal_add_wrong_nccl_test(missing "ncclAllReduce of 8 int32, sum on rank 0 of the world, in a communicator of 2 ranks: after 2 seconds not all ranks")
shoal_add_wrong_nccl_test(other-size "ncclRecv of 9 int32 from rank 0 on rank 1 of 2, but what comes is ncclSend of 8 int32")
shoal_add_wrong_nccl_test(crossed "ncclSend of 8 int32 to rank . on rank . of 2: after 2 seconds not all ranks")
shoal_add_wrong_nccl_test(overlap "race: two parts of ncclGroupEnd of 1 ncclRecv, 1 ncclSend .* touch bytes .28, 32. of the allocation of 256 bytes")
shoal_add_wrong_nccl_test(race "race: ncclAllReduce .* writes bytes .0, 4. .* which cudaMemsetAsync .* writes")

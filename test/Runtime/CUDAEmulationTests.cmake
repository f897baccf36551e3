# The emulated device itself: no program of the compiler is needed.

add_library(cuda-emulation-kernels MODULE CUDAEmulationKernels.c)
set_target_properties(cuda-emulation-kernels PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Runtime)

add_executable(CUDAEmulationTests
  CUDAEmulationKernelsTest.cpp
  CUDAEmulationMatmulTest.cpp
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

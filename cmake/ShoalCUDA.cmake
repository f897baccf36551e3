# What of the CUDA target can be built. Headers and nvcc are enough: programs
# load NVIDIA's libraries when they start, or the emulated device instead.
find_package(CUDAToolkit 12.4 QUIET)
find_path(SHOAL_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
set(SHOAL_CUDA_DEFAULT OFF)
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND SHOAL_NCCL_INCLUDE_DIR)
  set(SHOAL_CUDA_DEFAULT ON)
endif()
option(SHOAL_CUDA "Build the runtime of the CUDA target and the emulated device" ${SHOAL_CUDA_DEFAULT})
if(SHOAL_CUDA AND NOT SHOAL_CUDA_DEFAULT)
  message(FATAL_ERROR "SHOAL_CUDA needs the CUDA toolkit with nvcc, and nccl.h")
endif()

# Headers alone, for whoever includes CUDA's, cuBLASLt's or NCCL's.
if(SHOAL_CUDA)
  add_library(ShoalCUDAHeaders INTERFACE)
  target_include_directories(ShoalCUDAHeaders SYSTEM INTERFACE
    ${CUDAToolkit_INCLUDE_DIRS} ${SHOAL_NCCL_INCLUDE_DIR})
endif()

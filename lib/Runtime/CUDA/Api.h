// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the CUDA runtime, cuBLASLt and NCCL that the runtime calls,
// loaded when a program starts. Nothing of NVIDIA's is linked, so that
// --describe works on any machine; a program for the emulated device takes all
// of them from libshoal_cuda_emulation.so, which implements this list.

#ifndef SHOAL_LIB_RUNTIME_CUDA_API_H
#define SHOAL_LIB_RUNTIME_CUDA_API_H

#include "shoal/Calls/Codes.h"
#include "shoal/Support/Result.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <span>
#include <string>
#include <type_traits>

#define SHOAL_CUDA_FUNCTIONS(X)                                                \
  X(cudaDeviceGetAttribute)                                                    \
  X(cudaEventCreateWithFlags)                                                  \
  X(cudaEventElapsedTime)                                                      \
  X(cudaEventQuery)                                                            \
  X(cudaEventRecord)                                                           \
  X(cudaFree)                                                                  \
  X(cudaGetDeviceCount)                                                        \
  X(cudaGetErrorString)                                                        \
  X(cudaKernelSetAttributeForDevice)                                           \
  X(cudaLibraryGetKernel)                                                      \
  X(cudaLibraryLoadData)                                                       \
  X(cudaMemGetInfo)                                                            \
  X(cudaMemcpyAsync)                                                           \
  X(cudaMemsetAsync)                                                           \
  X(cudaSetDevice)                                                             \
  X(cudaStreamCreateWithFlags)                                                 \
  X(cudaStreamQuery)                                                           \
  X(cudaStreamWaitEvent)

/// Those that C++ overloads, with their types in C.
#define SHOAL_CUDA_OVERLOADED_FUNCTIONS(X)                                     \
  X(cudaLaunchKernel,                                                          \
    cudaError_t(const void *kernel, dim3 grid, dim3 block, void **arguments,   \
                size_t sharedBytes, cudaStream_t stream))                      \
  X(cudaMalloc, cudaError_t(void **pointer, size_t bytes))                     \
  X(cudaMallocHost, cudaError_t(void **pointer, size_t bytes))

/// What --cuda-graph alone needs. A library may lack them: see hasGraphs.
#define SHOAL_CUDA_GRAPH_FUNCTIONS(X)                                          \
  X(cudaEventRecordWithFlags)                                                  \
  X(cudaGraphInstantiateWithFlags)                                             \
  X(cudaGraphLaunch)                                                           \
  X(cudaStreamBeginCapture)                                                    \
  X(cudaStreamEndCapture)

#define SHOAL_CUBLASLT_FUNCTIONS(X)                                            \
  X(cublasLtCreate)                                                            \
  X(cublasLtGetStatusString)                                                   \
  X(cublasLtMatmul)                                                            \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutSetAttribute)

#define SHOAL_NCCL_FUNCTIONS(X)                                                \
  X(ncclAllGather)                                                             \
  X(ncclAllReduce)                                                             \
  X(ncclCommAbort)                                                             \
  X(ncclCommGetAsyncError)                                                     \
  X(ncclCommInitRank)                                                          \
  X(ncclCommSplit)                                                             \
  X(ncclGetErrorString)                                                        \
  X(ncclGetLastError)                                                          \
  X(ncclGetUniqueId)                                                           \
  X(ncclGroupEnd)                                                              \
  X(ncclGroupStart)                                                            \
  X(ncclRecv)                                                                  \
  X(ncclReduceScatter)                                                         \
  X(ncclSend)

namespace shoal::rt {

/// What the next operation enqueued on a stream does with some bytes.
using calls::Access;

struct Api {
  // NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses):
  // names of C.
#define SHOAL_POINTER(name) decltype(&::name) name = nullptr;
  SHOAL_CUDA_FUNCTIONS(SHOAL_POINTER)
#define SHOAL_TYPED_POINTER(name, ...)                                         \
  std::add_pointer_t<__VA_ARGS__> name = nullptr;
  SHOAL_CUDA_OVERLOADED_FUNCTIONS(SHOAL_TYPED_POINTER)
  SHOAL_CUDA_GRAPH_FUNCTIONS(SHOAL_POINTER)
  SHOAL_CUBLASLT_FUNCTIONS(SHOAL_POINTER)
  SHOAL_NCCL_FUNCTIONS(SHOAL_POINTER)
#undef SHOAL_POINTER
#undef SHOAL_TYPED_POINTER

  /// Of a library that checks programs and stands for NVIDIA's: what the next
  /// launch on the stream touches, called once for each range (the arguments of
  /// all other calls say it), and how many bytes each of its arguments takes.
  void (*shoalObserveAccess)(void *stream, const void *pointer, size_t bytes,
                             int access) = nullptr;
  void (*shoalObserveArguments)(void *stream, size_t count,
                                const size_t *bytes) = nullptr;
  // NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

  bool observesLaunches() const {
    return shoalObserveAccess && shoalObserveArguments;
  }

  bool hasGraphs() const {
    return cudaEventRecordWithFlags && cudaGraphInstantiateWithFlags &&
           cudaGraphLaunch && cudaStreamBeginCapture && cudaStreamEndCapture;
  }
};

/// Filled by loadApi.
extern Api api;

/// Loads NVIDIA's libraries, or, if `emulation` is not empty, that one library
/// with its symbols visible to those loaded later. The error names the library
/// and what it lacks.
support::Status loadApi(const std::string &emulation);

/// Where the program is, for the messages of check: "kernel main_kernel_3",
/// "collective 2". Both texts live until the next call.
void setActivity(const char *what, const char *name);
void setActivity(const char *what, int64_t number);
std::string describeActivity();

/// End the program with a line that names the call, its status and the current
/// activity, unless the status is success.
void check(cudaError_t status, const char *call);
void check(cublasStatus_t status, const char *call);
void check(ncclResult_t status, const char *call);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_API_H

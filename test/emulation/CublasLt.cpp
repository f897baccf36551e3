// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of algorithms and the products of cuBLASLt. An algorithm holds for
// the problem and the alignments that it was chosen for.

#include "CublasLtDescriptors.h"
#include "Faults.h"
#include "Graphs.h"
#include "Memory.h"
#include "Streams.h"

#include <cstring>

using namespace shoal::emulation;

namespace {

/// What hides in a cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t magic;
  uint64_t workspaceBytes;
  uint64_t problem; // a hash
  uint32_t alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

constexpr uint64_t algorithmMagic = 0x53484f414c414c47;

/// As much as cuBLASLt likes to have, so that it is used if it is given.
constexpr uint64_t usefulWorkspaceBytes = 1 << 20;

/// FNV-1a over what an algorithm is chosen by; not the bias' address.
uint64_t hash(const Problem &problem) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3;
  };
  const MatmulDescriptor &descriptor = problem.descriptor;
  add(descriptor.compute), add(descriptor.scale), add(descriptor.transA);
  add(descriptor.transB), add(descriptor.epilogue), add(descriptor.biasType);
  for (const MatrixLayout *layout :
       {&problem.a, &problem.b, &problem.c, &problem.d}) {
    add(layout->type), add(layout->rows), add(layout->columns);
    add(layout->leading), add(layout->order), add(layout->batches);
    add(layout->batchStride);
  }
  return hash;
}

/// Whether the algorithm suits the call; else why not.
std::string checkAlgorithm(const Algorithm &algorithm, const Problem &problem,
                           const Operands &operands, const void *workspace,
                           size_t workspaceBytes) {
  if (algorithm.magic != algorithmMagic)
    return "the algorithm is none of cublasLtMatmulAlgoGetHeuristic's";
  if (algorithm.problem != hash(problem))
    return "the algorithm was chosen for another problem";
  const void *pointers[] = {operands.a, operands.b, operands.c, operands.d};
  for (size_t i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(pointers[i]) % algorithm.alignment[i] != 0)
      return text("the algorithm was chosen for ", "ABCD"[i], " aligned to ",
                  algorithm.alignment[i], " bytes, but it is ", pointers[i]);
  if (workspaceBytes < algorithm.workspaceBytes ||
      (algorithm.workspaceBytes != 0 && !workspace))
    return text("the algorithm needs ", algorithm.workspaceBytes,
                " bytes of workspace but gets ", workspaceBytes);
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return text("the workspace is not aligned to 256 bytes: ", workspace);
  return {};
}

std::string checkPointers(const Problem &problem, const Operands &operands) {
  const MatrixLayout *layouts[] = {&problem.a, &problem.b, &problem.c,
                                   &problem.d};
  const void *pointers[] = {operands.a, operands.b, operands.c, operands.d};
  for (size_t i = 0; i < 4; ++i)
    if (!pointers[i] || reinterpret_cast<uintptr_t>(pointers[i]) %
                                elementBytes(layouts[i]->type) !=
                            0)
      return text("ABCD"[i], " is at ", pointers[i]);
  bool isFloat8 = shoal::emulation::isFloat8(problem.a.type);
  for (size_t i = 0; i < 4 && isFloat8; ++i)
    if (reinterpret_cast<uintptr_t>(pointers[i]) % 16 != 0)
      return text("a product of 8 bits needs ", "ABCD"[i],
                  " aligned to 16 bytes, but it is at ", pointers[i]);
  if (operands.c == operands.d && !(problem.c == problem.d))
    return "C and D are one matrix with two layouts";
  return {};
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_NOT_INITIALIZED))
    return static_cast<cublasStatus_t>(failure);
  static int context;
  *handle = reinterpret_cast<cublasLtHandle_t>(&context);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "the library was not initialized";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the functionality requested is not supported";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the GPU program failed to execute";
  default:
    return "an internal cuBLASLt operation failed";
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t results[], int *returned) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_NOT_SUPPORTED))
    return static_cast<cublasStatus_t>(failure);
  if (!handle || !descriptor || !a || !b || !c || !d || !preference ||
      !results || !returned || requested < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  Problem problem = {get(descriptor), get(a), get(b), get(c), get(d)};
  // A bias may come later: its address is no matter of the choice.
  static const int anywhere = 0;
  problem.descriptor.bias = &anywhere;
  std::string why;
  if (cublasStatus_t failed = checkProblem(problem, why))
    return refuse(__func__, failed, why);
  const Preference &wishes = get(preference);
  Algorithm algorithm = {
      algorithmMagic,
      std::min(wishes.maxWorkspaceBytes, usefulWorkspaceBytes),
      hash(problem),
      {}};
  for (size_t i = 0; i < 4; ++i)
    algorithm.alignment[i] = std::max(1u, wishes.alignment[i]);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspaceBytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t layoutC, void *d,
               cublasLtMatrixLayout_t layoutD, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_EXECUTION_FAILED))
    return static_cast<cublasStatus_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!handle || !descriptor || !layoutA || !layoutB || !layoutC || !layoutD ||
      !alpha || !beta || !found)
    return CUBLAS_STATUS_INVALID_VALUE;
  Problem problem = {get(descriptor), get(layoutA), get(layoutB), get(layoutC),
                     get(layoutD)};
  Operands operands = {alpha, a, b, beta, c, d};
  std::string why;
  if (cublasStatus_t failed = checkProblem(problem, why))
    return refuse(__func__, failed, why);
  why = checkPointers(problem, operands);
  uint64_t usedBytes = 0;
  if (algo && why.empty()) {
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof(algorithm));
    why =
        checkAlgorithm(algorithm, problem, operands, workspace, workspaceBytes);
    usedBytes = algorithm.workspaceBytes;
  }
  if (!why.empty())
    return refuse(__func__, CUBLAS_STATUS_INVALID_VALUE, why);
  std::vector<Range> ranges = rangesOf(problem, operands);
  uintptr_t scratch = reinterpret_cast<uintptr_t>(workspace);
  ranges.push_back({scratch, scratch + usedBytes, /*writes=*/true});
  // The factors are read now, whenever the product is run.
  std::array<char, sizeof(double)> factors[2] = {};
  size_t factorBytes = elementBytes(problem.descriptor.scale);
  std::memcpy(factors[0].data(), alpha, factorBytes);
  std::memcpy(factors[1].data(), beta, factorBytes);
  submit(*found, "cublasLtMatmul", std::move(ranges), /*concurrent=*/false,
         [=](Stream &, const std::vector<Range> &) {
           if (usedBytes != 0)
             std::memset(workspace, poison, usedBytes);
           multiply(problem,
                    {factors[0].data(), a, b, factors[1].data(), c, d});
         });
  return CUBLAS_STATUS_SUCCESS;
}
} // extern "C"

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_BINARYEINSUM_H
#define SHOAL_LIB_RUNTIME_CUDA_BINARYEINSUM_H

#include "../Common/Numeric.h"
#include "Gemm.h"
#include "shoal/Products/BinaryEinsum.h"

namespace shoal::rt {

/// Enqueues the einsum on the compute stream. What of the epilogue, if there is
/// one, is part of it; the rest is still to be applied. Scales are for operands
/// of f8.
Applied runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
                  void *result, const Epilogue *epilogue = nullptr);

/// How it multiplies; none for loops.
std::optional<GemmChoice> chooseBinary(const BinaryEinsum &einsum,
                                       const Epilogue *epilogue,
                                       int capability);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_BINARYEINSUM_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a tensor to and from the whole, on the device.

#ifndef SHOAL_LIB_RUNTIME_CUDA_BLOCKCOPY_H
#define SHOAL_LIB_RUNTIME_CUDA_BLOCKCOPY_H

#include "../Common/Blocks.h"
#include "BoxCopy.h"

namespace shoal::rt {

/// The rows that exist of a member's block, into their place in the whole.
void copyToWhole(const Blocks &blocks, ElementType type, int64_t member,
                 const void *block, void *whole, cudaStream_t stream);

/// A member's block of the whole; rows past the end become zero.
void copyToBlock(const Blocks &blocks, ElementType type, int64_t member,
                 const void *whole, void *block, cudaStream_t stream);

/// The rows that exist of a member's block, dense.
void copyRows(const Blocks &blocks, ElementType type, int64_t member,
              const void *block, void *rows, cudaStream_t stream);

/// What copyRows gave, into its place in the whole.
void copyRowsToWhole(const Blocks &blocks, ElementType type, int64_t member,
                     const void *rows, void *whole, cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_BLOCKCOPY_H

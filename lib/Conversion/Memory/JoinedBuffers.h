// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Buffers that are made where they would be copied to.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_JOINEDBUFFERS_H
#define SHOAL_LIB_CONVERSION_MEMORY_JOINEDBUFFERS_H

#include "BufferLives.h"

namespace shoal {

/// A buffer that lies in another one, `offset` bytes behind where that begins:
/// at the place that `copy`, the last to use it, would copy it to.
struct BufferPart {
  Buffer buffer;
  mlir::memref::CopyOp copy;
  mlir::Value whole;
  int64_t offset;
  /// Where the program touches that place first, as the buffer or as a part of
  /// the other one.
  int64_t first;
};

/// The buffers of a function with their places, and those that lie in them.
struct BufferPlan {
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<BufferPart> parts;
  MemorySize size;
};

/// Takes out of `buffers` those that are made in others. The others become
/// pieces, each of which is live from where it begins to be made: at no place
/// is more live than with parts that are copied.
llvm::SmallVector<BufferPart> joinBuffers(llvm::SmallVector<Buffer> &buffers,
                                          mlir::func::FuncOp func,
                                          const Places &places);

/// A plan with parts in place, or without where that needs less. Fails as
/// findBuffers does.
mlir::FailureOr<BufferPlan>
planBuffers(mlir::func::FuncOp func, const Places &places,
            llvm::function_ref<void(mlir::memref::AllocOp)> report);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_JOINEDBUFFERS_H

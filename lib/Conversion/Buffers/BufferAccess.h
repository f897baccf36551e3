// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ops do with the memory of buffers.

#ifndef SHOAL_LIB_CONVERSION_BUFFERS_BUFFERACCESS_H
#define SHOAL_LIB_CONVERSION_BUFFERS_BUFFERACCESS_H

#include "BufferRange.h"
#include "mlir/IR/Operation.h"

namespace shoal {

struct BufferAccess {
  BufferRange range;
  bool writes;
};

/// What an op touches; nothing where it does not say, and may touch all. Of a
/// linalg op what its operands are, of an rt.kernel what its ops touch; of
/// others with regions nothing.
std::optional<llvm::SmallVector<BufferAccess>> accessesOf(mlir::Operation *op);

/// Whether the two may not change places: they touch the same bytes, and one of
/// them writes there.
bool conflict(llvm::ArrayRef<BufferAccess> as, llvm::ArrayRef<BufferAccess> bs);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_BUFFERS_BUFFERACCESS_H

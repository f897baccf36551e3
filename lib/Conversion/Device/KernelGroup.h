// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Linalg ops of a block on their way into one rt.kernel.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_KERNELGROUP_H
#define SHOAL_LIB_CONVERSION_DEVICE_KERNELGROUP_H

#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

namespace shoal {

/// Ops that are to be one kernel, in the place of the last one. Those that
/// stand between them stay in front of it.
class KernelGroup {
public:
  llvm::ArrayRef<mlir::linalg::LinalgOp> getOps() const { return ops; }

  /// The op, which touches no more than `own`, comes behind the others.
  void add(mlir::linalg::LinalgOp op, llvm::ArrayRef<BufferAccess> own);

  /// Whether the kernel's place may be behind `op`, which is none of it and no
  /// collective: it touches nothing that the group writes, and writes nothing
  /// that the group touches.
  bool pass(mlir::Operation *op);

  /// The kernel, of two ops or more.
  rt::KernelOp close();

private:
  llvm::SmallVector<mlir::linalg::LinalgOp> ops;
  llvm::SmallVector<BufferAccess> accesses;
  unsigned passed = 0;
};

/// Adds the op to one of the groups, or to the fresh one, which has none, and
/// returns that; null where it is to be a kernel alone.
using TakeOp = llvm::function_ref<KernelGroup *(
    mlir::linalg::LinalgOp op, llvm::MutableArrayRef<KernelGroup> groups,
    KernelGroup &fresh)>;

/// Whether ops are to be a kernel, when no others can be added any more.
using IsKernel =
    llvm::function_ref<bool(llvm::ArrayRef<mlir::linalg::LinalgOp> ops)>;

/// Goes through a block with the groups that may still grow, and returns the
/// kernels that it makes of them.
llvm::SmallVector<rt::KernelOp> makeKernels(mlir::Block &block, TakeOp take,
                                            IsKernel isKernel);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_KERNELGROUP_H

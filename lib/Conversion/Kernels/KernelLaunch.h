// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What becomes of an outlined linalg op: a kernel and what its launch says.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_KERNELLAUNCH_H
#define SHOAL_LIB_CONVERSION_KERNELS_KERNELLAUNCH_H

#include "../Device/KernelSchedule.h"
#include "../Device/LoopNest.h"
#include "../Device/RowGroup.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

namespace shoal {

/// What a launch says of one argument of the outlined function.
struct KernelBuffer {
  unsigned argument;
  int64_t elementBytes;
  ElementRange elements;
  bool isRead = false;
  bool isWritten = false;

  /// What a launch says of it.
  rt::TouchAttr describe(mlir::MLIRContext *context) const;
};

/// A kernel, or the lack of one where there is nothing to do.
struct KernelLaunch {
  std::optional<int64_t> kernel;
  KernelSchedule schedule;
  /// Those that are only read come first.
  llvm::SmallVector<KernelBuffer> buffers;
  /// Scalar ones, of all threads.
  double operations = 0;
};

/// The buffers that the op touches, arguments of the outlined function.
llvm::SmallVector<KernelBuffer> collectBuffers(mlir::linalg::GenericOp op,
                                               const LoopNest &nest);

/// The buffers that a group touches, but for local ones.
llvm::SmallVector<KernelBuffer> collectBuffers(const RowGroup &group);

/// A kernel with the function's name and an empty body. A buffer is a flat
/// memref that ends with the last element touched.
mlir::gpu::GPUFuncOp createKernel(mlir::OpBuilder &builder,
                                  mlir::func::FuncOp func,
                                  const KernelLaunch &launch);

/// Writes the body, by the launch's schedule.
void emitKernel(mlir::gpu::GPUFuncOp kernel, mlir::linalg::GenericOp op,
                const LoopNest &nest, const KernelLaunch &launch);
void emitKernel(mlir::gpu::GPUFuncOp kernel, const RowGroup &group,
                const KernelLaunch &launch);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_KERNELLAUNCH_H

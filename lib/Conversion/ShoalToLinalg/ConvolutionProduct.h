// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A convolution as a matrix product over the operand's patches (im2col), or as
// loops where these would take too much memory.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPRODUCT_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPRODUCT_H

#include "mlir/IR/Builders.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

namespace shoal {

/// What a convolution is made of.
struct ConvolutionValues {
  mlir::Value input, kernel;
  mlir::RankedTensorType type;
  ConvolutionDims dims;
  llvm::SmallVector<WindowDim> window;
  int64_t featureGroups = 1, batchGroups = 1;

  explicit ConvolutionValues(ConvolutionOp op);
};

/// Its result; holes between the operand's rows are filled with zeros.
mlir::Value makeConvolution(mlir::OpBuilder &builder, mlir::Location loc,
                            const ConvolutionValues &values);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPRODUCT_H

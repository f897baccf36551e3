// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `rt` dialect: calls of the runtime library.

#ifndef SHOAL_DIALECT_RT_IR_RT_H
#define SHOAL_DIALECT_RT_IR_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/Dialect/Rt/IR/RuntimeCalls.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Machine/ProductShape.h"
#include "shoal/Products/EinsumSpec.h"

namespace shoal::calls {

/// For attributes. LLVM finds it by this name.
// NOLINTNEXTLINE(readability-identifier-naming)
llvm::hash_code hash_value(const ProductPlan &plan);

} // namespace shoal::calls

namespace shoal::rt {

/// The letters of a product in the order in which descriptors number them, and
/// the size of each.
struct ProductTerms {
  EinsumSpec spec;
  llvm::SmallVector<char> letters;
  llvm::SmallVector<int64_t> sizes;

  int64_t numberOf(char letter) const;
  calls::Letters encode(llvm::ArrayRef<char> term) const;
};

/// Of a product of two operands.
struct MatrixSizes {
  int64_t rows = 1, columns = 1, sums = 1;
};

/// A dimension of a tensor that has windows, see #rt.windows.
struct WindowDim {
  int64_t size = 0, window = 0;
  /// In the windows' tensor; 0 where it has no such dimension.
  int64_t step = 0;
  /// In an index; -1 where windows begin at 0.
  int64_t place = -1;

  bool operator==(const WindowDim &) const = default;
};
// LLVM finds it by this name.
// NOLINTNEXTLINE(readability-identifier-naming)
llvm::hash_code hash_value(const WindowDim &dim);

/// A step from one window to the next, in elements of the three tensors.
struct WindowLoop {
  int64_t size = 0;
  int64_t indices = 0, operand = 0, windows = 0;

  bool operator==(const WindowLoop &) const = default;
};
// NOLINTNEXTLINE(readability-identifier-naming)
llvm::hash_code hash_value(const WindowLoop &loop);

} // namespace shoal::rt

#include "shoal/Dialect/Rt/IR/RtDialect.h.inc"
#include "shoal/Dialect/Rt/IR/RtEnums.h.inc"
#include "shoal/Dialect/Rt/IR/RtInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Rt/IR/RtAttrs.h.inc"

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtCheckOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtCollectiveOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtFourierOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtIndexingOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtOrderingOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtProductOps.h.inc"
#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtProgramOps.h.inc"

#endif // SHOAL_DIALECT_RT_IR_RT_H

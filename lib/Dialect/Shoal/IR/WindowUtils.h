// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the verifiers of ops with windows have in common.

#ifndef SHOAL_LIB_DIALECT_SHOAL_IR_WINDOWUTILS_H
#define SHOAL_LIB_DIALECT_SHOAL_IR_WINDOWUTILS_H

#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

namespace shoal {

/// A list of numbers of an op's windows, one a dimension, where it is there.
struct WindowList {
  llvm::StringRef name;
  std::optional<llvm::ArrayRef<int64_t>> entries;
  int64_t smallest;
};

/// No number of a window is larger.
constexpr int64_t kLargestWindowNumber = int64_t(1) << 31;

/// Each list that is there has `rank` entries, from its smallest to
/// kLargestWindowNumber.
llvm::LogicalResult verifyWindowLists(mlir::Operation *op,
                                      llvm::ArrayRef<WindowList> lists,
                                      int64_t rank);

/// The shape of the windows over `shape`; an error of `op` where they reach
/// over more than 2^56 places.
llvm::FailureOr<llvm::SmallVector<int64_t>>
countWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<WindowDim> window);

} // namespace shoal

#endif // SHOAL_LIB_DIALECT_SHOAL_IR_WINDOWUTILS_H

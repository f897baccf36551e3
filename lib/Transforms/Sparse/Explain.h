// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is said of einsums with one-hot operands.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_EXPLAIN_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_EXPLAIN_H

#include "Demand.h"

namespace shoal::sparse {

/// A line for each einsum of which an operand has a form or lost it, and for
/// each large tensor that has one and is made all the same.
class Explanation {
public:
  Explanation(mlir::func::FuncOp function, const Forms &forms,
              const Demand &demand);

  /// As an attribute of the function, for reports; none where nothing is said.
  void attach();
  /// As remarks.
  void remark();

private:
  struct Line {
    mlir::Operation *op;
    /// `sparse`, `dense`, `sampled` or `whole`, what, and why.
    std::string verdict, subject, reason;
  };
  void describe(mlir::Operation *op, const Forms &forms, const Demand &demand);
  void describeWhole(mlir::Operation *op, const Forms &forms,
                     const Demand &demand);

  mlir::func::FuncOp function;
  llvm::SmallVector<Line> lines;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_EXPLAIN_H

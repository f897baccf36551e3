// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops on tensors whose dimensions are indices of terms.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_OPWRITER_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_OPWRITER_H

#include "Terms.h"

namespace shoal::sparse {

/// The values of a term over those of its indices.
struct Tensor {
  /// Null in a dry run.
  mlir::Value value;
  TermList dims;
  /// Set where it is a constant, the same for all indices.
  mlir::TypedAttr number;
};

/// Writes one op a call, none in a dry run.
class OpWriter {
public:
  OpWriter() = default;
  OpWriter(mlir::OpBuilder *builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  bool isDry() const { return !builder; }

  /// With dimensions in this order, among which are all of the tensor's.
  Tensor spread(const Tensor &tensor, TermRange dims);
  Tensor iota(Term index);
  mlir::Value splat(mlir::TypedAttr number, llvm::ArrayRef<int64_t> shape);
  /// An op on scalars applied to tensors of the same dimensions.
  Tensor elementwise(Term op, llvm::ArrayRef<Tensor> operands, TermRange dims);
  /// The rows `places` of the dimensions that have one; these go.
  mlir::Value takeRows(mlir::Value tensor,
                       llvm::ArrayRef<std::optional<int64_t>> rows);
  Tensor sum(const Tensor &tensor, TermRange bound, mlir::Type type);
  Tensor einsum(llvm::ArrayRef<Tensor> factors, TermRange dims,
                mlir::Type type);
  /// Arrays of one shape as the entries of a last dimension.
  mlir::Value stack(llvm::ArrayRef<mlir::Value> arrays);
  mlir::Value convert(mlir::Value tensor, mlir::Type type);

  mlir::OpBuilder &get() { return *builder; }
  mlir::Location getLoc() const { return *loc; }

private:
  mlir::OpBuilder *builder = nullptr;
  std::optional<mlir::Location> loc;
};

/// The sizes of dimensions.
llvm::SmallVector<int64_t> sizesOf(TermRange dims);
/// All dims of both, those of `dims` first.
void addDims(TermList &dims, TermRange more);

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_OPWRITER_H

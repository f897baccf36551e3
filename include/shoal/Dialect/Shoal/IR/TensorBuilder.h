// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Short spellings of the ops that composites decompose to and that gradients
// consist of.

#ifndef SHOAL_DIALECT_SHOAL_IR_TENSORBUILDER_H
#define SHOAL_DIALECT_SHOAL_IR_TENSORBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

namespace shoal {

/// Builds ops on tensors; result types follow from the operands.
class TensorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Where `builder` inserts.
  TensorBuilder(mlir::Location loc, mlir::OpBuilder &builder)
      : ImplicitLocOpBuilder(loc, builder) {}
  /// In front of one op, at its location.
  TensorBuilder(mlir::OpBuilder &builder, mlir::Operation *before)
      : ImplicitLocOpBuilder(before->getLoc(), builder) {
    setInsertionPoint(before);
  }

  /// A constant all of whose elements are `value`, rounded to `type`'s
  /// elements (for integers: truncated to their width).
  mlir::Value splat(mlir::Type type, double value);
  mlir::Value splat(mlir::Type type, int64_t value);
  /// Zeros, of a type of numbers.
  mlir::Value zeros(mlir::Type type);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  /// `x` times, or plus, a number.
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value shift(mlir::Value x, double addend);
  /// `mask ? x : 0`.
  mlir::Value keepWhere(mlir::Value mask, mlir::Value x);
  mlir::Value select(mlir::Value mask, mlir::Value x, mlir::Value y);
  /// Of integers of one type, signed.
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                      mlir::Value rhs);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value lhs,
                      mlir::Value rhs);

  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// Sums of floats of 8 bits are made in f32, and rounded once.
  mlir::Value reduce(ReduceKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> dims);
  /// What a reduction of `shape` along `dims` made, repeated along them again.
  mlir::Value spread(mlir::Value reduced, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                   int64_t dim);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value reverse(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  /// Zeros around and between the elements; see shoal.pad.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high,
                  llvm::ArrayRef<int64_t> interior);
  mlir::Value concatenate(mlir::ValueRange parts, int64_t dim);
  /// Rows `begin` up to `end` of dimension `dim`.
  mlir::Value sliceDim(mlir::Value x, int64_t dim, int64_t begin, int64_t end);
  /// The i1 tensor of `shape`, `indices`' shape with one dimension inserted at
  /// `dim`, that is true where the index along `dim` equals the element of
  /// `indices`.
  mlir::Value oneHotMask(mlir::Value indices, llvm::ArrayRef<int64_t> shape,
                         int64_t dim);

  /// Converts the elements: floats extend and truncate; integers are unsigned.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// f32 for bf16 and f16 elements, whose composites compute in f32 and round
  /// once; else `x` itself.
  mlir::Value widen(mlir::Value x);
  /// The elements that sums of `element` are made of: f32 of floats of 8 bits.
  mlir::Type sumElement(mlir::Type element);
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_TENSORBUILDER_H

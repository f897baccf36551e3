// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an op's `buildVjp` has at hand.

#ifndef SHOAL_TRANSFORMS_AUTODIFF_VJP_H
#define SHOAL_TRANSFORMS_AUTODIFF_VJP_H

#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "shoal/Interfaces/DifferentiableInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shoal {

/// The cotangents of values that have any: of x the gradient of the sum of the
/// outputs, each weighted by its own cotangent, by x.
class Cotangents {
public:
  /// Null for zero, which is never made. Rows count once they are joined.
  mlir::Value of(mlir::Value value) const { return sums.lookup(value); }
  bool has(mlir::Value value) const {
    return sums.contains(value) || rows.contains(value);
  }
  /// The cotangent that a value begins with. It may be wider than the value,
  /// and what is added to it is then, too.
  void seed(TensorBuilder &b, mlir::Value value, mlir::Value cotangent);
  /// Adds `addend`, of the value's shape, in the type of the sum: the value's
  /// where it was not seeded.
  void add(TensorBuilder &b, mlir::Value value, mlir::Value addend);
  /// Adds `addend` to the box of its shape that begins at `starts`, clamped as
  /// those of shoal.dynamic_slice: in time of the box where there is a sum.
  void addAt(TensorBuilder &b, mlir::Value value, mlir::ValueRange starts,
             mlir::Value addend);

  /// Adds `addend` to the rows of `dim` from `begin` on, of which it has all,
  /// when they are joined.
  void addRows(mlir::Value value, int64_t dim, int64_t begin,
               mlir::Value addend);
  /// Adds the rows of a value to its cotangent: those of parts of a dimension
  /// as one concatenation. Sums of as many padded arrays as a value has parts
  /// would take time, and memory, of the product of both.
  void join(TensorBuilder &b, mlir::Value value);

private:
  struct Rows {
    int64_t dim, begin;
    size_t number;
    mlir::Value addend;
    int64_t end() const;
  };
  void addPadded(TensorBuilder &b, mlir::Value value, const Rows &part);

  llvm::DenseMap<mlir::Value, mlir::Value> sums;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Rows>> rows;
};

/// The vector-Jacobian product of one op. Every op built carries the op's
/// location, fused with the word "gradient".
class Vjp {
public:
  Vjp(mlir::Operation *op, mlir::OpBuilder &builder, Cotangents &cotangents,
      const llvm::DenseSet<mlir::Value> &active,
      llvm::SmallVectorImpl<mlir::Operation *> &retired);

  mlir::Operation *op;
  TensorBuilder b;

  /// That of a result; null for zero.
  mlir::Value cotangent(unsigned result = 0) const {
    return cotangents.of(op->getResult(result));
  }
  /// The same, with zero written out.
  mlir::Value cotangentOrZero(unsigned result);

  /// Adds to the operand's rows, as Cotangents does, where it is wanted.
  void addRows(unsigned operand, int64_t dim, int64_t begin,
               mlir::Value addend);

  /// Whether a gradient is to be passed on to the operand.
  bool wants(unsigned operand) const { return wants(op->getOperand(operand)); }
  /// The same of a value that a region of the op uses.
  bool wants(mlir::Value value) const { return active.contains(value); }
  /// Adds to the operand's cotangent; `addend` has the operand's type, or wider
  /// elements. A null one adds nothing.
  void add(unsigned operand, mlir::Value addend) {
    add(op->getOperand(operand), addend);
  }
  void add(mlir::Value value, mlir::Value addend);
  /// As Cotangents::addAt.
  void addAt(unsigned operand, mlir::ValueRange starts, mlir::Value addend);

  /// Puts `results`, of an op in front of this one, in the place of its
  /// results. The op goes when the backward pass is complete.
  void replaceForward(mlir::ValueRange results);

  /// An error at the op, with notes at the argument and the output that it
  /// connects.
  mlir::InFlightDiagnostic refuse(const llvm::Twine &why);

private:
  Cotangents &cotangents;
  const llvm::DenseSet<mlir::Value> &active;
  llvm::SmallVectorImpl<mlir::Operation *> &retired;
};

/// A gradient in elements of another type. One that a product rounds to the
/// type of its operands, and that goes on in f32, is not rounded: the product's
/// sums are wide in any case.
mlir::Value convertGradient(TensorBuilder &b, mlir::Value gradient,
                            mlir::Type element);

/// Notes at an argument that `op` depends on and at the end of the function.
void noteConnection(mlir::InFlightDiagnostic &error, mlir::Operation *op,
                    const llvm::DenseSet<mlir::Value> &active);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_AUTODIFF_VJP_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which values of a per-device program are checked, and what each was made
// from: a decision, without a change of the program.

#ifndef SHOAL_LIB_CONVERSION_CHECKS_CHECKPLAN_H
#define SHOAL_LIB_CONVERSION_CHECKS_CHECKPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Transforms/Collectives/Uniformity.h"

namespace shoal {

/// A value of which it is known what it is a shard of.
struct CheckedValue {
  mlir::Value value;
  LayoutNote layout;
  rt::CheckRole role = rt::CheckRole::Made;
  /// The op's name or the input's, and the user's line.
  std::string what = {}, place = {};
  /// The checked values that it was made from, by their numbers.
  llvm::SmallVector<int64_t> sources = {};
  /// Whether constants that it was made from hold such.
  bool assumesNaN = false, assumesInf = false;
  /// Several devices hold the same, and all of them come here.
  bool isReplicated = false;

  /// The axes along which devices hold values of their own although no
  /// dimension is split over them.
  llvm::SmallVector<AxisRefAttr> varyingAxes() const;
  bool isFloat() const;
};

/// The values of a function, in program order: their places are their numbers.
class CheckPlan {
public:
  CheckPlan(mlir::func::FuncOp function, const Uniformity &uniformity);

  llvm::ArrayRef<CheckedValue> getValues() const { return values; }
  /// Ops with a region that runs more than once, outer ones first.
  llvm::ArrayRef<mlir::Operation *> getLoops() const { return loops; }

private:
  void addArguments(mlir::func::FuncOp function);
  void addBlock(mlir::Block &block, bool isUniform);
  void addRegions(JoinOpInterface op, bool isUniform);
  void add(CheckedValue value, bool isUniform);
  void findSources();
  /// Adds to `value` what `from` is made of, through what is not checked.
  void trace(CheckedValue &value, mlir::Value from,
             llvm::SmallPtrSetImpl<mlir::Value> &seen) const;

  const Uniformity &uniformity;
  llvm::SmallVector<CheckedValue> values;
  llvm::SmallVector<mlir::Operation *> loops;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_CHECKS_CHECKPLAN_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From a function to the assignment problem that it poses.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_EXTRACT_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_EXTRACT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Sharding/Assignment.h"
#include "shoal/Transforms/Sparse/OneHotCosts.h"

namespace shoal {

/// What an op of the problem stands for.
struct ProblemOp {
  /// An op of the function; its return for a result, null for an argument. For
  /// a value that must be whole, the op that needs it.
  mlir::Operation *op = nullptr;
  /// The argument's or result's number; of a value that enters a region for
  /// one device, the operand's, of one that leaves, the result's.
  unsigned index = 0;
  bool isResult = false;
  /// What the operands of the problem's op are in the function.
  llvm::SmallVector<mlir::OpOperand *, 2> operands;

  bool isArgument() const { return !op; }
};

/// A function's assignment problem. Its ops are the arguments, then the ops in
/// program order, then the results. A result made in a donated argument's
/// memory is no op but the argument's operand: they lie alike. An op with
/// regions is an elementwise op for each of its joins; the ops of its regions
/// follow, then what must be whole. An op that forwards its operands is an
/// elementwise op for each of them. A region for one device is an annotation
/// for each value that comes in, its ops, then an annotation for each that goes
/// out.
struct ExtractedProblem {
  mlir::func::FuncOp function;
  AssignmentProblem problem;
  std::vector<ProblemOp> ops;
  std::vector<mlir::Value> values;
  /// The mesh of each device order, first the module's first mesh.
  llvm::SmallVector<mlir::FlatSymbolRefAttr> meshes;

  /// Of the value with this id: over the mesh of the region for one device that
  /// it is in, which may be another one of the same order.
  ShardingAttr toAttr(const Sharding &sharding, unsigned deviceOrder,
                      unsigned value) const;
  /// `operand 1 of shoal.einsum "GSM,ME->GSE" at moe.mlir:12:8`.
  std::string describeUse(unsigned op, unsigned operand) const;
  /// `shoal.einsum "GSM,ME->GSE" at moe.mlir:12:8`, `argument 0 "x" at ...`.
  std::string describe(unsigned op) const;
};

/// Whether shardings are to be chosen for the function: it has a body, and is
/// not the program of one device already.
inline bool isGlobalProgram(mlir::func::FuncOp function) {
  return !function.isExternal() && !function->hasAttr(kSpmdAttr);
}

/// Calls `visit` for the ops of a program, outer ones first: those of the block
/// and of the regions of joins and boundaries, without terminators.
void walkProgram(mlir::Block &block,
                 llvm::function_ref<void(mlir::Operation *)> visit);

/// Fails with an error where the function has several blocks, an op without
/// factor rule, a value that is no tensor, or an annotation that is partial.
/// `costs`: of ops that will be computed otherwise than their rules say.
mlir::FailureOr<ExtractedProblem>
extractProblem(mlir::func::FuncOp function, const Mesh &mesh,
               const OneHotCosts &costs = OneHotCosts());

/// `shoal.einsum "GSM,ME->GSE"`.
std::string describeOp(mlir::Operation *op);
/// `operand 0 of shoal.manual_computation`, or `result 0 of` it.
std::string describeBoundary(mlir::Operation *region, unsigned index,
                             bool isEntry);
/// `moe.mlir:12:8`, or with what JAX calls it `moe.py:12:8 (jit(f)/MoE/add)`;
/// empty where the location names no file.
std::string describeLocation(mlir::Location location);

/// On functions: hints and origins of their arguments, an array each.
inline constexpr llvm::StringLiteral kArgumentHintsAttr =
    "shoal.argument_hints";
inline constexpr llvm::StringLiteral kArgumentOriginsAttr =
    "shoal.argument_origins";

class Hints;

/// Where each axis of `sharding` came from, `x: argument 0 via math.exp; y:
/// by cost`; what `sharding` has elsewhere than the hint is by cost.
std::string describeOrigin(const ExtractedProblem &extracted,
                           const Hints &hints, unsigned value,
                           const Sharding &sharding);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_EXTRACT_H

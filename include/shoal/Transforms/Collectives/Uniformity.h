// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Between which devices the values of a per-device program can differ.

#ifndef SHOAL_TRANSFORMS_COLLECTIVES_UNIFORMITY_H
#define SHOAL_TRANSFORMS_COLLECTIVES_UNIFORMITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/Mesh.h"
#include "llvm/ADT/SmallBitVector.h"

namespace shoal {

/// A set of axes, those of each order of the devices for itself: bit o * n + a
/// is axis a of a mesh of n axes whose devices are in order o.
using AxisSet = llvm::SmallBitVector;

/// For each value of a function of the SPMD program the axes that it varies
/// over: it may differ between devices that differ on these. A forward
/// dataflow to a fixpoint, as sets only grow:
///
///        the value                       varies over
///   (U1) an argument                     the axes that its sharding splits or
///                                        that it is partial over; all if it
///                                        has none
///   (U2) a result of a call, or of an    all axes
///        op with effects
///   (U3) a collective's result           its operand's, in the order of its
///                                        mesh less getUniformAxes(), plus
///                                        getVaryingAxes()
///   (U4) result i of an op that          operand i's
///        forwards
///   (U5) a region's argument, a result   those of what is forwarded to it; a
///        of an op with regions           result's also those of the values
///                                        that chose, as devices may have come
///                                        from different regions or left a loop
///                                        at different times
///   (U6) an argument that nothing is     all operands'
///        forwarded to, as an induction
///        variable; another result
///   (U7) anything in or behind regions   all that goes in
///        that the op says nothing of
///
/// Between the orders of devices, with "x" of order 0 in what varies:
///
///   (O1) something varies in order 0     its axes there, all axes in order 1:
///                                        neighbours there may be any two here
///   (O2) nothing varies in order 0       nothing in any order: devices that
///                                        agree on all axes of one are all
///   (O3) an order that no mesh has       all axes
class Uniformity {
public:
  Uniformity(mlir::func::FuncOp function, const Mesh &mesh);

  const Mesh &getMesh() const { return mesh; }
  mlir::MLIRContext *getContext() const { return context; }
  AxisSet varyingAxes(mlir::Value value) const;

  /// The axes that a group of `op` spans; all for a call, whose callee may
  /// hold any collective, and for an op of the dialect without the interface;
  /// nothing for an op that moves no data.
  std::optional<AxisSet> groupOf(mlir::Operation *op) const;

  /// Whether two devices of a group of these axes may have to hold the same
  /// `value`: such as agree, in any order of the devices, on what it varies
  /// over there.
  bool isSharedIn(const AxisSet &group, mlir::Value value) const;

  /// The operands of `op`, and of the terminators of its regions, that choose
  /// which region runs next: those that are not forwarded, where there is more
  /// than one way to go.
  static llvm::SmallVector<mlir::Value> choosers(mlir::Operation *op);

  /// The values that `value` was made or joined from, those that chose
  /// included; none for an argument of the function.
  llvm::SmallVector<mlir::Value> sourcesOf(mlir::Value value) const;

  /// Where `value` gets an axis of `axes` from: an argument, or the result of
  /// an op whose operands are uniform over it.
  mlir::Value originOf(mlir::Value value, const AxisSet &axes) const;

private:
  AxisSet none() const { return AxisSet(orders.size() * mesh.axes.size()); }
  /// But those of size 1.
  AxisSet all() const;
  AxisSet toSet(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol,
                mlir::ArrayRef<AxisRefAttr> axes) const;
  AxisSet spread(const AxisSet &axes, mlir::Operation *op,
                 mlir::FlatSymbolRefAttr symbol) const;
  std::optional<size_t> orderOf(mlir::Operation *op,
                                mlir::FlatSymbolRefAttr symbol) const;
  AxisSet argumentAxes(mlir::BlockArgument argument) const;
  AxisSet joinOf(mlir::ValueRange values) const;
  void join(mlir::Value value, const AxisSet &axes);
  void visit(mlir::Operation *op);
  void visitBranches(mlir::RegionBranchOpInterface op);
  void visitJoins(JoinOpInterface op);
  void visitOpaqueRegions(mlir::Operation *op);
  void joinChoosers(mlir::Operation *op);
  AxisSet collectiveAxes(spmd::CollectiveOpInterface op) const;
  AxisSet resultAxes(mlir::Operation *op) const;

  mlir::func::FuncOp function;
  mlir::MLIRContext *context;
  const Mesh &mesh;
  /// Of the devices, one for all meshes that have it; the first is the mesh's.
  llvm::SmallVector<llvm::SmallVector<int64_t>> orders;
  llvm::DenseMap<mlir::Value, AxisSet> axesOf;
  bool changed = false;
};

} // namespace shoal

#endif // SHOAL_TRANSFORMS_COLLECTIVES_UNIFORMITY_H

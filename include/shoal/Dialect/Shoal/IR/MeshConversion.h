// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Between the attributes of the dialect and the plain values of Sharding/.

#ifndef SHOAL_DIALECT_SHOAL_IR_MESHCONVERSION_H
#define SHOAL_DIALECT_SHOAL_IR_MESHCONVERSION_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Sharding/Sharding.h"

namespace shoal {

/// The mesh that the module's shardings are written over, its axes cut at
/// every sub-axis that one of them names, so that each is a list of whole axes
/// of the result. Meshes that differ in their device order alone count as one:
/// the first. Fails with an error where there is no mesh, or where meshes have
/// different axes (both named).
mlir::FailureOr<Mesh> collectMesh(mlir::ModuleOp module);

/// `mesh` with the name and device order of the mesh that `sharding` names,
/// which is looked up from `user`; row-major order lists no devices.
Mesh inOrderOf(const Mesh &mesh, ShardingAttr sharding, mlir::Operation *user);

/// The (sub-)axis as atoms of `mesh`, major to minor, without those of size 1.
AxisList toAxisList(AxisRefAttr axis, const Mesh &mesh);
AxisList toAxisList(mlir::ArrayRef<AxisRefAttr> axes, const Mesh &mesh);

/// The sharding as a plain value; which dimensions are open, and which axes
/// must replicate, is not part of it.
Sharding toSharding(ShardingAttr attr, const Mesh &mesh);

/// The inverses. Neighbouring atoms of one axis merge.
mlir::SmallVector<AxisRefAttr> toAxisRefs(mlir::ArrayRef<AxisId> axes,
                                          const Mesh &mesh,
                                          mlir::MLIRContext *context);
AxesAttr toAxesAttr(mlir::ArrayRef<AxisId> axes, const Mesh &mesh,
                    mlir::MLIRContext *context);
/// `symbol` names the mesh, or one with another device order.
ShardingAttr toAttr(const Sharding &sharding, const Mesh &mesh,
                    mlir::FlatSymbolRefAttr symbol);

/// The axes along which the op itself says that its regions are written for one
/// device.
AxisList manualAxesOf(BoundaryOpInterface op, const Mesh &mesh);
/// The axes along which `op` itself stands in such regions, those of the
/// outermost first; none outside.
AxisList manualAxesAround(mlir::Operation *op, const Mesh &mesh);

/// The shardings recorded on the op (`shoal.shardings`) or, for a function's
/// argument, on the function; for an argument of a region that of the result
/// that it agrees with, or what the op says of its arguments
/// (`shoal.argument_shardings`). Nothing where there are none.
ShardingAttr getShardingOf(mlir::Value value);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_MESHCONVERSION_H

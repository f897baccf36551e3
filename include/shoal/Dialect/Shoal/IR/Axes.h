// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes and axes as verifiers see them.

#ifndef SHOAL_DIALECT_SHOAL_IR_AXES_H
#define SHOAL_DIALECT_SHOAL_IR_AXES_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Sharding/DeviceAssignment.h"

namespace shoal {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The mesh that `symbol` names as seen from `op`; null where there is none.
MeshOp lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol);

/// The mesh of annotations that name none: the first one of the symbol table
/// around `op`; null where there is none.
MeshOp findFirstMesh(mlir::Operation *op);

/// (S1), (S2): `mesh` has each axis, sub-axes divide theirs, and none overlaps
/// another one or one of `seen`, to which they are added.
llvm::LogicalResult verifyAxes(mlir::ArrayRef<AxisRefAttr> axes, MeshOp mesh,
                               mlir::SmallVectorImpl<AxisRefAttr> &seen,
                               EmitError emitError);

/// The same of all lists of an op together, which `mesh` is found for by its
/// symbol; an error, too, where it is null.
llvm::LogicalResult verifyAxes(mlir::Operation *op,
                               mlir::FlatSymbolRefAttr symbol, MeshOp mesh,
                               mlir::ArrayRef<AxesAttr> lists);

/// Whether two (sub-)axes of `mesh` share a part of an axis.
bool overlap(AxisRefAttr a, AxisRefAttr b, MeshAttr mesh);

/// Whether the list names all of the (sub-)axis, in whatever pieces.
bool covers(mlir::ArrayRef<AxisRefAttr> list, AxisRefAttr axis, MeshAttr mesh);

/// Whether the lists name the same parts of the same axes, in whatever order
/// and pieces.
bool coverSameAxes(mlir::ArrayRef<AxisRefAttr> a, mlir::ArrayRef<AxisRefAttr> b,
                   MeshAttr mesh);

/// `{"x", "y":(1)2}`, as the attribute prints.
std::string toString(AxesAttr axes);

/// Devices along all of `axes`, which `mesh` must have.
int64_t sizeOf(mlir::ArrayRef<AxisRefAttr> axes, MeshAttr mesh);

/// Where the (sub-)axis is in the positions of `mesh`, which must have it.
PositionDigit digitOf(AxisRefAttr axis, MeshAttr mesh);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_AXES_H

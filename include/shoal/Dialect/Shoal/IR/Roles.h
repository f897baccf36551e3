// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the axes of a mesh are for, as its `shoal.roles` says: {ep = ["x1",
// "x0"], tp = ["x0"]}. Reports show it; nothing else depends on it.

#ifndef SHOAL_DIALECT_SHOAL_IR_ROLES_H
#define SHOAL_DIALECT_SHOAL_IR_ROLES_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include <string>

namespace shoal {

/// On a mesh: a dictionary of lists of axes' names.
inline constexpr llvm::StringLiteral kRolesAttr = "shoal.roles";

/// Emits an error where the attribute stands on another op, or lists what is
/// no axis of the mesh.
llvm::LogicalResult verifyRoles(mlir::Operation *op, mlir::Attribute roles);

/// The roles of a group along `axes`: those of just these axes, `etp, tp`; else
/// those within it, `cp + dp`; else those that it is a part of, `part of ep`.
/// Empty where the mesh has none.
std::string describeRoles(llvm::ArrayRef<AxisRefAttr> axes, MeshOp mesh);

/// `dp, ep`: those that the axis, or a part of it, is for; empty where the mesh
/// has none.
std::string rolesOf(llvm::StringRef axis, MeshOp mesh);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_ROLES_H

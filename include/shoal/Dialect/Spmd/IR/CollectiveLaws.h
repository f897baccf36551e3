// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Laws of collectives that hold of the ops of `spmd` and of the calls that they
// become. Each reports an error of `op` where it does not hold.

#ifndef SHOAL_DIALECT_SPMD_IR_COLLECTIVELAWS_H
#define SHOAL_DIALECT_SPMD_IR_COLLECTIVELAWS_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

namespace shoal::spmd {

/// The meshes of an op between two differ in their device order alone.
llvm::LogicalResult verifySameAxes(mlir::Operation *op, MeshOp source,
                                   MeshOp target);

/// verifyCombiner, but that there are sums of f8: of pieces of which one is not
/// zero, as gathers from split rows have them. Other sums are refused where
/// programs write them.
llvm::LogicalResult verifyReduction(mlir::Operation *op, ReduceKind kind,
                                    mlir::Type element);

/// Each move is from one dimension of `input` to another, and `output`, which
/// is called `outputName`, has the rank, the element type and, where axes leave
/// and come, sizes that shards of one tensor can have.
llvm::LogicalResult verifyMoves(mlir::Operation *op,
                                llvm::ArrayRef<MoveAttr> moves, MeshAttr mesh,
                                mlir::ShapedType input, mlir::ShapedType output,
                                llvm::StringRef outputName);

/// Both lists name the same parts of the same axes of `mesh`, `shift` is in the
/// range of the indices over them, and `pairs`, if there are any, are of such
/// indices, none of which sends or receives twice, without a shift.
llvm::LogicalResult
verifyPermutation(mlir::Operation *op, AxesAttr sourceAxes, AxesAttr targetAxes,
                  MeshAttr mesh, int64_t shift,
                  std::optional<llvm::ArrayRef<int64_t>> pairs);

/// No window that begins at row (step * j + offset) / divisor, j less than
/// `shards`, leaves the range of i64.
llvm::LogicalResult verifyReach(mlir::Operation *op, int64_t step,
                                int64_t offset, int64_t shards);

/// Of a ragged_all_to_all of a group of `devices`: the tensors differ in their
/// rows alone, and `counts`, the type of its offsets and sizes, has as many
/// entries for each device.
llvm::LogicalResult verifyRagged(mlir::Operation *op, int64_t devices,
                                 mlir::ShapedType input,
                                 mlir::ShapedType output,
                                 mlir::ShapedType counts);

} // namespace shoal::spmd

#endif // SHOAL_DIALECT_SPMD_IR_COLLECTIVELAWS_H

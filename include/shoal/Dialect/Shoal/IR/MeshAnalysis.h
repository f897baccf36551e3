// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_MESHANALYSIS_H
#define SHOAL_DIALECT_SHOAL_IR_MESHANALYSIS_H

#include "shoal/Dialect/Shoal/IR/MeshConversion.h"

namespace shoal {

/// What collectMesh finds in a module, looked for once:
///
///   const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
///   if (!mesh)
///     return signalPassFailure();
///
/// A pass that writes shardings over the axes of this mesh alone, and makes no
/// other ones, preserves it: what a chain of such passes decides is over one
/// set of axes.
class MeshAnalysis {
public:
  explicit MeshAnalysis(mlir::Operation *module)
      : mesh(collectMesh(mlir::cast<mlir::ModuleOp>(module))) {}

  /// Null where there is no one mesh, of which an error has told.
  const Mesh *getMesh() const { return succeeded(mesh) ? &*mesh : nullptr; }

private:
  mlir::FailureOr<Mesh> mesh;
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_MESHANALYSIS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The distinct layouts of a program's values.

#ifndef SHOAL_LIB_REPORT_LAYOUTS_H
#define SHOAL_LIB_REPORT_LAYOUTS_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace shoal {

class Layouts {
public:
  explicit Layouts(mlir::ModuleOp module);

  /// The number of the layout in `layouts`. `manual` may be null.
  int64_t add(ShardingAttr sharding, AxesAttr manual);

  /// For each layout its mesh (by number), the axes of each dimension, the
  /// axes of partial sums and the manual axes, each as
  /// `{"axis": number, "pre": p, "size": s}`.
  llvm::json::Array take();

private:
  llvm::json::Value describe(ShardingAttr sharding, AxesAttr manual);

  llvm::SmallVector<MeshOp> meshes;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, int64_t> numbers;
  llvm::json::Array list;
};

} // namespace shoal

#endif // SHOAL_LIB_REPORT_LAYOUTS_H

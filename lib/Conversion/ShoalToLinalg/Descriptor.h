// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The integer arrays that tell the runtime what to do: see
// shoal/Runtime/ABI.h for every callee's encoding.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_DESCRIPTOR_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_DESCRIPTOR_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

class Descriptor {
public:
  Descriptor &add(int64_t value);
  Descriptor &add(llvm::ArrayRef<int64_t> list);
  /// The code of the element type of `type`, or of `type` itself.
  Descriptor &addType(mlir::Type type);
  Descriptor &addKind(ReduceKind kind);
  Descriptor &addShape(mlir::Type type);
  /// The list's length, then axis number, pre and size of each.
  Descriptor &addAxes(AxesAttr axes, MeshAttr mesh);
  Descriptor &addAxesPerDim(mlir::ArrayAttr axes, MeshAttr mesh);

  llvm::ArrayRef<int64_t> get() const { return words; }

private:
  llvm::SmallVector<int64_t> words;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_DESCRIPTOR_H

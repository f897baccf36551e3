// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of tensors, made instead of the whole ones.

#ifndef SHOAL_LIB_CONVERSION_FUSION_TENSORPARTS_H
#define SHOAL_LIB_CONVERSION_FUSION_TENSORPARTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <array>

namespace shoal {

/// The `size` rows of dimension `dim` that begin with the row `begin`, an
/// index.
struct TensorPart {
  unsigned dim = 0;
  mlir::Value begin;
  int64_t size = 0;
};

/// The part of `whole`, as offsets, sizes and strides of its slice.
std::array<llvm::SmallVector<mlir::OpFoldResult>, 3>
describePart(mlir::OpBuilder &builder, mlir::Value whole,
             const TensorPart &part);

/// Whether the op only moves elements of its inputs to one result, each element
/// of which it makes once: copies, windows, broadcasts, transposes.
bool movesElements(mlir::linalg::GenericOp op);

/// Whether makePart moves no more than the part's elements to a part of
/// `tensor`, of which dimension `dim` is split.
bool movesPart(mlir::Value tensor, unsigned dim);

/// A part of `tensor`, of which one dimension is split. What only moves
/// elements or pads others, for this reader alone, is done for the part alone
/// where the rows that it reads are known; other tensors are sliced.
mlir::Value makePart(mlir::OpBuilder &builder, mlir::Value tensor,
                     const TensorPart &part);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_TENSORPARTS_H

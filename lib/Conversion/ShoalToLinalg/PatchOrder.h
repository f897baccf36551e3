// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// In which order the patches of a convolution lie, and with them the kernel and
// the result of the matrix product that they are made for.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATCHORDER_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATCHORDER_H

#include "shoal/Sharding/Window.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace shoal {

/// The dimensions of a convolution's tensors as letters of an einsum: b, i and
/// o for batch and features, g for groups, 0 to 2 for rows of operand and
/// result, x to z for places, which are rows of the kernel.
struct ConvolutionLetters {
  using Letters = llvm::SmallVector<char, 8>;

  Letters input, kernel, result;
  /// Of digits, how many rows the result has.
  llvm::SmallDenseMap<char, int64_t> sizes;
  llvm::SmallVector<WindowDim> window;

  int64_t sizeOf(char letter) const { return sizes.lookup(letter); }
  static bool isRow(char letter) { return letter >= '0' && letter <= '2'; }
  /// The place letter of a digit.
  static char placeOf(char row) { return 'x' + (row - '0'); }
  /// The kernel's letters that are summed over, in its order.
  Letters terms() const;
};

/// The operands and the result of the product.
struct PatchOrder {
  ConvolutionLetters::Letters patches, kernel, result;
};

/// Patches are copied along the operand's lines: the letter that the operand is
/// dense in is their last one. What moves with it lies beside it, what does not
/// in front, so that of the product's operands each is a dense matrix and none
/// is to be transposed:
/// * a letter that is summed over, as in "b01f,01io->b01f" the feature:
///   [rows, terms] times [terms, o], into [rows, o];
/// * a row, as the last one in "bf01,oi01->bf01": [batch, terms, rows] are on
///   the right of [o, terms], and make [batch, o, rows].
/// Of a spatial dimension the rows or the places are last, whichever are more
/// that lie beside each other: in the gradient of a kernel the places. Terms of
/// size 1 are the kernel's alone.
PatchOrder choosePatchOrder(const ConvolutionLetters &letters);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATCHORDER_H

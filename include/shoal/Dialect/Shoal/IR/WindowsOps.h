// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that slide a window over dimensions: convolution, reduce_window,
// select_and_scatter.

#ifndef SHOAL_DIALECT_SHOAL_IR_WINDOWSOPS_H
#define SHOAL_DIALECT_SHOAL_IR_WINDOWSOPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Sharding/Window.h"

namespace shoal {

/// Which dimension of each tensor of a convolution is what: the parsed spec.
struct ConvolutionDims {
  struct Tensor {
    /// Batch and feature of operand and result; input and output feature of the
    /// kernel.
    unsigned first = 0, second = 0;
    llvm::SmallVector<unsigned, 3> spatial;

    size_t rank() const { return spatial.size() + 2; }
  };
  Tensor input, kernel, result;

  size_t numSpatial() const { return input.spatial.size(); }

  /// Parses `"b01f,01io->b01f"`; on error says what is wrong through `error`.
  static std::optional<ConvolutionDims> parse(llvm::StringRef spec,
                                              std::string &error);
};

} // namespace shoal

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/WindowsOps.h.inc"

#endif // SHOAL_DIALECT_SHOAL_IR_WINDOWSOPS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How far two runs of a program are apart.

#ifndef SHOAL_RUN_COMPARE_H
#define SHOAL_RUN_COMPARE_H

#include "shoal/Reference/Signature.h"

namespace shoal::run {

/// Prints a line per result: its largest absolute difference, and that over
/// the largest magnitude of the first run's tensor (or over 1 where that is
/// all zero). Fails where the latter is above `tolerance` or, without one, the
/// element type's own: f32 1e-5, f64 1e-12, f16 5e-3, bf16 4e-2, integers 0.
/// NaN and infinities agree with their like alone.
llvm::LogicalResult
compareResults(const reference::Signature &signature,
               llvm::ArrayRef<reference::Tensor> global,
               llvm::ArrayRef<reference::Tensor> partitioned,
               std::optional<double> tolerance);

} // namespace shoal::run

#endif // SHOAL_RUN_COMPARE_H

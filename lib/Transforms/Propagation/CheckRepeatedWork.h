// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Nothing is computed by many devices in silence.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPEATEDWORK_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPEATEDWORK_H

#include "Extract.h"

namespace shoal {

struct RepeatedWorkLimits {
  /// In times of the operations of an even split: beyond the first a warning,
  /// beyond the second an error; 0 for neither.
  double warn = 0, most = 0;
  /// What a device repeats is worth a warning from so many operations on, as
  /// what takes it no longer than a collective's latency is not.
  double leastFlops = 0;
};

/// Warns, or fails, where all devices together compute more than the limits
/// say. That stands at the op that repeats the most operations; notes stand at
/// the two next ones.
mlir::LogicalResult checkRepeatedWork(const ExtractedProblem &extracted,
                                      const Assignment &assignment,
                                      const RepeatedWorkLimits &limits);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPEATEDWORK_H

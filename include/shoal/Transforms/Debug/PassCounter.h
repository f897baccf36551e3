// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_DEBUG_PASSCOUNTER_H
#define SHOAL_TRANSFORMS_DEBUG_PASSCOUNTER_H

#include "llvm/ADT/Statistic.h"

namespace shoal {

/// What a pass counts, for --shoal-statistics:
///
///   static PassCounter numReshards(DEBUG_TYPE, "Reshards inserted");
///
/// Unlike the statistics of Passes.td it counts also where LLVM was built
/// without assertions.
struct PassCounter : llvm::TrackingStatistic {
  constexpr PassCounter(const char *pass, const char *text) noexcept
      : TrackingStatistic(pass, text, text) {}
};

} // namespace shoal

#endif // SHOAL_TRANSFORMS_DEBUG_PASSCOUNTER_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at those elements of a device's block that are of the tensor.

#ifndef SHOAL_LIB_RUNTIME_RUN_ELEMENTSCAN_H
#define SHOAL_LIB_RUNTIME_RUN_ELEMENTSCAN_H

#include "../Program/Topology.h"
#include "shoal/Calls/CheckCalls.h"
#include "shoal/Support/Npy.h"

namespace shoal::rt {

/// Which rows of the whole tensor this device's block has.
support::Block findBlock(const calls::CheckCall &call,
                         const Topology &topology);

/// Of the elements that are NaN or infinite.
struct NonFinite {
  bool hasNaN = false, hasInf = false;
  int64_t count = 0;
  /// The index in the whole tensor of the first NaN or, where there is none,
  /// the first infinity; empty where there is none of these, and for a scalar.
  std::vector<int64_t> first;
};

/// Of floats.
NonFinite findNonFinite(const calls::CheckCall &call,
                        const support::Block &block, const char *data);

/// Equal for equal elements; NaN equals NaN.
uint64_t hashElements(const calls::CheckCall &call, const support::Block &block,
                      const char *data);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_ELEMENTSCAN_H

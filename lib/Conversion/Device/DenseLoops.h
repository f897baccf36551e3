// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Along which loops of a kernel memory is dense, and how wide accesses may be.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_DENSELOOPS_H
#define SHOAL_LIB_CONVERSION_DEVICE_DENSELOOPS_H

#include "LoopNest.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// Elements that the access touches, each once.
int64_t countElements(const LoopNest &nest, const Access &access);

/// The loop along which most bytes are dense; the last of equals.
std::optional<unsigned> findDenseLoop(const LoopNest &nest);

/// How many neighbours along `loop` a thread should take: the widest access to
/// the widest operand, if every operand then has aligned accesses or need not
/// move.
int64_t chooseVector(const LoopNest &nest, unsigned loop,
                     const DeviceLimits &limits);

/// The written operand with most elements, whose order the threads take.
const Access *findMainResult(const LoopNest &nest);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_DENSELOOPS_H

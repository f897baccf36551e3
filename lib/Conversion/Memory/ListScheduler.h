// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An order for the ops of a block in which collectives have work beside them.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_LISTSCHEDULER_H
#define SHOAL_LIB_CONVERSION_MEMORY_LISTSCHEDULER_H

#include "BlockSchedule.h"

namespace shoal {

/// How far orders may go.
struct OrderLimits {
  /// No op comes in front of one that stood more than so many ops before it.
  int64_t window = INT64_MAX;
  /// Bytes of the block's own allocations that are live at one time.
  int64_t bytes = INT64_MAX;
};

/// The numbers of the nodes in the order that the pass's description says:
/// list scheduling with a clock of work and one of each kind of links (R. L.
/// Graham, Bounds on multiprocessing timing anomalies, 1969).
///
/// An op comes before its turn only where no more than `bytes` are live then,
/// and until its turn if all others follow in their first order: so that order
/// is always a way to go on, and what it needs is no more than it needed.
llvm::SmallVector<unsigned> orderOps(const BlockSchedule &schedule,
                                     const OrderLimits &limits);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_LISTSCHEDULER_H

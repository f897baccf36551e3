// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of exchange and halo_exchange: what is sent from where in memory
// and received to where, for any transport.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEMESSAGES_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEMESSAGES_H

#include "../Program/Topology.h"
#include "ExchangePlan.h"

namespace shoal::rt {

/// `count` elements from element `at` of the tensor, or of staging, on.
struct Message {
  int64_t rank;
  bool staged;
  int64_t at;
  int64_t count;
};

/// A box of the tensor, from `begin` on, which lies dense in staging from
/// element `at` on.
struct StagedBox {
  Box box;
  int64_t at;
};

/// One direction. Boxes that lie dense in the tensor need no staging.
struct Messages {
  std::vector<Message> list;
  std::vector<StagedBox> staged;
  int64_t stagedElements = 0;
};

/// A call as one device sees it. Boxes count from the tensors' first elements.
struct PlannedExchange {
  ExchangeCall call;
  std::vector<int64_t> inShape, outShape;
  Messages sends, receives;
  /// What stays: begins in the operand and in the result.
  std::vector<int64_t> localExtent, localFrom, localTo;
  /// Elements of all sends, and of all receives.
  int64_t sent, received;

  /// Elements that count as traffic.
  int64_t traffic() const {
    return call.isHalo ? received : std::max(sent, received);
  }
};

/// The call as the topology's own device sees it.
PlannedExchange planMessages(const ExchangeCall &call,
                             const Topology &topology);

/// Plans a call once, then finds it by its descriptor's address.
const PlannedExchange &findExchange(const int64_t *desc,
                                    const Topology &topology);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEMESSAGES_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExchangeMessages.h"

namespace shoal::rt {

/// The index of `begin` of the whole in a tensor that starts at `origin`.
static std::vector<int64_t> placeOf(const std::vector<int64_t> &begin,
                                    const std::vector<int64_t> &origin) {
  std::vector<int64_t> place;
  place.reserve(begin.size());
  for (size_t d = 0; d < begin.size(); ++d)
    place.push_back(begin[d] - origin[d]);
  return place;
}

/// Where the box's elements lie one after another in memory: the number of the
/// first; otherwise -1.
static int64_t denseAt(const Box &box, const std::vector<int64_t> &shape) {
  int64_t at = 0;
  bool cut = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (cut && box.extent[d] != shape[d])
      return -1;
    // Behind a dimension of which more than one row is there, all must be.
    cut |= box.extent[d] > 1;
    at = at * shape[d] + box.begin[d];
  }
  return at;
}

/// Parts of one box, which follow one another, share its place.
static Messages place(const std::vector<Transfer> &transfers,
                      const std::vector<int64_t> &origin,
                      const std::vector<int64_t> &shape) {
  Messages messages;
  int64_t at = 0;
  bool staged = false;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Transfer &transfer = transfers[i];
    if (i == 0 || transfer.box.begin != transfers[i - 1].box.begin ||
        transfer.box.extent != transfers[i - 1].box.extent) {
      Box box{placeOf(transfer.box.begin, origin), transfer.box.extent};
      at = denseAt(box, shape);
      staged = at < 0;
      if (staged) {
        at = messages.stagedElements;
        messages.stagedElements += box.volume();
        messages.staged.push_back({std::move(box), at});
      }
    }
    messages.list.push_back(
        {transfer.rank, staged, at + transfer.first, transfer.count});
  }
  return messages;
}

static PlannedExchange planMessages(const ExchangeCall &described,
                                    const Topology &topology) {
  PlannedExchange call;
  call.id = described.id;
  call.type = described.type;
  call.isHalo = described.isHalo;
  ExchangeSpec spec{&topology.mesh(described.sourceMesh),
                    &topology.mesh(described.targetMesh), described.dims};
  ExchangePlan plan = planExchange(spec, topology.rank());
  call.inShape = plan.inShape;
  call.outShape = plan.outShape;
  call.sends = place(plan.sends, plan.inBegin, plan.inShape);
  call.receives = place(plan.receives, plan.outBegin, plan.outShape);
  call.localExtent = plan.local.extent;
  call.localFrom = placeOf(plan.local.begin, plan.inBegin);
  call.localTo = placeOf(plan.local.begin, plan.outBegin);
  call.sent = plan.sent();
  call.received = plan.received();
  return call;
}

const PlannedExchange &findExchange(const int64_t *desc,
                                    const Topology &topology) {
  static PlanCache<PlannedExchange> plans;
  return plans.get<ExchangeCall>(desc, [&](const ExchangeCall &call) {
    return planMessages(call, topology);
  });
}

} // namespace shoal::rt

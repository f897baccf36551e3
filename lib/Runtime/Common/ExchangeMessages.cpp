// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExchangeMessages.h"

#include <algorithm>
#include <unordered_map>

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

static ExchangeCall read(const int64_t *desc, const Topology &topology) {
  Descriptor reader(desc);
  ExchangeCall call;
  call.id = reader.number();
  call.type = reader.type();
  const Mesh &source = topology.mesh(reader.number());
  const Mesh &target = topology.mesh(reader.number());
  ExchangeSpec spec{&source, &target, {}};
  int64_t rank = reader.number();
  for (int64_t d = 0; d < rank; ++d) {
    std::vector<int64_t> n = reader.numbers(5);
    Axes from = reader.axes(), to = reader.axes();
    spec.dims.push_back({n[0], n[1], n[2], n[3], n[4], from, to});
  }
  call.words.assign(desc, reader.position());
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

const ExchangeCall &findExchange(const int64_t *desc,
                                 const Topology &topology) {
  static std::unordered_map<const int64_t *, ExchangeCall> calls;
  auto entry = calls.find(desc);
  // The address says it all for a program; a test may reuse one.
  if (entry == calls.end() ||
      !std::ranges::equal(entry->second.words,
                          std::span(desc, entry->second.words.size())))
    entry = calls.insert_or_assign(desc, read(desc, topology)).first;
  return entry->second;
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exchange and halo_exchange: point-to-point messages by a plan.

#include "../Common/Descriptor.h"
#include "../Common/ExchangePlan.h"
#include "../Common/Recorder.h"
#include "StridedCopy.h"
#include "Transfer.h"

#include <cstring>
#include <unordered_map>

using namespace shoal::rt;

namespace {

struct Prepared {
  /// The descriptor. One is never the beginning of another.
  std::vector<int64_t> words;
  int64_t id;
  ElementType type;
  ExchangePlan plan;
};

Prepared prepare(const int64_t *desc) {
  Descriptor reader(desc);
  Prepared prepared;
  prepared.id = reader.number();
  prepared.type = reader.type();
  int64_t source = reader.number(), target = reader.number();
  Device &device = Device::get();
  ExchangeSpec spec{&device.mesh(source), &device.mesh(target), {}};
  int64_t rank = reader.number();
  for (int64_t d = 0; d < rank; ++d) {
    std::vector<int64_t> n = reader.numbers(5);
    Axes from = reader.axes(), to = reader.axes();
    spec.dims.push_back({n[0], n[1], n[2], n[3], n[4], from, to});
  }
  prepared.words.assign(desc, reader.position());
  prepared.plan = planExchange(spec, device.rank());
  return prepared;
}

const Prepared &lookUp(const int64_t *desc) {
  static std::unordered_map<const int64_t *, Prepared> cache;
  auto entry = cache.find(desc);
  // The address says it all for a program; a test may reuse one.
  if (entry == cache.end() ||
      !std::ranges::equal(entry->second.words,
                          std::span(desc, entry->second.words.size())))
    entry = cache.insert_or_assign(desc, prepare(desc)).first;
  return entry->second;
}

/// A tensor whose element 0 is the element `begin` of the whole.
struct Part {
  const std::vector<int64_t> &begin, &shape;

  std::vector<int64_t> placeOf(const Box &box) const {
    std::vector<int64_t> place;
    for (size_t d = 0; d < begin.size(); ++d)
      place.push_back(box.begin[d] - begin[d]);
    return place;
  }

  /// Where the box's elements lie one after another in memory: the number of
  /// the first; otherwise -1.
  int64_t contiguous(const Box &box) const {
    std::vector<int64_t> place = placeOf(box);
    int64_t at = 0;
    bool cut = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      bool whole = box.extent[d] == shape[d];
      if (cut && !whole)
        return -1;
      // Behind a dimension of which more than one row is there, all must be.
      cut |= box.extent[d] > 1;
      at = at * shape[d] + place[d];
    }
    return at;
  }
};

/// One step's messages.
class Messages {
public:
  Messages(const Prepared &prepared, const char *in, char *out)
      : plan(prepared.plan), type(prepared.type),
        width(static_cast<int64_t>(shoal::support::elementSize(type))), in(in),
        out(out) {}

  void run() {
    postReceives();
    send();
    copyLocal();
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                      MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    unpack();
  }

private:
  static constexpr int tag = 2;
  Part input() const { return {plan.inBegin, plan.inShape}; }
  Part output() const { return {plan.outBegin, plan.outShape}; }

  static bool startsBox(const std::vector<Transfer> &list, size_t i) {
    return i == 0 || list[i].box.begin != list[i - 1].box.begin;
  }

  /// Parts of one box are received side by side and unpacked together.
  void postReceives() {
    const std::vector<Transfer> &list = plan.receives;
    int64_t bytes = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (startsBox(list, i) && output().contiguous(list[i].box) < 0)
        bytes += list[i].box.volume() * width;
    char *next =
        static_cast<char *>(Staging::get().at(Staging::Receive, bytes));
    char *box = nullptr;
    for (size_t i = 0; i < list.size(); ++i) {
      if (startsBox(list, i)) {
        int64_t at = output().contiguous(list[i].box);
        box = at < 0 ? next : out + at * width;
        if (at < 0) {
          packed.push_back({&list[i].box, next});
          next += list[i].box.volume() * width;
        }
      }
      post(list[i], [&](MPI_Datatype block, MPI_Request *request) {
        return MPI_Irecv(box + list[i].first * width, 1, block,
                         static_cast<int>(list[i].rank), tag, MPI_COMM_WORLD,
                         request);
      });
    }
  }

  void send() {
    int64_t bytes = 0;
    for (const Transfer &transfer : plan.sends)
      if (input().contiguous(transfer.box) < 0)
        bytes += transfer.box.volume() * width;
    char *next = static_cast<char *>(Staging::get().at(Staging::Send, bytes));
    for (const Transfer &transfer : plan.sends) {
      int64_t at = input().contiguous(transfer.box);
      const char *box = at < 0 ? next : in + at * width;
      if (at < 0) {
        pack(transfer.box, next);
        next += transfer.box.volume() * width;
      }
      post(transfer, [&](MPI_Datatype block, MPI_Request *request) {
        return MPI_Isend(box + transfer.first * width, 1, block,
                         static_cast<int>(transfer.rank), tag, MPI_COMM_WORLD,
                         request);
      });
    }
  }

  template <typename Start>
  void post(const Transfer &transfer, Start &&start) {
    BlockType block(transfer.count * width);
    check(start(block, &requests.emplace_back()), "exchange");
  }

  void pack(const Box &box, char *to) {
    std::vector<int64_t> zero(box.extent.size(), 0);
    copyBox({box.extent, plan.inShape, input().placeOf(box), box.extent, zero},
            type, in, to);
  }

  void copyLocal() {
    const Box &box = plan.local;
    if (box.volume() != 0)
      copyBox({box.extent, plan.inShape, input().placeOf(box), plan.outShape,
               output().placeOf(box)},
              type, in, out);
  }

  void unpack() {
    for (auto [box, from] : packed) {
      std::vector<int64_t> zero(box->extent.size(), 0);
      copyBox({box->extent, box->extent, zero, plan.outShape,
               output().placeOf(*box)},
              type, from, out);
    }
  }

  const ExchangePlan &plan;
  ElementType type;
  int64_t width;
  const char *in;
  char *out;
  std::vector<MPI_Request> requests;
  std::vector<std::pair<const Box *, const char *>> packed;
};

/// `elements` is what counts as traffic.
void run(Activity activity, const Prepared &prepared, int64_t elements,
         const void *in, void *out) {
  auto width = static_cast<int64_t>(shoal::support::elementSize(prepared.type));
  Timed timed(activity, prepared.id, elements * width);
  Messages(prepared, static_cast<const char *>(in), static_cast<char *>(out))
      .run();
}

} // namespace

extern "C" void shoal_rt_exchange(const int64_t *desc, const void *in,
                                  void *out) {
  const Prepared &prepared = lookUp(desc);
  run(Activity::Exchange, prepared,
      std::max(prepared.plan.sent(), prepared.plan.received()), in, out);
}

extern "C" void shoal_rt_halo_exchange(const int64_t *desc, const void *in,
                                       void *out) {
  const Prepared &prepared = lookUp(desc);
  run(Activity::HaloExchange, prepared, prepared.plan.received(), in, out);
}

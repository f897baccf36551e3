// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exchange and halo_exchange: point-to-point messages by a plan.

#include "../Common/ExchangeMessages.h"
#include "../Common/Recorder.h"
#include "StridedCopy.h"
#include "Transfer.h"

using namespace shoal::rt;

namespace {

/// One step's messages.
class Run {
public:
  Run(const PlannedExchange &call, const char *in, char *out)
      : call(call), width(bytesOf(call.type, {})), zero(call.inShape.size(), 0),
        in(in), out(out) {}

  void run() {
    postReceives();
    send();
    copyBox({call.localExtent, call.inShape, call.localFrom, call.outShape,
             call.localTo},
            call.type, in, out);
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                      MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    for (const auto &[box, at] : call.receives.staged)
      copyBox({box.extent, box.extent, zero, call.outShape, box.begin},
              call.type, received + at * width, out);
  }

private:
  static constexpr int tag = 2;

  void postReceives() {
    received = static_cast<char *>(Staging::get().at(
        Staging::Receive, call.receives.stagedElements * width));
    for (const Message &message : call.receives.list)
      post(message, [&](MPI_Datatype block, MPI_Request *request) {
        char *to = (message.staged ? received : out) + message.at * width;
        return MPI_Irecv(to, 1, block, static_cast<int>(message.rank), tag,
                         worldCommunicator(), request);
      });
  }

  void send() {
    char *packed = static_cast<char *>(
        Staging::get().at(Staging::Send, call.sends.stagedElements * width));
    for (const auto &[box, at] : call.sends.staged)
      copyBox({box.extent, call.inShape, box.begin, box.extent, zero},
              call.type, in, packed + at * width);
    for (const Message &message : call.sends.list)
      post(message, [&](MPI_Datatype block, MPI_Request *request) {
        const char *from = (message.staged ? packed : in) + message.at * width;
        return MPI_Isend(from, 1, block, static_cast<int>(message.rank), tag,
                         worldCommunicator(), request);
      });
  }

  template <typename Start>
  void post(const Message &message, Start &&start) {
    BlockType block(message.count * width);
    check(start(block, &requests.emplace_back()), "exchange");
  }

  const PlannedExchange &call;
  int64_t width;
  std::vector<int64_t> zero;
  const char *in;
  char *out;
  char *received = nullptr;
  std::vector<MPI_Request> requests;
};

/// `elements` is what counts as traffic.
} // namespace

extern "C" void shoal_rt_exchange(const int64_t *desc, const void *in,
                                  void *out, void * /*scratch*/) {
  const PlannedExchange &call = findExchange(desc, Device::get());
  Timed timed(call.isHalo ? Activity::HaloExchange : Activity::Exchange,
              call.id, call.traffic() * bytesOf(call.type, {}));
  Run(call, static_cast<const char *>(in), static_cast<char *>(out)).run();
}

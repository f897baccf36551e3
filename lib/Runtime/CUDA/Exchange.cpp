// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collective_permute, exchange and halo_exchange: messages between pairs of
// devices, among all ranks.

#include "../Common/Calls.h"
#include "../Common/ExchangeMessages.h"
#include "../Common/Sizes.h"
#include "BoxCopy.h"
#include "Collective.h"
#include "Device.h"
#include "DeviceMemory.h"

using namespace shoal::rt;

/// Who communicates differs from device to device, but all of them make the
/// communicator; null if there is one device only.
static const Group *allRanks(int64_t mesh) {
  return Device::get().mesh(mesh).numDevices() == 1
             ? nullptr
             : &Communicators::get().world();
}

extern "C" void shoal_rt_collective_permute(const int64_t *desc, const void *in,
                                            void *out) {
  const auto &call = lookUp<CollectivePermuteCall>(desc);
  int64_t bytes = bytesOf(call.type, {&call.count, 1});
  const Device &device = Device::get();
  int64_t to = device.receiverOf(call), from = device.senderTo(call);
  const Group *group = bytes == 0 ? nullptr : allRanks(call.sourceMesh);
  bool stays = to == device.rank(); // then nothing else comes either
  Collective collective(Activity::CollectivePermute, call.id, stays ? 0 : bytes,
                        group);
  if (stays)
    return collective.copy(in, out, bytes);
  collective.startGroup();
  collective.send(in, bytes, to);
  collective.receive(out, bytes, from);
  collective.endGroup();
}

/// Packs what is to be sent, sends and receives, and unpacks.
static void exchange(Collective &collective, const PlannedExchange &call,
                     const char *in, char *out) {
  int64_t width = bytesOf(call.type, {});
  std::vector<int64_t> zero(call.inShape.size(), 0);
  DeviceStaging &staging = DeviceStaging::get();
  auto *packed = static_cast<char *>(
      staging.at(DeviceStaging::Send, call.sends.stagedElements * width));
  auto *received = static_cast<char *>(
      staging.at(DeviceStaging::Receive, call.receives.stagedElements * width));
  for (const auto &[box, at] : call.sends.staged)
    copyBox({box.extent, call.inShape, box.begin, box.extent, zero}, call.type,
            in, packed + at * width, collective.stream);
  copyBox({call.localExtent, call.inShape, call.localFrom, call.outShape,
           call.localTo},
          call.type, in, out, collective.stream);
  if (!call.sends.list.empty() || !call.receives.list.empty()) {
    collective.startGroup();
    for (const Message &message : call.sends.list)
      collective.send((message.staged ? packed : in) + message.at * width,
                      message.count * width, message.rank);
    for (const Message &message : call.receives.list)
      collective.receive((message.staged ? received : out) + message.at * width,
                         message.count * width, message.rank);
    collective.endGroup();
  }
  for (const auto &[box, at] : call.receives.staged)
    copyBox({box.extent, box.extent, zero, call.outShape, box.begin}, call.type,
            received + at * width, out, collective.stream);
}

extern "C" void shoal_rt_exchange(const int64_t *desc, const void *in,
                                  void *out, void * /*scratch*/) {
  const PlannedExchange &call = findExchange(desc, Device::get());
  // No elements to move here may be some to move elsewhere.
  Collective collective(
      call.isHalo ? Activity::HaloExchange : Activity::Exchange, call.id,
      call.traffic() * bytesOf(call.type, {}), allRanks(/*mesh=*/0));
  exchange(collective, call, static_cast<const char *>(in),
           static_cast<char *>(out));
}

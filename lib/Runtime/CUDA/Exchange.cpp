// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collective_permute, exchange and halo_exchange: messages between pairs of
// devices, among all ranks.

#include "../Common/CallSpecs.h"
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
  PermuteSpec spec(desc);
  int64_t bytes = bytesOf(spec.type, {&spec.count, 1});
  const Device &device = Device::get();
  int64_t to = spec.to(device), from = spec.from(device);
  const Group *group = bytes == 0 ? nullptr : allRanks(spec.sourceMesh);
  bool stays = to == device.rank(); // then nothing else comes either
  Collective collective(Activity::CollectivePermute, spec.id, stays ? 0 : bytes,
                        group);
  if (stays)
    return collective.copy(in, out, bytes);
  collective.startGroup();
  collective.send(in, bytes, to);
  collective.receive(out, bytes, from);
  collective.endGroup();
}

/// Packs what is to be sent, sends and receives, and unpacks.
static void exchange(Collective &collective, const ExchangeCall &call,
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

/// `elements` is what counts as traffic.
static void run(Activity activity, const ExchangeCall &call, int64_t elements,
                const void *in, void *out) {
  // No elements to move here may be some to move elsewhere.
  Collective collective(activity, call.id, elements * bytesOf(call.type, {}),
                        allRanks(/*mesh=*/0));
  exchange(collective, call, static_cast<const char *>(in),
           static_cast<char *>(out));
}

extern "C" void shoal_rt_exchange(const int64_t *desc, const void *in,
                                  void *out) {
  const ExchangeCall &call = findExchange(desc, Device::get());
  run(Activity::Exchange, call, std::max(call.sent, call.received), in, out);
}

extern "C" void shoal_rt_halo_exchange(const int64_t *desc, const void *in,
                                       void *out) {
  const ExchangeCall &call = findExchange(desc, Device::get());
  run(Activity::HaloExchange, call, call.received, in, out);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all collectives share: their place between the streams, and transfers.

#ifndef SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H
#define SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H

#include "../Collectives/CollectiveMachine.h"
#include "BoxCopy.h"
#include "Communicators.h"
#include "Device.h"
#include "Timeline.h"
#include "Watchdog.h"

namespace shoal::rt {

/// A CopyMachine: enqueues copies on its stream.
struct DeviceCopies {
  cudaStream_t stream;

  void copyBox(const BoxCopy &box, ElementType type, const void *from,
               void *to) const {
    rt::copyBox(box, type, from, to, stream);
  }
  void copy(const void *from, void *to, int64_t bytes) const;
  void zero(void *to, int64_t bytes) const;
};

/// A CollectiveMachine. What is enqueued on its stream while it lives comes
/// behind all work of the compute stream so far; shoal_rt_wait(id) waits for
/// it.
class Collective : public DeviceCopies {
public:
  static constexpr bool onDevice = true;
  static const Topology &topology() { return Device::get(); }

  explicit Collective(const CollectiveStart &start);
  ~Collective();
  Collective(const Collective &) = delete;
  Collective &operator=(const Collective &) = delete;

  void swapPieces(int64_t bytes, const char *from, char *to) const {
    swapPieces(bytes, /*stride=*/bytes, from, to);
  }
  void gatherPieces(int64_t bytes, const char *from, char *to) const;

  void copyToHost(const void *from, void *to, int64_t bytes) const;
  /// The step can be no graph then: what it does follows from values.
  void waitForHost() const;
  void swapOnHost(int64_t bytes, int64_t members, const char *from, char *to,
                  HostStage stage) const;
  void countBytes(int64_t bytes) { work.bytes = bytes; }
  [[noreturn]] void fail(const std::string &text) const;

  /// A group of NCCL, whose sends and receives go on together.
  void startMessages() const;
  void send(const char *from, int64_t bytes, int64_t rank) const;
  void receive(char *to, int64_t bytes, int64_t rank) const;
  void endMessages() const;
  /// The stream does.
  static void waitForMessages() {}

  void allReduce(ElementType type, Kind kind, int64_t count, const char *from,
                 char *to, char *terms) const;
  void reducePieces(ElementType type, Kind kind, int64_t count, int64_t stride,
                    const char *from, char *to, char *terms) const;

private:
  /// Of pieces that lie `stride` bytes apart in `from`.
  void swapPieces(int64_t bytes, int64_t stride, const char *from,
                  char *to) const;
  void reduceByKernel(ElementType type, Kind kind, int64_t count,
                      const char *from, char *to, char *terms) const;

  /// One group of messages, in which `swap(member)` sends to and receives from
  /// each member but this device.
  template <typename Swap>
  void swapWithOthers(Swap &&swap) const {
    startMessages();
    for (int64_t member = 0; member < group->size(); ++member)
      if (member != index)
        swap(member);
    endMessages();
  }

  /// Enqueues a call of NCCL for the whole group.
  template <typename Call>
  void run(const char *what, Call &&call) const {
    name();
    WatchedCall watched = watch();
    check(call(), what);
  }

  /// For messages of what follows.
  void name() const {
    if (const char *known = Timeline::get().describe(id))
      setActivity("collective", known);
    else
      setActivity("collective", id);
  }

  WatchedCall watch() const;

  int64_t id;
  /// Null if nothing is to be communicated.
  const Group *group;
  /// This device's number in a group over axes.
  int64_t index;
  Timeline::Work work;
};

static_assert(CollectiveMachine<Collective>);

/// The compute stream waits for the last collective with this id; nothing if
/// there was none.
void waitForCollective(int64_t id);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H

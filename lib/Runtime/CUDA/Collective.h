// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all collectives share: their place between the streams, and transfers.

#ifndef SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H
#define SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H

#include "Communicators.h"
#include "Timeline.h"
#include "Watchdog.h"

namespace shoal::rt {

/// A collective from its first to its last operation. What is enqueued on
/// `stream` while it lives comes behind all work of the compute stream so far;
/// shoal_rt_wait(id) waits for it.
class Collective {
public:
  /// `group` is null if nothing is to be communicated.
  Collective(Activity activity, int64_t id, int64_t bytes, const Group *group);
  ~Collective();
  Collective(const Collective &) = delete;
  Collective &operator=(const Collective &) = delete;

  cudaStream_t stream;

  /// Between startGroup and endGroup, sends and receives that go on together.
  /// Ranks are those of the group; of no bytes: nothing.
  void startGroup();
  void send(const void *from, int64_t bytes, int64_t rank);
  void receive(void *to, int64_t bytes, int64_t rank);
  void endGroup();

  /// One group in which `swap(member)` sends to and receives from each member
  /// of the group but this device, which is the member `index`.
  template <typename Swap>
  void swapWithOthers(int64_t index, Swap &&swap) {
    startGroup();
    for (int64_t member = 0; member < group->size(); ++member)
      if (member != index)
        swap(member);
    endGroup();
  }

  /// Pieces of `bytes` bytes one after another: piece i of `from` goes to the
  /// member i, whose piece comes to the place i of `to`.
  void swapPieces(int64_t index, int64_t bytes, const char *from, char *to);

  /// Enqueues a call of NCCL for the whole group.
  template <typename Call>
  void run(const char *what, Call &&call) {
    name();
    WatchedCall watched = watch();
    check(call(), what);
  }

  /// On the device itself.
  void copy(const void *from, void *to, int64_t bytes);
  void zero(void *to, int64_t bytes);

  /// For messages of what follows.
  void name() const {
    if (const char *known = Timeline::get().describe(id))
      setActivity("collective", known);
    else
      setActivity("collective", id);
  }

private:
  WatchedCall watch() const;

  int64_t id;
  const Group *group;
  Timeline::Work work;
};

/// The compute stream waits for the last collective with this id; nothing if
/// there was none.
void waitForCollective(int64_t id);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_COLLECTIVE_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What collectives take from a machine. Who sends what, and what is packed for
// it, is the same on all: RunAllToAll.h, RunRaggedAllToAll.h, RunExchange.h,
// RunGather.h, RunReduce.h.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_COLLECTIVEMACHINE_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_COLLECTIVEMACHINE_H

#include "../Memory/BoxCopy.h"
#include "../Memory/Scratch.h"
#include "../Program/Calls.h"
#include "../Program/Recorder.h"
#include "../Program/Topology.h"

#include <concepts>
#include <string>

namespace shoal::rt {

/// A collective before it starts.
struct CollectiveStart {
  Activity activity;
  int64_t id;
  /// What counts as traffic.
  int64_t bytes;
  /// Who takes part: the group over the axes of the mesh; all devices if null.
  int64_t mesh;
  const Axes *axes;
  /// False where nothing goes from device to device: then copies are all that
  /// the machine is asked for. The same on all devices that take part.
  bool communicates;
};

/// Where a machine keeps what its host sends and gets, if it must.
struct HostStage {
  char *sent, *received;
};

/// Copies between tensors in the memory of one device.
template <typename T>
concept CopyMachine = requires(T machine, const BoxCopy &box, ElementType type,
                               const void *from, void *to, int64_t bytes) {
  machine.copyBox(box, type, from, to);
  machine.copy(from, to, bytes);
  machine.zero(to, bytes);
};

/// One collective, from its construction to its end, which the machine times.
/// Members and ranks are those of the group. What has come is there for the
/// copies that follow; of messages, for those behind waitForMessages.
template <typename T>
concept CollectiveMachine =
    CopyMachine<T> && std::constructible_from<T, const CollectiveStart &> &&
    requires(T machine, const char *from, char *to, int64_t n, int64_t stride,
             ElementType type, Kind kind, const std::string &text,
             HostStage stage) {
      // Whether tensors are in the memory of a GPU.
      { T::onDevice } -> std::convertible_to<bool>;
      // The devices and meshes of the program.
      { T::topology() } -> std::same_as<const Topology &>;
      // Piece i of `from`, n bytes, goes to the member i, whose piece becomes
      // piece i of `to`. Pieces lie one after another.
      machine.swapPieces(n, from, to);
      // Each member gives n bytes, which come one after another.
      machine.gatherPieces(n, from, to);
      // A tensor's bytes for the host, which has them behind waitForHost.
      machine.copyToHost(from, to, n);
      machine.waitForHost();
      // As swapPieces of so many members, in memory of the host, which has
      // them at once.
      machine.swapOnHost(n, /*members=*/n, from, to, stage);
      // What counts as traffic, where that is known only now.
      machine.countBytes(n);
      // Ends the job by an error that names the collective and this rank.
      machine.fail(text);
      // Messages, in one order on both sides where there are several between
      // two devices; of no bytes, none.
      machine.startMessages();
      machine.receive(to, n, /*rank=*/n);
      machine.send(from, n, /*rank=*/n);
      machine.endMessages();
      machine.waitForMessages();
      // The reduction of n elements. `terms` has the bytes of scratchBytes.
      machine.allReduce(type, kind, n, from, to, /*terms=*/to);
      // Member i gets the reduction of the n elements that lie i * stride bytes
      // behind `from`. `terms` has a piece for each member where it is not NCCL
      // that reduces; where it is, the pieces lie one after another.
      machine.reducePieces(type, kind, n, stride, from, to, /*terms=*/to);
    };

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_COLLECTIVEMACHINE_H

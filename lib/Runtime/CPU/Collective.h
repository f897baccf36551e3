// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of CPUs, by MPI.

#ifndef SHOAL_LIB_RUNTIME_CPU_COLLECTIVE_H
#define SHOAL_LIB_RUNTIME_CPU_COLLECTIVE_H

#include "../Collectives/CollectiveMachine.h"
#include "../Job/RankWatch.h"
#include "Device.h"
#include "StridedCopy.h"

namespace shoal::rt {

/// A CopyMachine.
struct CPUCopies {
  static void copyBox(const BoxCopy &box, ElementType type, const void *from,
                      void *to) {
    rt::copyBox(box, type, from, to);
  }
  static void copy(const void *from, void *to, int64_t bytes) {
    copyBytes(from, to, bytes);
  }
  static void zero(void *to, int64_t bytes) { zeroBytes(to, bytes); }
};

/// A CollectiveMachine.
class Collective : public CPUCopies {
public:
  static constexpr bool onDevice = false;
  static const Topology &topology() { return Device::get(); }

  explicit Collective(const CollectiveStart &start);

  void swapPieces(int64_t bytes, const char *from, char *to) const {
    swapPieces(bytes, /*stride=*/bytes, from, to);
  }
  void gatherPieces(int64_t bytes, const char *from, char *to) const;

  static void copyToHost(const void *from, void *to, int64_t bytes) {
    copyBytes(from, to, bytes);
  }
  static void waitForHost() {}
  void swapOnHost(int64_t bytes, int64_t /*members*/, const char *from,
                  char *to, HostStage /*stage*/) const {
    swapPieces(bytes, from, to);
  }
  void countBytes(int64_t bytes) { timed.setBytes(bytes); }
  [[noreturn]] void fail(const std::string &text) const;

  static void startMessages() {}
  void receive(char *to, int64_t bytes, int64_t rank);
  void send(const char *from, int64_t bytes, int64_t rank);
  static void endMessages() {}
  void waitForMessages();

  void allReduce(ElementType type, Kind kind, int64_t count, const char *from,
                 char *to, char *terms) const;
  void reducePieces(ElementType type, Kind kind, int64_t count, int64_t stride,
                    const char *from, char *to, char *terms);

private:
  /// Where MPI would round each pair. At most cpuReducedAtOnce bytes.
  void reduceByParts(ElementType type, Kind kind, int64_t count,
                     const char *from, char *to, char *terms) const;
  /// Of pieces that lie `stride` bytes apart in `from`.
  void swapPieces(int64_t bytes, int64_t stride, const char *from,
                  char *to) const;

  Activity activity;
  int64_t id;
  Timed timed;
  Waiting waiting;
  /// MPI_COMM_NULL where nothing is to be communicated.
  MPI_Comm group = MPI_COMM_NULL;
  std::vector<MPI_Request> requests;
};

static_assert(CollectiveMachine<Collective>);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_COLLECTIVE_H

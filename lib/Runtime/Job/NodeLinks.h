// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nodes tell each other of their ranks, beside MPI: a rank that waits
// in MPI, or does not run, says nothing there. Connections of TCP from one rank
// of each node, its speaker, to rank 0.

#ifndef SHOAL_LIB_RUNTIME_JOB_NODELINKS_H
#define SHOAL_LIB_RUNTIME_JOB_NODELINKS_H

#include "World.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shoal::rt {

/// A line of the table of ranks on its way; see RankProgress.
struct RankReport {
  int32_t rank;
  int32_t place;
  int64_t id;
  int64_t step;
  int64_t changes;
  uint64_t beats;
  /// As the kernel has the process' state: 'T' is stopped, 'X' gone.
  int64_t state;
};

/// A connection that never waits. What does not go at once is kept, and nothing
/// is added to it meanwhile: the next reports say more.
class NodeLink {
public:
  explicit NodeLink(int socket);
  ~NodeLink();
  NodeLink(const NodeLink &) = delete;
  NodeLink &operator=(const NodeLink &) = delete;

  /// An empty list is a farewell.
  void send(std::span<const RankReport> reports);
  /// Calls `visit` for each list that has come.
  void receive(const std::function<void(std::span<const RankReport>)> &visit);

private:
  void flush();

  int socket;
  std::string outgoing, incoming;
};

/// One for each node, and for rank 0 the speakers of the other ones.
class NodeLinks {
public:
  /// Collective. `speaker`, for each rank, is the rank that speaks for its
  /// node. Nothing on all ranks where a node cannot be reached.
  static std::unique_ptr<NodeLinks> connect(World &world,
                                            std::span<const int> speaker);

  /// On speakers: sends what is known of ranks, takes what has come.
  /// `known(rank)` gives a report, `learn` takes one, and `forget` is told of a
  /// speaker that says nothing any more, as its program has ended.
  void exchange(const std::function<RankReport(int)> &known,
                const std::function<void(const RankReport &)> &learn,
                const std::function<void(int)> &forget);

  /// The last word.
  void leave();

  /// Seconds between two exchanges: longer among many nodes, so that rank 0
  /// sends a few MB a second at most.
  double interval() const;

private:
  struct Peer {
    int speaker;
    std::unique_ptr<NodeLink> link;
    /// The ranks that it is told of.
    std::vector<int> told;
    bool hasLeft = false;
  };
  std::vector<Peer> peers;
  int numNodes = 1;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_NODELINKS_H

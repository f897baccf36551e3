// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all ranks of a job are doing, as far as this node can know.

#ifndef SHOAL_LIB_RUNTIME_JOB_JOBTABLE_H
#define SHOAL_LIB_RUNTIME_JOB_JOBTABLE_H

#include "NodeLinks.h"
#include "Progress.h"

#include <memory>
#include <string>
#include <vector>

namespace shoal::rt {

/// The ranks of a node write to memory that they share; one of them, its
/// speaker, tells the other nodes. Ranks of one node that cannot share
/// memory are nodes of one rank.
class JobTable {
public:
  /// Collective. There are no ranks where there is no memory for them.
  explicit JobTable(World &world);

  std::span<RankProgress> ranks() { return table->ranks(); }
  int own() const { return ownRank; }
  /// Those of which something is known: of other nodes, too, if these could
  /// be reached.
  const std::vector<int> &watched() const { return visible; }
  bool seesAll() const { return visible.size() == members.size(); }

  bool isHere(int rank) const {
    return members[rank].speaker == members[ownRank].speaker;
  }
  /// Of a rank whose node takes no part any more nothing is known.
  bool isSilent(int rank) { return ranks()[rank].state.load() == silent; }
  bool hasManyNodes() const { return manyNodes; }
  std::string nodeOf(int rank) const { return members[rank].node; }
  /// The ranks of this one's node.
  std::vector<int> ranksBeside(int rank) const;
  /// stateOf of its process, wherever that is.
  char stateOfRank(int rank);

  /// Tells the other nodes and hears of them, if `seconds` since the last
  /// time is long enough. Of a speaker; nothing for others.
  void exchange(double seconds);
  /// The last word, of which the other nodes expect no more.
  void leave();

  /// True for the first process of the node that asks.
  bool claimsTheWord() { return table->claimsTheWord(); }
  /// Whether this node has rank 0.
  bool isFirstNode() const { return members[ownRank].speaker == 0; }

private:
  static constexpr char silent = '-';

  struct Member {
    char node[64];
    int32_t process;
    int32_t speaker;
  };

  int share(World &world);
  void introduce(World &world, int speaker);
  void connect(World &world);
  RankReport report(int rank);
  void learn(const RankReport &report);
  void forget(int speaker);

  std::unique_ptr<ProgressTable> table;
  std::unique_ptr<NodeLinks> links;
  std::vector<Member> members;
  std::vector<int> visible;
  /// What was last reported.
  std::vector<uint64_t> beats;
  int ownRank = 0;
  bool manyNodes = false;
  double sinceExchange = 0;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_JOBTABLE_H

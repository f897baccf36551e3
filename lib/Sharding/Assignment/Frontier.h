// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops next to those that a chain of moves has moved.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_FRONTIER_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_FRONTIER_H

#include "Keys.h"
#include "Plan.h"

namespace shoal::assignment {

/// A change of one op and what it changes the plan's cost by.
struct Candidate {
  unsigned op;
  ChoiceIndex index;
  double change;
};

/// Serves one chain after the other.
///
/// A move of a value that all layers share, as of common weights, has dozens of
/// neighbours, so what they do is looked up: the best move of an op depends on
/// its rule, its choice, the states of its values and the wishes alone, and
/// layers are alike.
///
/// For example, of f32[64, 32] on <["x" = 2]>, counting bytes alone:
///
///   op 0   a = argument, [{"x"}, {}]    fixed
///   op 1   b = exp a                    not split: a is gathered, 4,096 bytes
///   op 2   c = exp b                    not split
///   op 3   result c, [{"x"}, {}]        fixed: takes a slice of c, 0 bytes
///
/// To split op 1 alone changes nothing: b is gathered instead of a. A chain
/// that begins with it, as Chain::run has it:
///
///   begin("x")
///   op 1 splits dimension 0     the cost changes by 0
///   expand(1)                   op 1 is done. a and b are split along
///                               dimension 0 there: op 0 has no other choice;
///                               op 2 is asked for that of b, and is open
///   findNext()                  to split dimension 0 grants it, to split
///                               dimension 1 or none does not:
///                               {op 2, dimension 0, -4,096}, as b is gathered
///                               no more, and c is what the result needs
///   op 2 splits dimension 0
///   expand(2)                   op 2 is done, as is op 1; op 3 has no other
///                               choice
///   findNext()                  nothing: the chain ends, and its best prefix
///                               are both moves. opsSeen() is {1, 2}
class Frontier {
public:
  explicit Frontier(Plan &plan);

  /// Forgets all ops, for a chain on `axis`.
  void begin(AxisId axis);

  /// `op` was moved: it stays as it is from now on, and each op next to it is
  /// asked to have the axis where `op` has it on the value that they share.
  void expand(unsigned op);

  /// The cheapest move that grants one of the wishes; of equal ones that of the
  /// first op. Nothing where no op has one.
  std::optional<Candidate> findNext();

  /// The ops that were moved or asked since begin.
  llvm::ArrayRef<unsigned> opsSeen() const { return seen; }

private:
  /// Where the axis shall be on one of the op's values, by its number there.
  struct Wish {
    unsigned value;
    int location;
    auto operator<=>(const Wish &) const = default;
  };
  struct Neighbour {
    /// The chain that saw it last; what follows is that chain's.
    uint64_t chain = 0;
    bool isDone = false, isQueued = false, hasNewWish = false;
    /// Its place among the open ops.
    unsigned place = 0;
    /// Ascending, each once.
    llvm::SmallVector<Wish, 2> wishes;
    /// The plan's time when its best move was found, and the move.
    uint64_t foundAt = 0;
    ChoiceIndex index = 0;
  };
  struct Open {
    unsigned op;
    /// Infinite where it has no move.
    double change;
  };
  /// Of the ops of a value those that have been asked last: from `first` on,
  /// all before `last`, for the same location. While the state of the value
  /// stays as it was then, they need not be asked again.
  struct Asked {
    uint64_t chain = 0;
    int location = 0;
    unsigned first = 0, last = 0;
    uint64_t at = 0;
  };

  Neighbour &touch(unsigned op);
  void close(unsigned op);
  void askNear(unsigned value, unsigned op);
  void ask(unsigned op, unsigned value, int location);
  int locationOf(unsigned op, unsigned value) const;
  bool grants(unsigned op, const Choice &choice,
              llvm::ArrayRef<Wish> wishes) const;
  PricedChange findBest(unsigned op, llvm::ArrayRef<Wish> wishes) const;
  WordKey keyOf(unsigned op);
  void update(unsigned op);

  Plan &plan;
  AxisId axis = 0;
  uint64_t chain = 0;
  std::vector<Neighbour> neighbours;
  std::vector<Asked> lastAsked;
  std::vector<Open> open;
  std::vector<unsigned> seen;

  /// Open ops whose best move may be another one by now.
  std::vector<unsigned> queue;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_FRONTIER_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The choice of the sharding of every value, as a problem on plain values: a
// graph of ops with factor rules, and a cost in bytes. Knows no IR.

#ifndef SHOAL_SHARDING_ASSIGNMENT_H
#define SHOAL_SHARDING_ASSIGNMENT_H

#include "shoal/Sharding/FactorRule.h"
#include "shoal/Sharding/Hints.h"
#include "shoal/Sharding/SearchEffort.h"
#include <vector>

namespace shoal {

struct Cluster;
class ReshardPrices;

/// What an annotation says of one dimension.
struct DimConstraint {
  /// Axes the dimension has, major to minor.
  AxisList axes;
  /// More axes may be added behind them.
  bool open = false;
  /// Propagation priority; 0 goes first.
  int64_t priority = 0;
};

/// What an annotation says of a value.
struct ShardingConstraint {
  llvm::SmallVector<DimConstraint, 4> dims;
  /// Axes over which the value is partial, ascending; over no others it is.
  AxisList partial = {};
  /// Axes that must not split any dimension.
  AxisList replicated;
  /// It only asks: propagation spreads it like any other, and the search begins
  /// there, but costs decide.
  bool isHint = false;
};

struct AssignmentProblem {
  struct Value {
    llvm::SmallVector<int64_t> shape;
    int64_t elementBytes = 4;
    /// How often it is made; reshards cost as many times more.
    double weight = 1;
    /// The axes along which each device has a value of its own
    /// (ManualAxes.h).
    AxisList manualAxes = {};
    /// Operations of the program that come on top with each reshard that sends
    /// anything: of a mask that is then made after all.
    double flopsIfSent = 0;
  };
  /// When an op's suggestions spread, in propagation.
  enum class Priority { PassThrough, Restructuring, Contraction };
  struct Op {
    FactorRule rule;
    /// Ids of values, an argument op having no operand, the op that stands for
    /// a program result no result.
    llvm::SmallVector<unsigned, 2> operands;
    llvm::SmallVector<unsigned, 1> results;
    Priority priority = Priority::PassThrough;
    /// Of its first operand, as a chip's rates are named ("bf16"); may be
    /// empty.
    std::string elementType = {};
    /// On an argument, program result or annotation op, whose rule is the
    /// elementwise one of its only value.
    std::optional<ShardingConstraint> constraint;
    /// For messages: what the program calls it.
    std::string label;
    /// Which of AssignmentProblem::deviceOrders the op's shardings are over.
    unsigned deviceOrder = 0;
    /// Axes that split nothing here: the op is written for one device along
    /// them.
    AxisList manualAxes;
    /// On an op with a constraint between a value and its shards over manual
    /// axes: those axes by dimension. They come before the constraint's on the
    /// operand of an entry, else on the result.
    struct ManualBoundary {
      llvm::SmallVector<AxisList, 4> axes;
      /// Manual axes over which the value outside is partial: the devices' own
      /// values inside are its addends.
      AxisList partial = {};
      bool isEntry = false;
    };
    std::optional<ManualBoundary> boundary;
    /// An argument, or a result that is in no argument's memory: what a device
    /// holds before and after a step.
    bool isHeld = false;
    /// How often it runs, in a loop; all that it costs counts as often.
    double weight = 1;
    /// What it exchanges by itself counts as many times more.
    double exchangeWeight = 1;
    /// Factors a split of which leaves each device as many of the rule's
    /// operations.
    llvm::SmallVector<unsigned, 2> unsharedFactors = {};
  };

  Mesh mesh;
  /// The orders of the devices that the program's meshes list, all of them over
  /// the axes of `mesh`; an empty list is row-major. May be left out where
  /// `mesh` has the only one.
  std::vector<std::vector<int64_t>> deviceOrders;
  std::vector<Value> values;
  /// In program order: an operand is a result of an earlier op, but for an op
  /// that joins values around a loop, whose operands may come later.
  std::vector<Op> ops;
};

/// Prices are bytes, or, where there is a cluster, nanoseconds on it.
struct AssignmentOptions {
  /// Outlives the search. Then flopsPerByte is operations in a nanosecond of
  /// what is no product, memoryWeight the nanoseconds of a byte of memory.
  const Cluster *cluster = nullptr;
  /// Where searches leave what they work out of reshards, and look for it;
  /// nothing: it is lost. Outlives the search.
  ReshardPrices *reshardPrices = nullptr;
  /// Machine balance: operations that take as long as sending a byte. By
  /// default bytes decide, as in the figures of the method; a target's own is
  /// in Machine.h.
  double flopsPerByte = 1000;
  /// Work that devices repeat, although annotations split an operand over them,
  /// counts as many times.
  double repeatMargin = 100;
  /// Weight of a byte that a device writes: of results, or of
  /// FactorRule::written. Small: it only breaks ties towards not replicating
  /// elementwise work.
  double memoryWeight = 0.002;
  /// Price of a byte that a device holds of arguments and results (Op::isHeld).
  double heldWeight = 0;
  /// Prices reshards by the plans that planReshard makes instead of by the
  /// bound, reshardBytes. What is counted then is what will be sent.
  bool pricePlans = false;
  /// Charged for each reshard that sends anything, in bytes.
  double latencyBytes = 0;
  SearchEffort effort = SearchEffort::Full;
  /// Searches from where a lower bound is nearest, too, and says the bound.
  bool certify = false;
  /// Plans that cost more are of no use: where a bound says that there is no
  /// other, the search ends with what it has.
  double mostCost = std::numeric_limits<double>::infinity();
  /// Searches layers that repeat once. Without, each on its own: the same plan
  /// as a rule, in time that grows faster than layers do.
  bool foldRepeats = true;
  /// A chain of moves is given up where it has lost `slack` times what its
  /// first op and the values that it touches cost. `wholeSlack`: from nothing
  /// split, where more has to move before a value that is whole pays.
  double slack = 1, wholeSlack = 2, lastSlack = 4;
  unsigned maxMovesPerChain = 40, maxChainRounds = 6, maxSweeps = 20;
};

/// Parts of the cost, in bytes per device; with a cluster in nanoseconds.
struct AssignmentCost {
  /// Reshards, and reductions that ops need themselves.
  double reshards = 0, reductions = 0;
  /// Operations of a device / flopsPerByte; bytes written x memoryWeight;
  /// latencyBytes x reshards.
  double compute = 0, memory = 0, latency = 0;
  /// What repeatMargin adds to compute and memory.
  double repeats = 0;
  /// heldWeight x bytes of what is held.
  double held = 0;

  double bytes() const { return reshards + reductions; }
  double total() const {
    return bytes() + compute + memory + latency + repeats + held;
  }
};

/// A sharding in which a value exists.
struct ValueVersion {
  Sharding sharding;
  unsigned deviceOrder = 0;
  /// The version that it is made from; nothing for the one its op makes.
  std::optional<unsigned> parent;
  /// Bytes of the reshard from the parent.
  double bytes = 0;
};

struct Assignment {
  /// How each op is split. For an op with a constraint: the axes of each
  /// dimension.
  std::vector<FactorSharding> ops;
  /// The versions of each value, parents before children, first the one its op
  /// makes.
  std::vector<std::vector<ValueVersion>> values;
  /// For each op and operand the version it reads.
  std::vector<llvm::SmallVector<unsigned, 2>> uses;
  AssignmentCost cost;
  /// No assignment costs less. Only where it was asked for, and not where an op
  /// has too many choices (65,536).
  std::optional<double> lowerBound;
  /// Operations of all devices over those of the program: 1 where nothing is
  /// computed twice.
  double flopsRatio = 1;
  /// Of each op: operations of all devices in all its runs, and bytes that a
  /// device sends in them without a reshard, as sums that the op reduces itself
  /// or rows that windows read.
  std::vector<double> flops, exchanges;
  /// What propagation suggested, where the search began.
  Hints hints;
};

/// Chooses how every op is split, at the least total cost that the search
/// finds. Propagation gives a hint; then a greedy choice in program order that
/// leaves sums partial while that is cheaper; then variable neighbourhood
/// descent: changes of single ops, chains of them, in which a change of one op
/// pulls its neighbours along, and moves of many ops at once; the same again
/// from nothing split, from what is found where arithmetic counts ten times as
/// much, and, where annotations only ask, from what is found where they bind;
/// the cheapest is kept. Where axes are cut it begins from what it finds where
/// they are whole, and from the hints. Layers that repeat are searched once.
/// Constraints hold exactly. An argument or program result without one takes
/// any sharding, not partial, free of charge.
///
/// The answer depends on the problem alone, and not on the order of independent
/// ops in it. Work is linear in ops and does not
/// grow with the number of devices.
/// `known`: how each op is split in a plan that is known, from which the search
/// goes on in place of all its starts; empty: nothing is known.
Assignment assignShardings(const AssignmentProblem &problem,
                           const AssignmentOptions &options = {},
                           llvm::ArrayRef<FactorSharding> known = {});

/// Improves a plan of nearly the same program: `start` is how each op is split,
/// `copies` are the ops that are not in that program, and begin as what they
/// are copies of. They are made as their users need them where that costs less;
/// then changes of single ops, and chains of them that begin at the copies and
/// their neighbours: in time that grows with these, but for one look at each
/// op.
Assignment improveShardings(const AssignmentProblem &problem,
                            std::vector<FactorSharding> start,
                            llvm::ArrayRef<unsigned> copies,
                            const AssignmentOptions &options = {});

/// Searches from where a lower bound is nearest, beside a plan that is known,
/// and says the bound: with AssignmentOptions::certify what assignShardings
/// does behind its search. `start` is how each op is split.
Assignment certifyShardings(const AssignmentProblem &problem,
                            std::vector<FactorSharding> start,
                            const AssignmentOptions &options = {});

/// Improves a plan of a problem that was changed at one op: as improveShardings
/// does, beginning there.
Assignment adaptShardings(const AssignmentProblem &problem,
                          std::vector<FactorSharding> start, unsigned changed,
                          const AssignmentOptions &options = {});

/// Prices in nanoseconds on the cluster, which outlives the search. Work that
/// is repeated is what it takes.
void priceOn(const Cluster &cluster, AssignmentOptions &options);

} // namespace shoal

#endif // SHOAL_SHARDING_ASSIGNMENT_H

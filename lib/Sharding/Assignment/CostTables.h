// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Everything that the search for an assignment looks up, computed once: the
// choices of each op with the shardings they need and make, and the price of
// each reshard.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_COSTTABLES_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_COSTTABLES_H

#include "ReshardTable.h"
#include "TimePrices.h"
#include "shoal/Sharding/Propagation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"
#include <deque>
#include <memory>

namespace shoal::assignment {

/// Id of an interned sharding (with its device order).
using LayoutId = unsigned;

struct Layout {
  Sharding sharding;
  unsigned deviceOrder = 0;
};

/// The price of a reshard that does not exist. Finite, so that differences of
/// costs stay meaningful; no plan that any search keeps has it.
inline constexpr double kForbidden = 1e15;

/// Where one axis is on a tensor: a dimension, or one of these.
enum Location : int { Nowhere = -1, Partial = -2 };

/// What one axis does for an op.
struct Label {
  enum Kind { None, Factor, Pass };
  Kind kind = None;
  /// A factor of the rule, or one of its linear operand sets.
  unsigned index = 0;
  bool operator==(const Label &) const = default;
};

/// The labels of all axes of an op, as one number in mixed radix, and in front
/// of them the order in which a dimension has its axes; 0 is no label anywhere.
using ChoiceIndex = uint64_t;

/// A label for every axis, resolved.
struct Choice {
  ChoiceIndex index;
  llvm::ArrayRef<LayoutId> operands, results;
  double compute = 0, memory = 0, reductions = 0;
  /// What reductions are the price of, in bytes.
  double exchanged = 0;
  /// Operations of one device.
  double flops = 0;
  /// As many as take as long, at the rate that flopsPerByte stands for.
  double pricedFlops = 0;
  /// By what the work that is repeated makes compute and memory dearer.
  double repeatFactor = 0;
  /// Of what a device holds.
  double held = 0;

  double repeats() const { return repeatFactor * (compute + memory); }
  double cost() const {
    return compute + memory + reductions + repeats() + held;
  }
};

/// What operands and results that are alike see of an op's choices. In many of
/// these they are laid out alike, and their layout is worked out once.
struct ChoicePlace {
  struct Laid {
    enum { Unknown, Impossible, Known } state = Unknown;
    LayoutId layout = 0;
    /// Of a device.
    double bytes = 0;
  };
  /// By axis and label: what the label adds to the part of a choice that the
  /// place sees, 0 where it is the same to it as none.
  using Seen = std::vector<llvm::SmallVector<ChoiceIndex, 8>>;
  Seen seen;
  /// By that part.
  llvm::DenseMap<ChoiceIndex, Laid> laid;
};

/// Ops that have equal rules, value types and split operands, by the hints,
/// share their choices.
class OpClass {
public:
  /// `emptyShards`: whether a factor may have more shards than rows.
  /// `axisOrders`: at least one; the axes of a dimension stand in one of them.
  /// `hinted`: the axes that split operands.
  OpClass(const AssignmentProblem &problem, const AssignmentProblem::Op &op,
          bool emptyShards, std::vector<AxisList> axisOrders,
          const AxisList &hinted);

  ChoiceIndex numChoices() const { return total; }
  unsigned numLabels(AxisId axis) const { return labels[axis].size(); }
  const Label &label(ChoiceIndex index, AxisId axis) const {
    return labels[axis][labelNumber(index, axis)];
  }
  unsigned labelNumber(ChoiceIndex index, AxisId axis) const {
    return index / strides[axis] % labels[axis].size();
  }
  ChoiceIndex withLabel(ChoiceIndex index, AxisId axis, unsigned label) const {
    return index +
           (ChoiceIndex(label) - labelNumber(index, axis)) * strides[axis];
  }
  bool isFixed() const { return total == 1; }
  /// How the choice splits the op; of one with a constraint, its axes first.
  FactorSharding split(ChoiceIndex index) const;
  /// Devices that the op can be split over as the hints split its operands.
  int64_t numHintedDevices() const { return hintedDevices; }

private:
  friend class CostTables;
  void addLabels(const AssignmentProblem &problem, AxisId axis);
  bool constraintAllows(AxisId axis, unsigned dim) const;
  void addPlaces(const AssignmentProblem &problem);
  bool isSeen(size_t place, const Label &label) const;
  ChoiceIndex orderOf(ChoiceIndex index) const {
    return axisOrders.size() == 1 ? 0 : index / (total / axisOrders.size());
  }
  using LabelNumbers = llvm::SmallVector<unsigned, 8>;
  /// By axis.
  LabelNumbers labelNumbers(ChoiceIndex index) const;
  FactorSharding split(ChoiceIndex order,
                       llvm::ArrayRef<unsigned> labels) const;
  bool suits(unsigned factor, int64_t size) const;

  const AssignmentProblem::Op &op;
  bool emptyShards;
  /// Shards that a factor may have, as many as there are rows in the longest
  /// dimension that it splits.
  llvm::SmallVector<int64_t> rowsOfFactor;
  std::vector<AxisList> axisOrders;
  std::vector<llvm::SmallVector<Label, 8>> labels;
  std::vector<ChoiceIndex> strides;
  ChoiceIndex total = 1;
  int64_t hintedDevices = 1;
  /// Resolved choices; null where the rule does not allow one.
  llvm::DenseMap<ChoiceIndex, Choice *> choices;
  std::vector<ChoicePlace> places;
  /// The places of operands, then of results.
  llvm::SmallVector<unsigned, 4> placeOf;
};

/// The orders for the axes of a dimension of `op`, first the preferred one.
/// `maker` is null where the op makes values itself.
std::vector<AxisList> axisOrdersOf(const AssignmentProblem::Op &op,
                                   const AssignmentProblem::Op *maker,
                                   const AxisList &preferred);

struct Known;
struct KnownCosts;

class CostTables {
public:
  /// Without hints no annotation splits anything.
  CostTables(const AssignmentProblem &problem, const AssignmentOptions &options,
             const AxisList &axisOrder, const Hints *hints = nullptr);
  ~CostTables();

  const AssignmentProblem &problem;
  const AssignmentOptions &options;

  OpClass &classOf(unsigned op) { return *classes[opClasses[op]]; }
  /// Values of one class have equal types; their reshards cost the same.
  unsigned valueClassOf(unsigned value) const { return valueClasses[value]; }
  /// Ops of one kind have equal choices, and the same of their values are one.
  unsigned kindOf(unsigned op) const { return kinds[op]; }
  /// The choice; null where the rule does not allow it.
  const Choice *choice(unsigned op, ChoiceIndex index);

  /// Changes what arithmetic costs, of plans made before too.
  void setFlopsPerByte(double value);
  /// What plans found of states and situations, and of their costs at the
  /// present price.
  Known &getKnown() { return *known; }
  KnownCosts &getKnownCosts() { return *knownCosts; }

  LayoutId intern(const Sharding &sharding, unsigned deviceOrder = 0);
  LayoutId intern(const Layout &layout) {
    return intern(layout.sharding, layout.deviceOrder);
  }
  const Layout &layout(LayoutId id) const { return layouts[id]; }
  int location(LayoutId id, AxisId axis) const { return locations[id][axis]; }

  /// Price of turning one layout of `value` into another: bytes and latency, or
  /// time, and computeIfSent.
  double reshard(unsigned value, LayoutId from, LayoutId to);
  /// Whether that takes a plan of its steps.
  bool plansReshards() const { return options.pricePlans && !times; }
  /// What it costs at least: by the bound of bytes that no plan of a reshard is
  /// below, where it was not planned yet.
  double leastReshard(unsigned value, LayoutId from, LayoutId to);
  /// What Value::flopsIfSent costs.
  double computeIfSent(unsigned value) const;
  /// The bytes alone.
  double reshardBytesOf(unsigned value, LayoutId from, LayoutId to);
  /// What the bytes cost, and what starting to send costs, of one run.
  struct SendingPrice {
    double bytes = 0, latency = 0;
  };
  SendingPrice sendingPrice(unsigned value, LayoutId from, LayoutId to);

private:
  /// What is known of the price of a reshard of one run, NaN where it is not
  /// known: the price, and what it is at least.
  struct KnownPrice {
    double exact = std::numeric_limits<double>::quiet_NaN(), least = exact;
  };
  KnownPrice &knownPrice(unsigned value, LayoutId from, LayoutId to);
  double withCompute(unsigned value, double price) const;
  bool exists(LayoutId from, LayoutId to) const;
  /// Elements of a value that the reshard sends, by its plan or the bound.
  double elementsOf(unsigned value, LayoutId from, LayoutId to, bool byPlan);
  double nanosecondsOf(unsigned value, LayoutId from, LayoutId to);
  Choice *resolve(OpClass &opClass, ChoiceIndex index);
  bool isAllowed(const OpClass &opClass, const FactorSharding &split) const;
  std::optional<Sharding> shardingAt(const OpClass &opClass,
                                     const FactorSharding &split,
                                     size_t place) const;
  using Laid = llvm::SmallVector<ChoicePlace::Laid *, 4>;
  bool layOut(OpClass &opClass, ChoiceIndex order,
              llvm::ArrayRef<unsigned> labels, const FactorSharding &split,
              Laid &laid);
  void price(const OpClass &opClass, const FactorSharding &split,
             const Laid &laid, Choice &choice) const;
  void priceWork(const AssignmentProblem::Op &op, const FactorSharding &split,
                 const Laid &laid, Choice &choice) const;
  double countExchanged(const AssignmentProblem::Op &op,
                        const FactorSharding &split) const;
  /// A reshard of a value with a dimension for the manual axes around it.
  template <typename Price>
  double priceReshard(unsigned value, LayoutId from, LayoutId to,
                      Price price) const;
  void findKinds();

  bool emptyShards;
  /// Whether values that are split may become addends.
  bool partialValues;
  double flopsPerByte;
  /// Where prices are times.
  std::optional<TimePrices> times;
  /// By device order.
  std::vector<Mesh> meshes;
  std::vector<std::unique_ptr<OpClass>> classes;
  /// Of resolved choices.
  llvm::BumpPtrAllocator storage;
  std::vector<unsigned> opClasses, kinds, valueClasses;
  /// The layouts that the search met: numbers of its own, as what it finds
  /// depends on no search before.
  std::deque<Layout> layouts;
  /// Of each, by axis.
  std::vector<llvm::SmallVector<int, 4>> locations;
  llvm::StringMap<LayoutId> ids;
  /// Where the options have none.
  ReshardTable ownReshards;
  /// What is known of reshards, and the numbers there of values' shapes and
  /// types and of layouts.
  ReshardTable &sent;
  std::vector<unsigned> shapes, types, numbers;
  /// Prices by class, from and to.
  llvm::DenseMap<uint64_t, KnownPrice> reshards;
  std::unique_ptr<Known> known;
  KnownCosts *knownCosts;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_COSTTABLES_H

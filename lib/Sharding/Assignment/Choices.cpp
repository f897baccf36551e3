// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CostTables.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

// The shardings that the labels of all axes give an op, the axes of a dimension
// in the choice's order:
//
//        the op                   its operands and results
//   (C1) without constraint       those that the rule makes of the split
//                                 factors; none where a factor has more shards
//                                 than rows anywhere (rowsOfFactor) and no
//                                 annotation asked for that
//   (C2) with a constraint        all alike: its axes, then the labels', and
//                                 partial over its partial axes
//   (C3) between a value and its  as (C2), but outside behind the manual axes:
//        shards in a region       [{"x"}] inside -> [{"m", "x"}] outside, or
//                                 partial over "m" there; none where the blocks
//                                 would differ

const Choice *CostTables::choice(unsigned op, ChoiceIndex index) {
  OpClass &opClass = classOf(op);
  auto [it, isNew] = opClass.choices.try_emplace(index);
  if (isNew)
    it->second = resolve(opClass, index);
  return it->second.get();
}

/// Whether a factor has more shards than `rows` says it may.
static bool leavesDevicesIdle(llvm::ArrayRef<int64_t> rowsOfFactor,
                              const FactorSharding &choice, const Mesh &mesh) {
  return llvm::any_of(llvm::zip_equal(rowsOfFactor, choice.axes),
                      [&](const auto &pair) {
                        const auto &[rows, axes] = pair;
                        return !axes.empty() && mesh.sizeOf(axes) > rows;
                      });
}

/// (C3), of what (C2) gives.
static std::optional<OpShardings>
addManualAxes(const Problem::Op &op, OpShardings shardings, const Mesh &mesh) {
  Sharding &outer =
      op.boundary->isEntry ? shardings.operands[0] : shardings.results[0];
  for (auto [factor, dim, manual] :
       llvm::zip_equal(op.rule.factors, outer.dims, op.boundary->axes)) {
    if (!manual.empty() && factor.size % mesh.sizeOf(dim) != 0)
      return std::nullopt;
    dim.insert(dim.begin(), manual.begin(), manual.end());
  }
  llvm::append_range(outer.partial, op.boundary->partial);
  llvm::sort(outer.partial);
  return shardings;
}

std::optional<OpShardings>
CostTables::shardingsOf(const OpClass &opClass,
                        const FactorSharding &choice) const {
  const Problem::Op &op = opClass.op;
  if (!op.constraint) { // (C1)
    if (!emptyShards &&
        leavesDevicesIdle(opClass.rowsOfFactor, choice, problem.mesh))
      return std::nullopt;
    return applyChoice(op.rule, choice, problem.mesh);
  }
  Sharding sharding; // (C2)
  sharding.dims.assign(choice.axes.begin(), choice.axes.end());
  sharding.partial = op.constraint->partial;
  OpShardings shardings;
  shardings.operands.assign(op.operands.size(), sharding);
  shardings.results.assign(op.results.size(), sharding);
  if (op.boundary)
    return addManualAxes(op, std::move(shardings), problem.mesh);
  return shardings;
}

std::unique_ptr<Choice> CostTables::resolve(OpClass &opClass,
                                            ChoiceIndex index) {
  const Problem::Op &op = opClass.op;
  FactorSharding split;
  split.axes.resize(op.constraint ? op.constraint->dims.size()
                                  : op.rule.factors.size());
  if (op.constraint)
    for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
      split.axes[d] = dim.axes;
  for (AxisId axis : opClass.axisOrder(index)) {
    const Label &label = opClass.label(index, axis);
    if (label.kind == Label::Factor)
      split.axes[label.index].push_back(axis);
    else if (label.kind == Label::Pass)
      split.passes.push_back({axis, label.index});
  }
  llvm::sort(split.passes, [](auto &a, auto &b) { return a.axis < b.axis; });
  std::optional<OpShardings> shardings = shardingsOf(opClass, split);
  if (!shardings)
    return nullptr;
  auto choice = std::make_unique<Choice>();
  choice->sharding = std::move(split);
  for (const Sharding &sharding : shardings->operands)
    choice->operands.push_back(intern(sharding, op.deviceOrder));
  for (const Sharding &sharding : shardings->results)
    choice->results.push_back(intern(sharding, op.deviceOrder));
  price(opClass, *shardings, *choice);
  return choice;
}

/// Of what a device does, the part that others do too, although the hints split
/// the op over all of them.
static double repeatedPart(int64_t devices, int64_t hinted) {
  return devices < hinted ? 1 - double(devices) / hinted : 0;
}

/// Of the argument, or of the result as its reader gets it.
static double bytesOfHeld(const Problem &problem, const Problem::Op &op,
                          const OpShardings &shardings) {
  bool isArgument = !op.results.empty();
  const Problem::Value &type =
      problem.values[isArgument ? op.results[0] : op.operands[0]];
  return localBytes(type.shape, type.elementBytes,
                    isArgument ? shardings.results[0] : shardings.operands[0],
                    problem.mesh);
}

void CostTables::price(const OpClass &opClass, const OpShardings &shardings,
                       Choice &choice) const {
  const Problem::Op &op = opClass.op;
  double share = 1;
  int64_t devices = 1;
  for (auto [i, axes] : llvm::enumerate(choice.sharding.axes)) {
    const Factor &factor = op.rule.factors[i];
    int64_t shards = problem.mesh.sizeOf(axes);
    devices *= shards;
    if (factor.size > 0 && !llvm::is_contained(op.unsharedFactors, i))
      share *= double(shardSize(factor.size, shards)) / factor.size;
  }
  choice.flops = op.rule.flops * share;
  // Addends of a sum that pass through differ from device to device.
  for (const FactorSharding::Pass &pass : choice.sharding.passes)
    devices *= problem.mesh.axes[pass.axis].size;
  choice.repeatFactor = (options.repeatMargin - 1) *
                        repeatedPart(devices, opClass.numHintedDevices());
  priceWork(op, shardings, choice);
  choice.exchanged = countExchanged(op, choice.sharding);
  choice.reductions = choice.exchanged;
  if (times)
    choice.reductions = times->exchange(choice.sharding, meshes[op.deviceOrder],
                                        choice.exchanged);
  choice.reductions *= op.exchangeWeight;
  if (op.isHeld)
    choice.held = options.heldWeight * bytesOfHeld(problem, op, shardings);
  for (double *part : {&choice.compute, &choice.memory, &choice.reductions})
    *part *= op.weight;
}

/// What is read or written in the end whatever the choice: ties are broken by
/// what is written, where that costs nothing else.
constexpr double kTieBreak = 0.002;

void CostTables::priceWork(const Problem::Op &op, const OpShardings &shardings,
                           Choice &choice) const {
  auto bytesOf = [&](auto values, llvm::ArrayRef<Sharding> shards) {
    double bytes = 0;
    for (auto [value, sharding] : llvm::zip_equal(values, shards)) {
      const Problem::Value &type = problem.values[value];
      bytes +=
          localBytes(type.shape, type.elementBytes, sharding, problem.mesh);
    }
    return bytes;
  };
  // A loop that makes a row a trip does not make all rows in each.
  double written = op.rule.written
                       ? bytesOf(llvm::ArrayRef(op.operands[*op.rule.written]),
                                 shardings.operands[*op.rule.written])
                       : bytesOf(llvm::ArrayRef(op.results), shardings.results);
  choice.pricedFlops = choice.flops;
  choice.memory = options.memoryWeight * written;
  if (times) {
    double read = bytesOf(llvm::ArrayRef(op.operands), shardings.operands);
    std::optional<double> product = times->product(
        op, choice.sharding, meshes[op.deviceOrder], read + written);
    if (product)
      choice.pricedFlops = *product * options.flopsPerByte;
    // A product's time has its memory's; and what sums over nothing is part of
    // the kernel that reads it.
    if (product || op.rule.isParallel())
      choice.memory *= kTieBreak;
  }
  choice.compute = choice.pricedFlops / flopsPerByte;
}

double CostTables::countExchanged(const Problem::Op &op,
                                  const FactorSharding &choice) const {
  auto sizesOf = [&](llvm::ArrayRef<unsigned> values) {
    return llvm::map_to_vector(values, [&](unsigned value) -> TensorSize {
      const Problem::Value &type = problem.values[value];
      return {type.shape, type.elementBytes};
    });
  };
  return exchangedBytes(op.rule, choice, sizesOf(op.operands),
                        sizesOf(op.results), problem.mesh);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ApplyAssignment.h"
#include "Writer.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace mlir;
using namespace shoal;

static PassCounter numReshards(DEBUG_TYPE, "Reshards inserted");
static PassCounter numReshardedUses(DEBUG_TYPE,
                                    "Operands that read a resharded value");

namespace {

/// Writes an assignment into the function.
class Applier {
  /// An operand of the problem, and where in the block of its value the op
  /// stands that it belongs to or that is around it.
  struct Use {
    unsigned place = ~0u, op = ~0u, operand = ~0u;
    Operation *before = nullptr;
    auto operator<=>(const Use &) const = default;
  };

public:
  Applier(const ExtractedProblem &extracted, const Assignment &assignment,
          const Removals &removals)
      : extracted(extracted), assignment(assignment), removals(removals),
        builder(extracted.meshes[0].getContext()) {}

  void run();

private:
  void numberOps();
  void insertReshards(unsigned value);
  void writeShardings();
  void writeRemovals();
  /// Null where nothing is said.
  StringAttr removalOf(unsigned value, unsigned version) {
    auto found = removals.ofReshards.find({value, version});
    return found == removals.ofReshards.end()
               ? nullptr
               : builder.getStringAttr(found->second);
  }
  SmallVector<Use> findFirstUses(unsigned value) const;
  ShardingAttr attrOf(const ValueVersion &version, unsigned value) const {
    return extracted.toAttr(version.sharding, version.deviceOrder, value);
  }

  const ExtractedProblem &extracted;
  const Assignment &assignment;
  const Removals &removals;
  OpBuilder builder;
  /// For each value the operands (op, number) that read it.
  std::vector<SmallVector<std::pair<unsigned, unsigned>, 2>> uses;
  /// The ops of the function in program order.
  llvm::DenseMap<Operation *, unsigned> places;
};

} // namespace

void Applier::run() {
  uses.resize(extracted.values.size());
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops))
    for (auto [operand, value] : llvm::enumerate(graphOp.operands))
      uses[value].push_back({unsigned(op), unsigned(operand)});
  numberOps();
  writeShardings();
  writeRemovals();
  for (unsigned value = 0; value < extracted.values.size(); ++value)
    insertReshards(value);
}

void Applier::numberOps() {
  func::FuncOp function = extracted.function;
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { places.try_emplace(op, places.size()); });
}

void Applier::writeShardings() {
  func::FuncOp function = extracted.function;
  ShardingWriter writer(extracted, assignment.hints);
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops)) {
    for (unsigned value : graphOp.results) {
      const ValueVersion &made = assignment.values[value].front();
      writer.add(value, made.sharding, made.deviceOrder);
    }
    const ProblemOp &origin = extracted.ops[op];
    if (origin.operands.empty() ||
        !isa<func::ReturnOp>(origin.operands[0]->getOwner()))
      continue;
    const auto &versions = assignment.values[graphOp.operands[0]];
    function.setResultAttr(
        origin.operands[0]->getOperandNumber(), kShardingAttr,
        attrOf(versions[assignment.uses[op][0]], graphOp.operands[0]));
  }
  writer.writeResults();
  const ShardingWriter::Record &arguments = writer.getArguments();
  for (auto [i, sharding] : llvm::enumerate(arguments.shardings))
    function.setArgAttr(i, kShardingAttr, sharding);
  function->removeAttr(kArgumentHintsAttr);
  function->setAttr(kArgumentOriginsAttr,
                    builder.getArrayAttr(arguments.origins));
}

/// The first use of each version, be it through a version made from it.
SmallVector<Applier::Use> Applier::findFirstUses(unsigned value) const {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  Value contents = extracted.values[value];
  Block *block = contents.getParentBlock();
  SmallVector<Use> first(versions.size());
  for (auto [op, operand] : uses[value]) {
    Operation *user = extracted.ops[op].operands[operand]->getOwner();
    Operation *before = block->findAncestorOpInBlock(*user);
    unsigned version = assignment.uses[op][operand];
    first[version] =
        std::min(first[version], {places.at(before), op, operand, before});
  }
  for (unsigned version = versions.size(); version-- > 1;)
    first[*versions[version].parent] =
        std::min(first[*versions[version].parent], first[version]);
  return first;
}

/// Where a reshard is, for its layer's name: at the op that needs it or, where
/// that is in no layer, as a return, at the one that makes the value.
static Location placeOf(Operation *user, Value value) {
  Operation *maker = value.getDefiningOp();
  bool isMakers = maker && namePath(user->getLoc()).empty() &&
                  !namePath(maker->getLoc()).empty();
  return isMakers ? maker->getLoc() : user->getLoc();
}

/// Reshards stand in the block of the value, in front of the op that needs them
/// or that has it in a region: a loop does not repeat them.
void Applier::insertReshards(unsigned value) {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  SmallVector<Use> firstUses = findFirstUses(value);
  SmallVector<Value> made = {extracted.values[value]};
  for (unsigned version = 1; version < versions.size(); ++version) {
    const Use &use = firstUses[version];
    unsigned parent = *versions[version].parent;
    OpOperand *user = extracted.ops[use.op].operands[use.operand];
    builder.setInsertionPoint(use.before);
    ShardingAttr target = attrOf(versions[version], value);
    LDBG() << "reshards "
           << toString(versions[parent].sharding, extracted.problem.mesh)
           << " -> "
           << toString(versions[version].sharding, extracted.problem.mesh)
           << llvm::format(", %.0f bytes, for ", versions[version].bytes)
           << extracted.describeUse(use.op, use.operand);
    ++numReshards;
    auto reshard = ReshardOp::create(
        builder, placeOf(user->getOwner(), extracted.values[value]),
        made[0].getType(), made[parent], attrOf(versions[parent], value),
        target, /*step=*/nullptr,
        builder.getStringAttr(extracted.describeUse(use.op, use.operand)),
        removalOf(value, version));
    reshard->setAttr(kShardingsAttr, builder.getArrayAttr({target}));
    made.push_back(reshard);
  }
  for (auto [op, operand] : uses[value]) {
    unsigned version = assignment.uses[op][operand];
    numReshardedUses += version > 0;
    extracted.ops[op].operands[operand]->set(made[version]);
  }
}

/// Of what ops send by themselves.
void Applier::writeRemovals() {
  for (auto [op, origin] : llvm::enumerate(extracted.ops)) {
    auto found = removals.ofOps.find(op);
    if (found != removals.ofOps.end())
      origin.op->setAttr(kRemovalAttr, builder.getStringAttr(found->second));
  }
}

void shoal::applyAssignment(const ExtractedProblem &extracted,
                            const Assignment &assignment,
                            const Removals &removals) {
  Applier(extracted, assignment, removals).run();
}

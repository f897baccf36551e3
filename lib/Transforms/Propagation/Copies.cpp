// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Copies.h"
#include "Extract.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#include <map>

#define DEBUG_TYPE "shoal-assign"

using namespace mlir;
using namespace shoal;

/// Of a chain that is longer nobody makes copies: each is ops for the search.
static constexpr unsigned kMostOps = 64;

/// Whether the result's elements are made one by one, of few of the operands'.
static bool isParallel(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op) ||
      isa<ShardingConstraintOp>(op))
    return false;
  if (op->getNumOperands() == 0)
    return true;
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface)
    return false;
  FactorRule rule = interface.getFactorRule();
  auto isWhole = [&](ArrayRef<unsigned> factors) {
    return llvm::all_of(factors, [&](unsigned factor) {
      return rule.factors[factor].kind == FactorKind::Parallel;
    });
  };
  return rule.flops == 0 && llvm::all_of(rule.results[0], isWhole);
}

/// Whether a device can make its part of the result, in any sharding, of the
/// same parts of the operands.
static bool readsOwnParts(Operation *op) {
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface)
    return op->getNumOperands() == 0;
  FactorRule rule = interface.getFactorRule();
  return rule.windows.empty() && rule.gathers.empty() && rule.isParallel();
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

/// Whether it is made of nothing or of less than it is by one op.
static bool isMadeAnywhere(Operation *op) {
  if (!isParallel(op) || !readsOwnParts(op))
    return false;
  int64_t elements = 0;
  for (Value operand : op->getOperands())
    elements += tensorTypeOf(operand).getNumElements();
  return elements < tensorTypeOf(op->getResult(0)).getNumElements();
}

/// The op that makes what annotations, one of another, are of; null for an
/// argument.
static Operation *findAnnotated(ShardingConstraintOp annotation) {
  Value value = annotation.getInput();
  while (auto inner = value.getDefiningOp<ShardingConstraintOp>())
    value = inner.getInput();
  return value.getDefiningOp();
}

/// Annotations of one value that can be made anywhere get a copy of its op
/// each: it is made in all of their shardings, and never moved.
void Copies::copyForAnnotations(func::FuncOp function) {
  llvm::MapVector<Operation *, SmallVector<ShardingConstraintOp>> annotations;
  walkProgram(function.front(), [&](Operation *op) {
    auto annotation = dyn_cast<ShardingConstraintOp>(op);
    if (!annotation || annotation.getHint())
      return;
    Operation *made = findAnnotated(annotation);
    if (made && isMadeAnywhere(made))
      annotations[made].push_back(annotation);
  });
  OpBuilder builder(function.getContext());
  for (auto &[made, list] : annotations) {
    builder.setInsertionPointAfter(made);
    for (ShardingConstraintOp annotation : llvm::drop_begin(list)) {
      if (annotation.getSharding() == list.front().getSharding())
        continue;
      LDBG() << "makes " << made->getName() << " anew for "
             << annotation.getSharding();
      Operation *copy = builder.clone(*made);
      sources[copy] = made;
      annotation.getInputMutable().assign(copy->getResult(0));
    }
  }
}

//===----------------------------------------------------------------------===//
// What is made of less
//===----------------------------------------------------------------------===//

namespace {

/// How little must be moved to have a value in another sharding.
struct Making {
  double bytes;
  /// Or else it is moved itself.
  bool isMade;
};

/// The narrowest ancestors of values, by w(v) = min(bytes(v), sum of w(u) over
/// the operands u of v's op): within one block, as copies stand there.
class Ancestors {
public:
  const Making &find(Value value);
  /// The ops that make it of its narrowest ancestors, in program order.
  SmallVector<Operation *> opsOf(Value value);

private:
  Making compute(Value value);

  llvm::DenseMap<Value, Making> known;
};

} // namespace

const Making &Ancestors::find(Value value) {
  // What ops of the block in front have made is known: see copySent.
  auto it = known.find(value);
  if (it == known.end())
    it = known.insert({value, compute(value)}).first;
  return it->second;
}

Making Ancestors::compute(Value value) {
  Making moved = {static_cast<double>(tensorBytes(value)), false};
  Operation *op = value.getDefiningOp();
  if (!op || !isParallel(op))
    return moved;
  Making made = {0, true};
  llvm::SmallSetVector<Value, 4> operands(op->operand_begin(),
                                          op->operand_end());
  for (Value operand : operands) {
    Operation *maker = operand.getDefiningOp();
    if (operand.getParentBlock() != op->getBlock()) {
      // Of what has no operands each user has a copy.
      bool isFree = maker && maker->getNumOperands() == 0 && isParallel(maker);
      made.bytes += isFree ? 0 : tensorBytes(operand);
      continue;
    }
    made.bytes += find(operand).bytes;
  }
  return made.bytes < moved.bytes ? made : moved;
}

SmallVector<Operation *> Ancestors::opsOf(Value value) {
  llvm::SmallSetVector<Operation *, 16> ops;
  ops.insert(value.getDefiningOp());
  for (size_t next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands())
      if (operand.getParentBlock() == ops[next]->getBlock() &&
          find(operand).isMade)
        ops.insert(operand.getDefiningOp());
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// The uses that read what is sent, by the value and its version.
static std::map<std::pair<unsigned, unsigned>, SmallVector<OpOperand *>>
findSent(const ExtractedProblem &extracted, const Assignment &assignment) {
  std::map<std::pair<unsigned, unsigned>, SmallVector<OpOperand *>> sent;
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops))
    for (auto [operand, value] : llvm::enumerate(graphOp.operands)) {
      unsigned version = assignment.uses[op][operand];
      if (version > 0 && assignment.values[value][version].bytes > 0)
        sent[{value, version}].push_back(extracted.ops[op].operands[operand]);
    }
  return sent;
}

bool Copies::copySent(const ExtractedProblem &extracted,
                      const Assignment &assignment) {
  auto sent = findSent(extracted, assignment);
  if (sent.empty())
    return false;
  Ancestors ancestors;
  llvm::DenseMap<Operation *, unsigned> places;
  func::FuncOp function = extracted.function;
  walkProgram(function.front(), [&](Operation *op) {
    places.try_emplace(op, places.size());
    for (Value result : op->getResults())
      ancestors.find(result);
  });
  llvm::MapVector<Operation *, SmallVector<Operation *>> copies;
  // Uses change when all copies are there, which are of the ops as they were.
  SmallVector<Value> copied;
  for (auto &[version, uses] : sent) {
    Value value = extracted.values[version.first];
    if (!ancestors.find(value).isMade)
      continue;
    SmallVector<Operation *> ops = ancestors.opsOf(value);
    if (ops.size() > kMostOps)
      continue;
    IRMapping mapping;
    for (Operation *op : ops) {
      // Beside its original: so it is in front of all that may read it.
      copies[op].push_back(OpBuilder(op).clone(*op, mapping));
      made.insert(copies[op].back());
      originals[copies[op].back()] = op;
      sources[copies[op].back()] = sourceOf(op);
    }
    for (OpOperand *use : uses) {
      moved.push_back({use, value});
      copied.push_back(mapping.lookup(value));
    }
  }
  for (auto [use, copy] : llvm::zip_equal(moved, copied))
    use.first->set(copy);
  addGroups(copies.takeVector(), places);
  return !made.empty();
}

void Copies::addGroups(
    SmallVector<std::pair<Operation *, SmallVector<Operation *>>, 0> copies,
    const llvm::DenseMap<Operation *, unsigned> &places) {
  llvm::DenseMap<Operation *, size_t> groupOf;
  for (auto [number, group] : llvm::enumerate(groups))
    for (Operation *op : group)
      groupOf[op] = number;
  llvm::sort(copies, [&](const auto &a, const auto &b) {
    return places.lookup(a.first) < places.lookup(b.first);
  });
  for (auto &[op, list] : copies) {
    auto known = groupOf.find(op);
    if (known == groupOf.end()) {
      groups.push_back({op});
      known = groupOf.insert({op, groups.size() - 1}).first;
    }
    groups[known->second].append(list);
  }
}

void Copies::dropSent() {
  for (auto [use, value] : moved)
    use->set(value);
  for (SmallVector<Operation *> &group : groups)
    llvm::erase_if(group, [&](Operation *op) { return made.contains(op); });
  for (Operation *op : llvm::reverse(made)) {
    sources.erase(op);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// What is made of nothing
//===----------------------------------------------------------------------===//

/// A copy for each user, as they cost nothing.
void Copies::copyFree(func::FuncOp function) {
  SmallVector<Operation *> freeOps;
  walkProgram(function.front(), [&](Operation *op) {
    if (op->getNumOperands() == 0 && op->getNumResults() > 0 &&
        op->getNumRegions() == 0 && isPure(op))
      freeOps.push_back(op);
  });
  OpBuilder builder(function.getContext());
  for (Operation *op : freeOps) {
    if (op->use_empty())
      continue;
    SmallVector<Operation *> copies = {op};
    SmallVector<OpOperand *> operands;
    for (OpOperand &use : op->getUses())
      operands.push_back(&use);
    builder.setInsertionPoint(op);
    // Uses stand in reverse order of the program.
    for (OpOperand *use : llvm::drop_begin(llvm::reverse(operands))) {
      unsigned result = cast<OpResult>(use->get()).getResultNumber();
      copies.push_back(builder.clone(*op));
      sources[copies.back()] = sourceOf(op);
      use->set(copies.back()->getResult(result));
    }
    groups.push_back(std::move(copies));
  }
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

Copies::Copies(func::FuncOp function) {
  copyForAnnotations(function);
  copyFree(function);
}

void Copies::merge(const ExtractedProblem &extracted) {
  llvm::DenseMap<Operation *, unsigned> places;
  for (auto [place, op] : llvm::enumerate(canonicalOrder(extracted.problem)))
    places.try_emplace(extracted.ops[op].op, place);
  auto isSame = [](Operation *a, Operation *b) {
    return a->getAttr(kShardingsAttr) == b->getAttr(kShardingsAttr) &&
           llvm::equal(a->getOperands(), b->getOperands());
  };
  for (SmallVector<Operation *> &copies : groups) {
    llvm::sort(copies, [&](Operation *a, Operation *b) {
      return places.lookup(a) < places.lookup(b);
    });
    SmallVector<Operation *> kept;
    for (Operation *op : copies) {
      auto *same = llvm::find_if(
          kept, [&](Operation *other) { return isSame(op, other); });
      if (same == kept.end()) {
        kept.push_back(op);
        continue;
      }
      op->replaceAllUsesWith(*same);
      op->erase();
    }
    numKept += kept.size() - 1;
  }
}

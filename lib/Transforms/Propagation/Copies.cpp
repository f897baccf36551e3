// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Copies.h"
#include "Extract.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-assign"

using namespace mlir;
using namespace shoal;

/// Of a chain that is longer nobody makes copies: each is ops for the search.
static constexpr unsigned kMostOps = 64;

static double bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  double bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  if (isa<ComplexType>(type.getElementType()))
    bits *= 2;
  return static_cast<double>(type.getNumElements()) * std::max(bits / 8, 1.);
}

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
  return rule.windows.empty() && rule.gathers.empty() &&
         llvm::all_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Parallel;
         });
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
static void copyForAnnotations(func::FuncOp function) {
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
      annotation.getInputMutable().assign(builder.clone(*made)->getResult(0));
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
  // What ops of the block in front have made is known: see copyMade.
  auto it = known.find(value);
  if (it == known.end())
    it = known.insert({value, compute(value)}).first;
  return it->second;
}

Making Ancestors::compute(Value value) {
  Making moved = {bytesOf(value), false};
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
      made.bytes += isFree ? 0 : bytesOf(operand);
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

namespace {

/// Numbers that are equal for ops whose surroundings are: what makes their
/// operands, and what reads their results, two ops away at most, with types,
/// attributes and the arguments' shardings. The layers of a model are alike. By
/// the refinement of colors of Weisfeiler and Lehman.
class Surroundings {
public:
  explicit Surroundings(func::FuncOp function);
  size_t of(Operation *op) const { return colors.lookup(op); }
  /// What is read in other places, but is the same.
  void copy(Operation *from, Operation *to) { colors[to] = of(from); }

private:
  size_t refine(Operation *op) const;
  size_t colorOf(Value value) const;

  mutable func::FuncOp function;
  llvm::DenseMap<Operation *, size_t> colors;
};

} // namespace

Surroundings::Surroundings(func::FuncOp function) : function(function) {
  constexpr int rounds = 2;
  function.walk([&](Operation *op) {
    colors[op] = llvm::hash_combine(op->getName(), op->getAttrDictionary(),
                                    op->getResultTypes());
  });
  for (int round = 0; round < rounds; ++round) {
    llvm::DenseMap<Operation *, size_t> refined;
    function.walk([&](Operation *op) { refined[op] = refine(op); });
    colors = std::move(refined);
  }
}

size_t Surroundings::refine(Operation *op) const {
  size_t color = colors.lookup(op);
  for (Value operand : op->getOperands())
    color = llvm::hash_combine(color, colorOf(operand));
  // Of what has no operands each user has a copy.
  size_t users = 0;
  if (op->getNumOperands() > 0)
    for (OpOperand &use : op->getUses())
      users += llvm::hash_combine(of(use.getOwner()), use.getOperandNumber());
  return llvm::hash_combine(color, users);
}

size_t Surroundings::colorOf(Value value) const {
  if (auto result = dyn_cast<OpResult>(value))
    return llvm::hash_combine(of(result.getOwner()), result.getResultNumber());
  auto argument = cast<BlockArgument>(value);
  Operation *around = argument.getOwner()->getParentOp();
  if (around == function)
    return llvm::hash_combine(
        value.getType(),
        function.getArgAttr(argument.getArgNumber(), kShardingAttr));
  return llvm::hash_combine(around->getName(), argument.getArgNumber());
}

/// The uses, those by ops in equal surroundings together: they will want the
/// same.
static SmallVector<SmallVector<OpOperand *>>
groupUses(Value value, const Surroundings &surroundings) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  llvm::MapVector<std::pair<size_t, unsigned>, SmallVector<OpOperand *>> groups;
  // Uses stand in reverse order of the program.
  for (OpOperand *use : llvm::reverse(uses))
    groups[{surroundings.of(use->getOwner()), use->getOperandNumber()}]
        .push_back(use);
  SmallVector<SmallVector<OpOperand *>> found;
  for (auto &[key, alike] : groups)
    found.push_back(std::move(alike));
  return found;
}

void Copies::copyMade(func::FuncOp function) {
  llvm::DenseMap<Operation *, SmallVector<Operation *>> copies;
  Ancestors ancestors;
  Surroundings surroundings(function);
  SmallVector<Value> made;
  SmallVector<Operation *> order;
  walkProgram(function.front(), [&](Operation *op) {
    order.push_back(op);
    for (Value result : op->getResults())
      if (ancestors.find(result).isMade && op->getNumOperands() > 0 &&
          !result.hasOneUse())
        made.push_back(result);
  });
  // Those behind first: a copy has copies of what is in front, whose own users
  // are what is left.
  for (Value value : llvm::reverse(made)) {
    SmallVector<SmallVector<OpOperand *>> uses = groupUses(value, surroundings);
    if (uses.size() < 2)
      continue;
    SmallVector<Operation *> ops = ancestors.opsOf(value);
    if (ops.size() > kMostOps)
      continue;
    for (const SmallVector<OpOperand *> &alike : llvm::drop_begin(uses)) {
      IRMapping mapping;
      for (Operation *op : ops) {
        // Beside its original: so it is in front of all that may read it.
        Operation *copy = OpBuilder(op).clone(*op, mapping);
        originals[copy] = op;
        surroundings.copy(op, copy);
        copies[op].push_back(copy);
      }
      for (OpOperand *use : alike)
        use->set(mapping.lookup(value));
    }
  }
  for (Operation *op : order)
    if (op->getNumOperands() > 0 && copies.contains(op)) {
      groups.push_back(copies[op]);
      groups.back().push_back(op);
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
  llvm::MapVector<Operation *, SmallVector<Operation *>> free;
  OpBuilder builder(function.getContext());
  for (Operation *op : freeOps) {
    if (op->use_empty())
      continue;
    auto original = originals.find(op);
    SmallVector<Operation *> &alike =
        free[original == originals.end() ? op : original->second];
    alike.push_back(op);
    SmallVector<OpOperand *> operands;
    for (OpOperand &use : op->getUses())
      operands.push_back(&use);
    builder.setInsertionPoint(op);
    // Uses stand in reverse order of the program.
    for (OpOperand *use : llvm::drop_begin(llvm::reverse(operands))) {
      unsigned result = cast<OpResult>(use->get()).getResultNumber();
      alike.push_back(builder.clone(*op));
      use->set(alike.back()->getResult(result));
    }
  }
  // What others read is merged before them.
  std::vector<SmallVector<Operation *>> first;
  for (auto &[op, alike] : free)
    first.push_back(std::move(alike));
  groups.insert(groups.begin(), first.begin(), first.end());
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

Copies::Copies(func::FuncOp function) {
  copyForAnnotations(function);
  copyMade(function);
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
      auto same = llvm::find_if(
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

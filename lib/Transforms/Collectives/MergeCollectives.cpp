// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/ScopedHashTable.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/RecyclingAllocator.h"

namespace shoal {
#define GEN_PASS_DEF_MERGECOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-merge-collectives"

using namespace mlir;
using namespace shoal;

static PassCounter numMerged(DEBUG_TYPE,
                             "Collectives merged with an equal one");
static PassCounter numOps(DEBUG_TYPE, "Other ops merged");

namespace {

/// What two ops must share to compute the same: all but the reason.
struct Meaning {
  OperationName name;
  DictionaryAttr attributes;
  SmallVector<Value> operands;
  SmallVector<Type> types;

  explicit Meaning(Operation *op)
      : name(op->getName()), attributes(op->getAttrDictionary()),
        operands(op->getOperands()), types(op->getResultTypes()) {
    if (!isa<spmd::CollectiveOpInterface>(op))
      return;
    NamedAttrList kept(attributes);
    kept.erase("why");
    attributes = kept.getDictionary(op->getContext());
  }
  bool operator==(const Meaning &other) const {
    return name == other.name && attributes == other.attributes &&
           operands == other.operands && types == other.types;
  }
  llvm::hash_code hash() const {
    return llvm::hash_combine(name, attributes,
                              llvm::hash_combine_range(operands),
                              llvm::hash_combine_range(types));
  }
};

/// Ops by their meaning.
struct MeaningInfo : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return Meaning(const_cast<Operation *>(op)).hash();
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    auto isMarker = [](const Operation *op) {
      return op == getEmptyKey() || op == getTombstoneKey();
    };
    return !isMarker(a) && !isMarker(b) &&
           Meaning(const_cast<Operation *>(a)) ==
               Meaning(const_cast<Operation *>(b));
  }
};

using Known = llvm::ScopedHashTable<
    Operation *, Operation *, MeaningInfo,
    llvm::RecyclingAllocator<
        llvm::BumpPtrAllocator,
        llvm::ScopedHashTableVal<Operation *, Operation *>>>;

/// Keeps the reasons of both, once each.
void mergeReasons(Operation *kept, Operation *gone) {
  auto reason = kept->getAttrOfType<StringAttr>("why");
  auto other = gone->getAttrOfType<StringAttr>("why");
  if (!other || reason == other)
    return;
  // What a value is for is of interest, a list of hundred users is not.
  constexpr size_t kLongest = 400;
  std::string text = reason ? reason.str() : "";
  if (text.size() < kLongest)
    text += (text.empty() ? "" : "; ") + other.str();
  else if (!StringRef(text).ends_with("; ..."))
    text += "; ...";
  kept->setAttr("why", StringAttr::get(kept->getContext(), text));
}

/// Ops of a region may be merged with those of the regions around it, which
/// are known when it is visited. Blocks of one region have unknown order.
void mergeIn(Region &region, Known &known) {
  for (Block &block : region) {
    Known::ScopeTy scope(known);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.getNumRegions() > 0) {
        for (Region &inner : op.getRegions())
          mergeIn(inner, known);
        continue;
      }
      if (op.getNumResults() == 0 || !isMemoryEffectFree(&op))
        continue;
      Operation *same = known.lookup(&op);
      if (!same) {
        known.insert(&op, &op);
        continue;
      }
      bool isCollective = isa<spmd::CollectiveOpInterface>(op);
      if (isCollective)
        LDBG() << op.getName() << " at " << op.getLoc() << " is the one at "
               << same->getLoc();
      ++(isCollective ? numMerged : numOps);
      mergeReasons(same, &op);
      op.replaceAllUsesWith(same);
      op.erase();
    }
  }
}

/// Removes ops that no one reads, users before what they use.
void removeDead(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &inner : op.getRegions())
        removeDead(inner);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
}

struct MergeCollectives : shoal::impl::MergeCollectivesBase<MergeCollectives> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(kSpmdAttr))
      return;
    removeDead(getOperation().getBody());
    Known known;
    mergeIn(getOperation().getBody(), known);
  }
};

} // namespace

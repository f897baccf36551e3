// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SumLanes.h"
#include "../Utils/SumOrder.h"
#include "TransposeTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace shoal;

/// A register of AVX-512, and as many sums as its additions take cycles.
static constexpr int64_t kVectorBytes = 64;
static constexpr int64_t kMaxVectors = 4;
static const support::Threshold leastTerms("terms of a sum in lanes",
                                           kSequentialTerms + 1);
static const support::Threshold manyVectors("vectors of a sum's terms",
                                            kMaxVectors);
static const support::Threshold
    leastRows("rows of a sum that are added side by side", 2);

bool shoal::mayBeReassociated(Operation *op) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags = math ? math.getFastMathFlagsAttr() : nullptr;
  return flags && arith::bitEnumContainsAny(flags.getValue(),
                                            arith::FastMathFlags::reassoc);
}

/// The op that adds to init `number`, if it may do so in any order.
static Operation *findCombiner(linalg::GenericOp op, unsigned number) {
  Value yielded = op.getBody()->getTerminator()->getOperand(number);
  Value old = op.getRegionOutputArgs()[number];
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || !isa<arith::AddFOp, arith::MulFOp>(combiner) ||
      combiner->getBlock() != op.getBody() || !combiner->hasOneUse() ||
      !old.hasOneUse() || *old.user_begin() != combiner)
    return nullptr;
  return mayBeReassociated(combiner) ? combiner : nullptr;
}

static bool reduces(linalg::GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
}

/// Adds what is known of the inits; false where one of them is neither a sum
/// nor stored. Sums have one element type, which is returned.
static Type findSums(linalg::GenericOp op, SumLanes &sums) {
  Type element;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    unsigned number = sums.combiners.size();
    Operation *combiner = findCombiner(op, number);
    sums.combiners.push_back(combiner);
    AffineMap map = op.getMatchingIndexingMap(&init);
    // Each iteration may read what it then writes.
    if (!combiner && !map.isPermutation() &&
        !op.getRegionOutputArgs()[number].use_empty())
      return nullptr;
    if (!combiner)
      continue;
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (reduces(op, loop) && map.isFunctionOfDim(loop))
        return nullptr;
    Type type = combiner->getResult(0).getType();
    if (element && type != element)
      return nullptr;
    element = type;
  }
  return element;
}

/// Lanes of vectors along the walked loop, the innermost one.
static void planTerms(int64_t terms, int64_t whole, SumLanes &sums) {
  sums.width = std::min<int64_t>(whole, llvm::bit_ceil<uint64_t>(terms));
  int64_t vectors = llvm::bit_floor<uint64_t>(terms / sums.width);
  sums.lanes = sums.width * (manyVectors.isReachedBy(vectors)
                                 ? kMaxVectors
                                 : std::max<int64_t>(vectors, 1));
}

/// Lanes of `kept` elements, in vectors of `inner`. False where one alone would
/// do: terms enough are under way at a time, or there are few.
static bool planRows(int64_t terms, int64_t inner, int64_t whole,
                     SumLanes &sums) {
  int64_t rows = std::min(kMaxVectors * whole / sums.kept, terms / 4);
  sums.width = inner;
  sums.lanes =
      static_cast<int64_t>(llvm::bit_floor<uint64_t>(rows)) * sums.kept;
  return leastRows.isReachedBy(rows);
}

/// Sets the loops that the sums run along; false where there are none.
static bool findLoops(linalg::GenericOp op, ArrayRef<int64_t> ranges,
                      SumLanes &sums) {
  unsigned behind = op.getNumLoops();
  sums.kept = 1;
  while (behind > 0 && !reduces(op, behind - 1))
    sums.kept *= ranges[--behind];
  if (behind == 0)
    return false;
  sums.walked = sums.firstReduced = behind - 1;
  while (sums.firstReduced > 0 && reduces(op, sums.firstReduced - 1))
    --sums.firstReduced;
  return true;
}

std::optional<SumLanes> shoal::planSumLanes(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape())
    return std::nullopt;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t terms = 1;
  for (unsigned loop = 0; loop < ranges.size(); ++loop)
    terms *= reduces(op, loop) ? ranges[loop] : 1;
  SumLanes sums;
  if (llvm::is_contained(ranges, 0) || !leastTerms.isReachedBy(terms) ||
      !findLoops(op, ranges, sums))
    return std::nullopt;
  Type element = findSums(op, sums);
  if (!element || !element.isIntOrFloat())
    return std::nullopt;
  int64_t whole = kVectorBytes * 8 / element.getIntOrFloatBitWidth();
  int64_t walked = ranges[sums.walked];
  if (sums.walked + 1 == ranges.size())
    planTerms(walked, whole, sums);
  else if (!planRows(walked, ranges.back(), whole, sums))
    return std::nullopt;
  return sums;
}

/// Whether a vector has elements of this type as memory has them: i1 are bytes
/// there.
static bool isVectorElement(Type type) {
  return type.isIndex() ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 == 0);
}

/// Whether steps of the innermost loop read or write neighbours, or all the
/// same.
static bool isDenseOrUniform(OpOperand &operand, bool mayBeUniform) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  unsigned inner = op.getNumLoops() - 1;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isFunctionOfDim(inner))
    return mayBeUniform;
  return type && isVectorElement(type.getElementType()) &&
         type.isLastDimUnitStride() && findContiguousLoop(map) == inner &&
         llvm::none_of(map.getResults().drop_back(), [&](AffineExpr expr) {
           return expr.isFunctionOfDim(inner);
         });
}

static bool isLanewise(Operation &op) {
  return isa<linalg::IndexOp>(op) || op.hasTrait<OpTrait::ConstantLike>() ||
         (op.getNumRegions() == 0 &&
          OpTrait::hasElementwiseMappableTraits(&op));
}

bool shoal::hasVectorBody(linalg::GenericOp op, const SumLanes &sums) {
  if (!llvm::all_of(op.getBody()->without_terminator(), isLanewise))
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    bool isSum =
        sums.walked + 1 == op.getNumLoops() && op.isDpsInit(&operand) &&
        sums.combiners[operand.getOperandNumber() - op.getNumDpsInputs()];
    return isSum || isDenseOrUniform(operand, op.isDpsInput(&operand));
  });
}

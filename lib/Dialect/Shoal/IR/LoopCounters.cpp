// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/LoopCounters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

/// The value of an integer scalar, be it a constant or resharded from one.
static std::optional<int64_t> getConstant(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshardOp, ShardingConstraintOp>(op))
      break;
    value = op->getOperand(0);
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64)
    return constant.getSExtValue();
  return std::nullopt;
}

/// The step of carried value `number`, where the body adds one that is known.
static std::optional<int64_t> getStep(WhileOp loop, unsigned number) {
  Operation *yield = loop.getBody().front().getTerminator();
  auto add = yield->getOperand(number).getDefiningOp<arith::AddIOp>();
  Value before = loop.getBody().getArgument(number);
  if (!add || (add.getLhs() != before && add.getRhs() != before))
    return std::nullopt;
  return getConstant(add.getLhs() == before ? add.getRhs() : add.getLhs());
}

std::optional<int64_t> WhileOp::getTripCount() {
  Operation *yield = getCond().front().getTerminator();
  auto compare = yield->getOperand(0).getDefiningOp<arith::CmpIOp>();
  auto counter =
      compare ? dyn_cast<BlockArgument>(compare.getLhs()) : BlockArgument();
  if (!counter || counter.getOwner() != &getCond().front())
    return std::nullopt;
  unsigned number = counter.getArgNumber();
  std::optional<int64_t> first = getConstant(getInits()[number]),
                         last = getConstant(compare.getRhs()),
                         step = getStep(*this, number);
  // The step is known to be 1 or more, so that distances fit.
  int64_t distance;
  if (!first || !last || !step || *step < 1 ||
      llvm::SubOverflow(*last, *first, distance))
    return std::nullopt;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    return distance <= 0 ? 0 : llvm::divideCeil(distance, *step);
  case arith::CmpIPredicate::sle:
    return distance < 0 ? 0 : distance / *step + 1;
  default:
    return std::nullopt;
  }
}

namespace {

/// Integers of a loop's body as functions of the trip, as long as they are
/// linear in it.
class TripArithmetic {
public:
  explicit TripArithmetic(WhileOp loop)
      : loop(loop), trips(loop.getTripCount()) {}

  std::optional<TripNumbers> numbersOf(Value value) {
    // Each op may be asked for as often as there are ways to it.
    if (asked++ == kMostAsked)
      return std::nullopt;
    std::optional<TripNumbers> numbers = compute(value);
    return numbers && fit(*numbers, value) ? numbers : std::nullopt;
  }

private:
  std::optional<TripNumbers> compute(Value value) {
    if (std::optional<int64_t> constant = getConstant(value))
      return TripNumbers{*constant, 0};
    if (auto counter = dyn_cast<BlockArgument>(value))
      return numbersOfCounter(counter);
    if (auto select = value.getDefiningOp<arith::SelectOp>())
      return numbersOfChoice(select);
    Operation *op = value.getDefiningOp();
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    std::optional<TripNumbers> a = numbersOf(op->getOperand(0)),
                               b = a ? numbersOf(op->getOperand(1)) : a;
    return a && b ? combine(op, *a, *b) : std::nullopt;
  }

  std::optional<TripNumbers> numbersOfCounter(BlockArgument counter) {
    if (counter.getOwner() != &loop.getBody().front() ||
        counter.getArgNumber() >= loop.getInits().size())
      return std::nullopt;
    auto first = getConstant(loop.getInits()[counter.getArgNumber()]);
    auto step = getStep(loop, counter.getArgNumber());
    return first && step ? std::optional(TripNumbers{*first, *step})
                         : std::nullopt;
  }

  /// One of the two, where all trips choose the same: an index that counts from
  /// the end where it is negative.
  std::optional<TripNumbers> numbersOfChoice(arith::SelectOp select) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || !trips || *trips == 0)
      return std::nullopt;
    auto a = numbersOf(compare.getLhs()), b = numbersOf(compare.getRhs());
    if (!a || !b)
      return std::nullopt;
    auto holds = [&](int64_t trip) {
      auto at = [&](const TripNumbers &numbers) {
        return APInt(64, numbers.first + numbers.step * trip, true);
      };
      return arith::applyCmpPredicate(compare.getPredicate(), at(*a), at(*b));
    };
    // Linear functions that compare alike in the first and in the last trip do
    // in all, but for equality.
    if (!isSignedOrder(compare.getPredicate()) || holds(0) != holds(*trips - 1))
      return std::nullopt;
    return numbersOf(holds(0) ? select.getTrueValue() : select.getFalseValue());
  }

  static bool isSignedOrder(arith::CmpIPredicate predicate) {
    return llvm::is_contained(
        {arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
         arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge},
        predicate);
  }

  static std::optional<TripNumbers> combine(Operation *op, const TripNumbers &a,
                                            const TripNumbers &b) {
    TripNumbers c;
    bool overflows = false;
    if (isa<arith::AddIOp>(op)) {
      overflows = llvm::AddOverflow(a.first, b.first, c.first) ||
                  llvm::AddOverflow(a.step, b.step, c.step);
    } else if (isa<arith::SubIOp>(op)) {
      overflows = llvm::SubOverflow(a.first, b.first, c.first) ||
                  llvm::SubOverflow(a.step, b.step, c.step);
    } else {
      if (a.step != 0 && b.step != 0)
        return std::nullopt;
      const TripNumbers &linear = b.step == 0 ? a : b;
      int64_t factor = b.step == 0 ? b.first : a.first;
      overflows = llvm::MulOverflow(linear.first, factor, c.first) ||
                  llvm::MulOverflow(linear.step, factor, c.step);
    }
    return overflows ? std::nullopt : std::optional(c);
  }

  /// Whether no trip's number is cut to the value's type.
  bool fit(const TripNumbers &numbers, Value value) const {
    auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
    if (!type || type.getWidth() > 64)
      return false;
    int64_t way = 0, last = numbers.first;
    if (trips && *trips > 0 &&
        (llvm::MulOverflow(numbers.step, *trips - 1, way) ||
         llvm::AddOverflow(numbers.first, way, last)))
      return false;
    return llvm::isIntN(type.getWidth(), numbers.first) &&
           llvm::isIntN(type.getWidth(), last);
  }

  static constexpr int kMostAsked = 64;
  WhileOp loop;
  std::optional<int64_t> trips;
  int asked = 0;
};

} // namespace

std::optional<TripNumbers> shoal::tripNumbersOf(WhileOp loop, Value value) {
  return TripArithmetic(loop).numbersOf(value);
}

int64_t shoal::countRuns(Operation *op) {
  int64_t runs = 1;
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    auto loop = dyn_cast<WhileOp>(region->getParentOp());
    if (!loop)
      continue;
    int64_t trips = loop.getTripCount().value_or(1);
    runs *= region == &loop.getCond() ? trips + 1 : trips;
  }
  return runs;
}

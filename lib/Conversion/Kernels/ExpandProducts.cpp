// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-expand-products.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Products/PlanEinsum.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-expand-products"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_EXPANDPRODUCTS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numExpanded(DEBUG_TYPE, "Products in the program's loops");

namespace {

/// The letters of a product in the order of its loops.
struct LoopOrder {
  SmallVector<char> letters;
  size_t firstSummed, numSummed;

  bool sumsInnermost() const {
    return numSummed > 0 && firstSummed + numSummed == letters.size();
  }
};

} // namespace

/// Whether steps of the letter read neighbours, or the same all the time.
static bool isDenseOrAbsent(ArrayRef<char> term, char letter) {
  return term.empty() || !llvm::is_contained(term.drop_back(), letter);
}

/// Sums lie around the last letter of the result where vectors can run along
/// that, else within it.
static LoopOrder chooseOrder(const rt::ProductTerms &terms) {
  LoopOrder order;
  order.letters.assign(terms.spec.result.begin(), terms.spec.result.end());
  bool hasVectors = !order.letters.empty() &&
                    llvm::all_of(terms.spec.inputs, [&](ArrayRef<char> term) {
                      return isDenseOrAbsent(term, order.letters.back());
                    });
  order.firstSummed = order.letters.size() - (hasVectors ? 1 : 0);
  size_t kept = order.letters.size();
  for (char letter : terms.letters)
    if (!llvm::is_contained(terms.spec.result, letter))
      order.letters.push_back(letter);
  order.numSummed = order.letters.size() - kept;
  std::rotate(order.letters.begin() + order.firstSummed,
              order.letters.begin() + kept, order.letters.end());
  return order;
}

static SmallVector<AffineMap> mapsOf(const rt::ProductTerms &terms,
                                     const LoopOrder &order,
                                     MLIRContext *context) {
  auto mapOf = [&](ArrayRef<char> term) {
    SmallVector<AffineExpr> exprs;
    for (char letter : term)
      exprs.push_back(getAffineDimExpr(
          llvm::find(order.letters, letter) - order.letters.begin(), context));
    return AffineMap::get(order.letters.size(), 0, exprs, context);
  };
  return {mapOf(terms.spec.inputs[0]), mapOf(terms.spec.inputs[1]),
          mapOf(terms.spec.result)};
}

static SmallVector<utils::IteratorType> iteratorsOf(const LoopOrder &order) {
  SmallVector<utils::IteratorType> iterators(order.letters.size(),
                                             utils::IteratorType::parallel);
  std::fill_n(iterators.begin() + order.firstSummed, order.numSummed,
              utils::IteratorType::reduction);
  return iterators;
}

static void fillWithZeros(OpBuilder &builder, Location loc, Value buffer) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value zero = arith::ConstantOp::create(builder, loc,
                                         getIdentity(ReduceKind::Sum, element));
  linalg::FillOp::create(builder, loc, zero, buffer);
}

/// The product as an op of linalg that adds to zeros, or without a sum writes.
static void expand(rt::EinsumOp op) {
  using arith::FastMathFlags;
  LDBG() << op.getSpec() << " at " << sourcePlace(op.getLoc());
  ++numExpanded;
  rt::ProductTerms terms = op.getTerms();
  LoopOrder order = chooseOrder(terms);
  OpBuilder builder(op);
  if (order.numSummed > 0)
    fillWithZeros(builder, op.getLoc(), op.getOutput());
  // Along rows terms go into lanes, for which they must be free to.
  FastMathFlags flags = FastMathFlags::contract;
  if (order.sumsInnermost())
    flags = flags | FastMathFlags::reassoc;
  linalg::GenericOp::create(
      builder, op.getLoc(), ValueRange{op.getLhs(), op.getRhs()},
      op.getOutput(), mapsOf(terms, order, op.getContext()), iteratorsOf(order),
      [&](OpBuilder &body, Location loc, ValueRange args) {
        Value value = createCombiner(body, loc, ReduceKind::Prod, args[0],
                                     args[1], FastMathFlags::contract);
        if (order.numSummed > 0)
          value =
              createCombiner(body, loc, ReduceKind::Sum, args[2], value, flags);
        linalg::YieldOp::create(body, loc, value);
      });
  op.erase();
}

namespace {

struct ExpandProducts : shoal::impl::ExpandProductsBase<ExpandProducts> {
  void runOnOperation() override {
    SmallVector<rt::EinsumOp> products;
    getOperation().walk([&](rt::EinsumOp op) {
      std::optional<rt::ProductPlanAttr> plan = op.getPlan();
      if (plan && products::isCode(op.getProduct().types, plan->getPlan()))
        products.push_back(op);
    });
    llvm::for_each(products, expand);
  }
};

} // namespace

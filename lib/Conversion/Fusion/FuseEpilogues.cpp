// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-epilogues.

#include "ActivationForm.h"
#include "ScaledProducts.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-fuse-epilogues"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numEpilogues(DEBUG_TYPE, "Products with an epilogue");
static PassCounter numBiases(DEBUG_TYPE, "Biases in epilogues");
static PassCounter numActivations(DEBUG_TYPE, "Activations in epilogues");
static PassCounter numFloat8(DEBUG_TYPE, "Products of f8");

namespace {

/// The beginning of a body that the product in front of it can compute.
struct Epilogue {
  /// Of the body: what the product is multiplied by first.
  SmallVector<Value> factors;
  std::optional<rt::Activation> activation;
  /// The input of the op that is added first, if there is one.
  OpOperand *bias = nullptr;
  /// The dimensions of the product that the bias has.
  SmallVector<int64_t> biasDims;
  /// What it computes, of the body.
  Value last;
};

} // namespace

/// Whether nothing but what leads to `last` depends on `x`.
static bool leadsOnlyTo(Value x, Value last) {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  llvm::SetVector<Operation *> slice;
  if (failed(getBackwardSlice(last, &slice, options)))
    return false;
  slice.remove_if([&](Operation *op) {
    return op->getBlock() != last.getParentBlock() ||
           op->hasTrait<OpTrait::ConstantLike>();
  });
  auto isInside = [&](Operation *user) { return slice.contains(user); };
  return llvm::all_of(x.getUsers(), isInside) &&
         llvm::all_of(slice, [&](Operation *op) {
           return op == last.getDefiningOp() ||
                  llvm::all_of(op->getUsers(), isInside);
         });
}

/// The dimensions of the value read through `whole` that the one read through
/// `part` has; nothing where it is no part of that value's shape.
static std::optional<SmallVector<int64_t>> dimsIn(AffineMap part,
                                                  AffineMap whole) {
  SmallVector<int64_t> dims;
  for (AffineExpr expr : part.getResults()) {
    const auto *found = llvm::find(whole.getResults(), expr);
    if (!isa<AffineDimExpr>(expr) || found == whole.getResults().end())
      return std::nullopt;
    dims.push_back(found - whole.getResults().begin());
  }
  return dims;
}

/// `x` plus an input that runs along the last dimension of the product, and not
/// along all: a vector for each row, which is what cuBLASLt adds.
static void matchBias(linalg::GenericOp op, Value x, AffineMap map,
                      Epilogue &epilogue) {
  if (!x.hasOneUse())
    return;
  auto sum = dyn_cast<arith::AddFOp>(*x.user_begin());
  if (!sum)
    return;
  auto added =
      dyn_cast<BlockArgument>(sum.getLhs() == x ? sum.getRhs() : sum.getLhs());
  if (!added || added == x || added.getOwner() != op.getBody() ||
      added.getArgNumber() >= op.getNumDpsInputs())
    return;
  OpOperand *bias = op.getDpsInputOperand(added.getArgNumber());
  auto dims = dimsIn(op.getMatchingIndexingMap(bias), map);
  auto last = static_cast<int64_t>(map.getNumResults()) - 1;
  if (!dims || !llvm::is_contained(*dims, last) ||
      dims->size() == map.getNumResults())
    return;
  epilogue.bias = bias;
  epilogue.biasDims = *dims;
  epilogue.last = sum;
}

static void matchActivation(linalg::GenericOp op, Value x, Epilogue &epilogue) {
  ActivationForms forms(x);
  for (Operation &candidate : op.getBody()->without_terminator()) {
    if (candidate.getNumResults() != 1)
      continue;
    Value value = candidate.getResult(0);
    std::optional<rt::Activation> activation = forms.match(value);
    if (!activation || !leadsOnlyTo(x, value))
      continue;
    epilogue.activation = activation;
    epilogue.last = value;
    return;
  }
}

/// cuBLASLt has a scale for each operand of f8.
static void matchScales(linalg::GenericOp op, Value x, size_t atMost,
                        Epilogue &epilogue) {
  while (epilogue.factors.size() < atMost) {
    std::optional<ScaleFactor> found = matchScale(op, x);
    if (!found)
      return;
    epilogue.factors.push_back(found->factor);
    epilogue.last = x = found->product;
  }
}

/// What the op does first with each element of the product that it reads, of up
/// to `numScales` scales.
static std::optional<Epilogue> matchEpilogue(OpOperand &product,
                                             size_t numScales) {
  auto op = dyn_cast<linalg::GenericOp>(product.getOwner());
  if (!op || !op.isDpsInput(&product))
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(&product);
  if (!map.isProjectedPermutation())
    return std::nullopt;
  Value x = op.getMatchingBlockArgument(&product);
  Epilogue epilogue;
  matchScales(op, x, numScales, epilogue);
  matchBias(op, epilogue.last ? epilogue.last : x, map, epilogue);
  matchActivation(op, epilogue.last ? epilogue.last : x, epilogue);
  if (!epilogue.last)
    return std::nullopt;
  return epilogue;
}

/// Whether cuBLASLt may compute the product: floats of 32 bits or less.
static bool isProduct(rt::EinsumOp op) {
  if (op->getNumResults() != 1 || !op->hasOneUse())
    return false;
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  return type.isF32() || type.isBF16() || type.isF16();
}

/// The product with the epilogue in it; `scales` have been found in front of
/// it.
static rt::EinsumOp makeFused(OpBuilder &builder, rt::EinsumOp product,
                              const Epilogue &epilogue, ValueRange scales) {
  Value bias;
  StringAttr letters;
  if (epilogue.bias) {
    bias = epilogue.bias->get();
    EinsumSpec spec = product.getTerms().spec;
    std::string text;
    for (int64_t dim : epilogue.biasDims)
      text += spec.result[dim];
    letters = builder.getStringAttr(text);
  }
  rt::ActivationAttr activation;
  if (epilogue.activation)
    activation =
        rt::ActivationAttr::get(builder.getContext(), *epilogue.activation);
  return rt::EinsumOp::create(
      builder, product.getLoc(), product.getResultTypes(), product.getLhs(),
      product.getRhs(), scales, bias, product.getOutput(),
      product.getSpecAttr(), letters, activation, product.getPlanAttr(),
      /*scratch=*/Value());
}

/// What the product takes.
static void tellFused(rt::EinsumOp product, const Epilogue &epilogue) {
  LDBG() << "the product at " << sourcePlace(product.getLoc()) << " takes "
         << epilogue.factors.size() << " scales, "
         << (epilogue.bias ? "a bias, " : "no bias, ")
         << (epilogue.activation ? rt::stringifyActivation(*epilogue.activation)
                                 : "no activation");
  ++numEpilogues;
  numBiases += epilogue.bias != nullptr;
  numActivations += epilogue.activation.has_value();
}

static rt::EinsumOp fuse(rt::EinsumOp product, OpOperand &use,
                         const Epilogue &epilogue, SmallVector<Value> scales) {
  tellFused(product, epilogue);
  auto op = cast<linalg::GenericOp>(use.getOwner());
  // Bias and scales may be made behind the product.
  OpBuilder builder(op);
  for (Value factor : epilogue.factors)
    scales.push_back(makeScale(builder, op, factor));
  rt::EinsumOp fused = makeFused(builder, product, epilogue, scales);
  Value x = op.getMatchingBlockArgument(&use);
  Value(epilogue.last).replaceAllUsesWith(x);
  use.set(fused->getResult(0));
  product.erase();
  return fused;
}

/// Where both operands are f8 but for a conversion and a scale, multiplies
/// these themselves: the scales, to multiply the product by.
static SmallVector<Value> takeFloat8Operands(rt::EinsumOp product) {
  OpBuilder builder(product);
  SmallVector<Value> scales;
  auto operands = matchDequantized(builder, product);
  if (!operands)
    return scales;
  product.getLhsMutable().set((*operands)[0].input);
  product.getRhsMutable().set((*operands)[1].input);
  for (const Dequantized &operand : *operands)
    if (operand.scale)
      scales.push_back(operand.scale);
  return scales;
}

/// Drops biases that no body reads any more, then ops that change nothing.
static LogicalResult dropUnusedBiases(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, func.getContext());
  return applyPatternsGreedily(func, std::move(patterns));
}

namespace {

struct FuseEpilogues : shoal::impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    SmallVector<rt::EinsumOp> products;
    getOperation().walk([&](rt::EinsumOp op) {
      if (isProduct(op))
        products.push_back(op);
      else
        LDBG() << "the product at " << sourcePlace(op.getLoc())
               << " is not of floats, or not read by one op alone";
    });
    for (rt::EinsumOp product : products)
      fuseAround(product);
    if (failed(dropUnusedBiases(getOperation())))
      return signalPassFailure();
  }

private:
  static void fuseAround(rt::EinsumOp product) {
    SmallVector<Value> scales = takeFloat8Operands(product);
    OpOperand &use = *product->use_begin();
    std::optional<Epilogue> epilogue;
    // A loop is not to multiply in every trip.
    if (use.getOwner()->getBlock() == product->getBlock())
      epilogue = matchEpilogue(use, product.isFloat8() ? 2 - scales.size() : 0);
    if (epilogue) {
      product = fuse(product, use, *epilogue, scales);
    } else {
      LDBG() << "nothing that the op at "
             << sourcePlace(use.getOwner()->getLoc())
             << " begins with goes into the product at "
             << sourcePlace(product.getLoc());
      product.getScalesMutable().assign(scales);
    }
    if (!product.isFloat8())
      return;
    ++numFloat8;
    if (std::optional<std::string> obstacle = findObstacle(product))
      emitRemark(product.getLoc())
          << "a product of f8 by floats of 16 bits, not by cuBLASLt's of 8 "
             "bits: "
          << *obstacle;
  }
};

} // namespace

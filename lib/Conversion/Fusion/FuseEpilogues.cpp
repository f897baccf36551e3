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
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

namespace {

/// The beginning of a body that the product in front of it can compute.
struct Epilogue {
  /// Of the body: what the product is multiplied by first.
  SmallVector<Value> factors;
  shoal_rt_activation activation = SHOAL_RT_NO_ACTIVATION;
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
    std::optional<shoal_rt_activation> activation = forms.match(value);
    if (!activation || !leadsOnlyTo(x, value))
      continue;
    epilogue.activation = *activation;
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

/// Whether cuBLASLt may compute the call: two operands, floats of 32 bits or
/// less. The descriptor: see shoal_rt_einsum in Runtime/ABI.h.
static bool isProduct(rt::CallOp call) {
  if (call.getCallee() != "einsum" || call.getInputs().size() != 2 ||
      call->getNumResults() != 1 || !call->hasOneUse())
    return false;
  Type type = getElementTypeOrSelf(call->getResult(0).getType());
  return type.isF32() || type.isBF16() || type.isF16();
}

/// desc of shoal_rt_einsum_scaled, shoal_rt_einsum_bias or
/// shoal_rt_einsum_activation.
static SmallVector<int64_t> describe(rt::CallOp call, const Epilogue &epilogue,
                                     size_t numScales) {
  SmallVector<int64_t> desc;
  if (numScales != 0)
    desc.push_back(static_cast<int64_t>(numScales));
  desc.push_back(epilogue.activation);
  if (numScales != 0 && !epilogue.bias)
    desc.push_back(0);
  if (epilogue.bias) {
    auto type = cast<RankedTensorType>(call->getResult(0).getType());
    ArrayRef<int64_t> letters = call.getDesc().take_back(type.getRank());
    desc.push_back(epilogue.biasDims.size());
    for (int64_t dim : epilogue.biasDims)
      desc.push_back(letters[dim]);
  }
  llvm::append_range(desc, call.getDesc());
  return desc;
}

/// The call with the epilogue in it; `scales` have been found in front of the
/// product.
static rt::CallOp makeFused(OpBuilder &builder, rt::CallOp call,
                            const Epilogue &epilogue, ValueRange scales) {
  SmallVector<Value> inputs(call.getInputs());
  llvm::append_range(inputs, scales);
  if (epilogue.bias)
    inputs.push_back(epilogue.bias->get());
  StringRef callee = !scales.empty() ? "einsum_scaled"
                     : epilogue.bias ? "einsum_bias"
                                     : "einsum_activation";
  return rt::CallOp::create(builder, call.getLoc(), call.getResultTypes(),
                            callee, describe(call, epilogue, scales.size()),
                            inputs, call.getOutputs(), /*in_place=*/false,
                            /*function=*/nullptr, /*collective=*/nullptr);
}

static rt::CallOp fuse(rt::CallOp call, OpOperand &product,
                       const Epilogue &epilogue, SmallVector<Value> scales) {
  auto op = cast<linalg::GenericOp>(product.getOwner());
  // Bias and scales may be made behind the product.
  OpBuilder builder(op);
  for (Value factor : epilogue.factors)
    scales.push_back(makeScale(builder, op, factor));
  rt::CallOp fused = makeFused(builder, call, epilogue, scales);
  Value x = op.getMatchingBlockArgument(&product);
  Value(epilogue.last).replaceAllUsesWith(x);
  product.set(fused->getResult(0));
  call.erase();
  return fused;
}

/// Where both operands are f8 but for a conversion and a scale, multiplies
/// these themselves: the scales, to multiply the product by.
static SmallVector<Value> takeFloat8Operands(rt::CallOp call) {
  OpBuilder builder(call);
  SmallVector<Value> scales;
  auto operands = matchDequantized(builder, call);
  if (!operands)
    return scales;
  SmallVector<int64_t> desc(call.getDesc());
  desc[0] = describeFloat8Pair((*operands)[0].input, (*operands)[1].input);
  call.setDesc(desc);
  for (auto [i, operand] : llvm::enumerate(*operands)) {
    call.getInputsMutable()[i].set(operand.input);
    if (operand.scale)
      scales.push_back(operand.scale);
  }
  return scales;
}

/// Drops biases that no body reads any more, then ops that change nothing.
static LogicalResult cleanUp(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, func.getContext());
  return applyPatternsGreedily(func, std::move(patterns));
}

namespace {

struct FuseEpilogues : shoal::impl::FuseEpiloguesBase<FuseEpilogues> {
  void runOnOperation() override {
    SmallVector<rt::CallOp> calls;
    getOperation().walk([&](rt::CallOp call) {
      if (isProduct(call))
        calls.push_back(call);
    });
    for (rt::CallOp call : calls)
      fuseAround(call);
    if (failed(cleanUp(getOperation())))
      return signalPassFailure();
  }

private:
  static void fuseAround(rt::CallOp call) {
    SmallVector<Value> scales = takeFloat8Operands(call);
    bool isFloat8 = isFloat8Product(call);
    OpOperand &use = *call->use_begin();
    std::optional<Epilogue> epilogue;
    // A loop is not to multiply in every trip.
    if (use.getOwner()->getBlock() == call->getBlock())
      epilogue = matchEpilogue(use, isFloat8 ? 2 - scales.size() : 0);
    if (epilogue) {
      call = fuse(call, use, *epilogue, scales);
    } else if (!scales.empty()) {
      OpBuilder builder(call);
      rt::CallOp fused = makeFused(builder, call, Epilogue(), scales);
      call->replaceAllUsesWith(fused);
      call.erase();
      call = fused;
    }
    if (!isFloat8)
      return;
    if (std::optional<std::string> obstacle = findObstacle(call))
      emitRemark(call.getLoc())
          << "a product of f8 by floats of 16 bits, not by cuBLASLt's of 8 "
             "bits: "
          << *obstacle;
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

namespace {

/// An einsum as loops. With two operands, or without a sum, the result's
/// letters go first.
struct EinsumLoops {
  explicit EinsumLoops(EinsumOp op);

  bool contracts() const { return letters.size() > spec.result.size(); }
  /// Row-wise work without reuse of data, which no matrix product would speed
  /// up: the loops run along contiguous memory and fuse with their neighbours.
  bool isRowwise() const;
  AffineMap mapOf(ArrayRef<char> term) const;

  EinsumSpec spec;
  llvm::SmallVector<char> letters;
  llvm::SmallVector<int64_t> sizes;
  MLIRContext *context;
};

} // namespace

EinsumLoops::EinsumLoops(EinsumOp op)
    : spec(op.getTerms()), context(op.getContext()) {
  llvm::SmallSetVector<char, 8> read;
  for (ArrayRef<char> term : spec.inputs)
    read.insert(term.begin(), term.end());
  llvm::SmallSetVector<char, 8> order;
  // A sum over one operand reads it in the order of memory. Letters are counted
  // and not dimensions: "abb->ba" sums nothing.
  if (spec.inputs.size() > 1 || read.size() == spec.result.size())
    order.insert(spec.result.begin(), spec.result.end());
  order.insert(read.begin(), read.end());
  letters.assign(order.begin(), order.end());
  sizes.resize(letters.size());
  for (auto [term, input] : llvm::zip_equal(spec.inputs, op.getInputs()))
    for (auto [letter, size] : llvm::zip_equal(
             term, cast<RankedTensorType>(input.getType()).getShape()))
      sizes[llvm::find(letters, letter) - letters.begin()] = size;
}

bool EinsumLoops::isRowwise() const {
  if (!contracts())
    return true;
  // One summed letter, the last one everywhere, and each operand has all the
  // letters of the result: "GSM,GSM->GS".
  if (letters.size() != spec.result.size() + 1)
    return false;
  return llvm::all_of(spec.inputs, [&](ArrayRef<char> term) {
    return term.size() == letters.size() && term.back() == letters.back() &&
           ArrayRef<char>(letters).drop_back() == term.drop_back();
  });
}

AffineMap EinsumLoops::mapOf(ArrayRef<char> term) const {
  SmallVector<AffineExpr> exprs;
  for (char letter : term)
    exprs.push_back(getAffineDimExpr(
        llvm::find(letters, letter) - letters.begin(), context));
  return AffineMap::get(letters.size(), 0, exprs, context);
}

/// The type of products and sums: the result's, but at least f32.
static Type getEinsumAccumulator(EinsumOp op) {
  return getAccumulator(ReduceKind::Sum,
                        getElementTypeOrSelf(op.getResult().getType()));
}

static Value multiply(OpBuilder &builder, Location loc, ValueRange factors,
                      Type type) {
  Value product = convertTo(builder, loc, factors[0], type);
  for (Value factor : factors.drop_front()) {
    Value next = convertTo(builder, loc, factor, type);
    product = createCombiner(builder, loc, ReduceKind::Prod, product, next);
  }
  return product;
}

static Value buildLoops(OpBuilder &builder, EinsumOp op,
                        const EinsumLoops &loops) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type accumulator = getEinsumAccumulator(op);
  SmallVector<AffineMap> maps;
  for (ArrayRef<char> term : loops.spec.inputs)
    maps.push_back(loops.mapOf(term));
  if (!loops.contracts()) {
    return makeParallel(
        builder, loc, type, op.getInputs(), maps,
        [&](OpBuilder &nested, ValueRange args) {
          Value product = multiply(nested, loc, args, accumulator);
          return convertTo(nested, loc, product, type.getElementType());
        });
  }
  maps.push_back(loops.mapOf(loops.spec.result));
  auto iterators = llvm::map_to_vector(loops.letters, [&](char letter) {
    return llvm::is_contained(loops.spec.result, letter)
               ? utils::IteratorType::parallel
               : utils::IteratorType::reduction;
  });
  Value zero = makeFilled(builder, loc, type.getShape(),
                          getIdentity(ReduceKind::Sum, accumulator));
  auto sum = linalg::GenericOp::create(
      builder, loc, zero.getType(), op.getInputs(), zero, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        Value product =
            multiply(nested, nestedLoc, args.drop_back(), accumulator);
        linalg::YieldOp::create(
            nested, nestedLoc,
            combine(nested, nestedLoc, ReduceKind::Sum, args.back(), product));
      });
  return convertTo(builder, loc, sum.getResult(0), type.getElementType());
}

namespace {

struct LowerEinsum : OpRewritePattern<EinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(EinsumOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, lower(rewriter, op));
    return success();
  }

  static Value lower(OpBuilder &builder, EinsumOp op) {
    EinsumLoops loops(op);
    // A sum over one operand is no product, and one over nothing is zero: loops
    // serve both best.
    if (loops.isRowwise() || op.getInputs().size() == 1 ||
        llvm::is_contained(loops.sizes, 0))
      return buildLoops(builder, op, loops);
    Type type = op.getResult().getType();
    Value output = makeOutput(builder, op.getLoc(), type);
    return rt::EinsumOp::create(builder, op.getLoc(), type, op.getInputs()[0],
                                op.getInputs()[1], /*scales=*/ValueRange(),
                                /*bias=*/Value(), output, op.getSpecAttr(),
                                /*bias_letters=*/StringAttr(),
                                /*activation=*/rt::ActivationAttr(),
                                /*plan=*/rt::ProductPlanAttr(),
                                /*scratch=*/Value())
        .getResult(0);
  }
};

} // namespace

Value shoal::lowerEinsum(OpBuilder &builder, Location loc, StringRef spec,
                         ValueRange inputs, RankedTensorType type) {
  auto op = EinsumOp::create(builder, loc, type, spec, inputs);
  Value result = LowerEinsum::lower(builder, op);
  op.erase();
  return result;
}

void shoal::populateContractionPatterns(RewritePatternSet &patterns,
                                        const ProgramNumbering &) {
  patterns.add<LowerEinsum>(patterns.getContext());
}

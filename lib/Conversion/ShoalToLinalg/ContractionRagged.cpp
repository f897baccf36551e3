// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Descriptor.h"
#include "Families.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using namespace shoal;

/// The runtime multiplies equal types, or small floats into f32.
static bool isRuntimePair(Type in, Type out) {
  return in == out || ((in.isBF16() || in.isF16()) && out.isF32());
}

static SmallVector<int64_t> describeRagged(RaggedEinsumOp op, Type element) {
  EinsumSpec spec = op.getTerms();
  SmallVector<char> letters;
  SmallVector<int64_t> sizes;
  auto add = [&](ArrayRef<char> term, Value value) {
    for (auto [letter, size] :
         llvm::zip_equal(term, cast<ShapedType>(value.getType()).getShape()))
      if (!llvm::is_contained(letters, letter)) {
        letters.push_back(letter);
        sizes.push_back(size);
      }
  };
  for (unsigned i = 0; i < 3; ++i)
    add(spec.inputs[i], op->getOperand(i));
  auto numberOf = [&](char letter) -> int64_t {
    return llvm::find(letters, letter) - letters.begin();
  };
  Descriptor desc;
  desc.addType(element).addType(op.getType()).addType(op.getBegins().getType());
  desc.add(letters.size()).add(sizes).add(numberOf(op.getRows().front()));
  for (ArrayRef<char> term :
       {ArrayRef<char>(spec.inputs[0]), ArrayRef<char>(spec.inputs[1]),
        ArrayRef<char>(spec.inputs[2]), ArrayRef<char>(spec.result)}) {
    desc.add(term.size());
    for (char letter : term)
      desc.add(numberOf(letter));
  }
  return SmallVector<int64_t>(desc.get());
}

namespace {

struct LowerRaggedEinsum : OpRewritePattern<RaggedEinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RaggedEinsumOp op,
                                PatternRewriter &rewriter) const override {
    Type result = op.getType().getElementType();
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    // 16 bits hold all of f8.
    if (isFloat8(element) && result.getIntOrFloatBitWidth() == 32)
      element = rewriter.getBF16Type();
    if (!isRuntimePair(element, result))
      element = result;
    auto convert = [&](Value value) {
      return convertTo(rewriter, op.getLoc(), value, element);
    };
    rewriter.replaceOp(
        op, makeRuntimeCall(rewriter, op.getLoc(), "ragged_einsum",
                            describeRagged(op, element),
                            {convert(op.getLhs()), convert(op.getRhs()),
                             op.getBegins(), op.getEnds()},
                            op.getType()));
    return success();
  }
};

} // namespace

void shoal::populateContractionRaggedPatterns(RewritePatternSet &patterns,
                                              const ProgramNumbering &) {
  patterns.add<LowerRaggedEinsum>(patterns.getContext());
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Collapses both shapes' dimensions to the finest common groups, then expands:
/// [2, 3, 4] -> [6, 2, 2] goes over [6, 4].
struct LowerReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  struct Grouping {
    SmallVector<ReassociationIndices> source, target;
    SmallVector<int64_t> shape;
  };

  /// Dimensions from `next` on whose product is a product of the other shape's
  /// from there, too. Trailing ones join the last group.
  static Grouping group(ArrayRef<int64_t> source, ArrayRef<int64_t> target) {
    Grouping groups;
    size_t i = 0, j = 0;
    while (i < source.size() && j < target.size()) {
      ReassociationIndices from{static_cast<int64_t>(i)};
      ReassociationIndices to{static_cast<int64_t>(j)};
      int64_t left = source[i++], right = target[j++];
      while (left != right) {
        if (left < right) {
          left *= source[i];
          from.push_back(i++);
        } else {
          right *= target[j];
          to.push_back(j++);
        }
      }
      groups.source.push_back(from);
      groups.target.push_back(to);
      groups.shape.push_back(left);
    }
    for (; i < source.size(); ++i)
      groups.source.back().push_back(i);
    for (; j < target.size(); ++j)
      groups.target.back().push_back(j);
    return groups;
  }

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = op.getInput();
    auto source = cast<RankedTensorType>(input.getType());
    RankedTensorType target = op.getType();
    if (target.getNumElements() == 0) {
      rewriter.replaceOp(op, makeEmpty(rewriter, loc, target.getShape(),
                                       target.getElementType()));
      return success();
    }
    Grouping groups;
    if (source.getRank() != 0 && target.getRank() != 0)
      groups = group(source.getShape(), target.getShape());
    RankedTensorType middle =
        RankedTensorType::get(groups.shape, source.getElementType());
    if (middle != source)
      input = tensor::CollapseShapeOp::create(rewriter, loc, middle, input,
                                              groups.source);
    if (middle != target)
      input = tensor::ExpandShapeOp::create(rewriter, loc, target, input,
                                            groups.target);
    rewriter.replaceOp(op, input);
    return success();
  }
};

} // namespace

void shoal::populateReshapePatterns(RewritePatternSet &patterns,
                                    const ProgramNumbering &) {
  patterns.add<LowerReshape>(patterns.getContext());
}

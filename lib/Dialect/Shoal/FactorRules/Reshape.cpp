// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The factor rule of reshape.

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Sharding/ReshapeGroups.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A place in one of the shapes: a dimension, and what of it is not yet
/// factored.
class Side {
public:
  Side(ArrayRef<int64_t> shape, DimFactors &dims, unsigned begin, unsigned end)
      : shape(shape), dims(dims), begin(begin), end(end), dim(begin),
        rest(shape[begin]) {}

  bool atEnd() const { return dim == end; }
  int64_t getRest() const { return rest; }
  void take(int64_t size, unsigned factor) {
    dims[dim].push_back(factor);
    rest /= size;
    while (rest == 1 && dim != end)
      rest = ++dim == end ? 1 : shape[dim];
  }

  int64_t majorSize() const { return shape[begin]; }
  /// Elements of the group that one row of the major dimension holds.
  int64_t unit() const {
    int64_t product = 1;
    for (int64_t size : shape.slice(begin + 1, end - begin - 1))
      product *= size;
    return product;
  }

private:
  ArrayRef<int64_t> shape;
  DimFactors &dims;
  unsigned begin, end, dim;
  int64_t rest;
};

/// The major dimensions of a group share a factor. Where it does not divide
/// evenly, or one size does not divide the other, blocks of one side are not
/// blocks of the other: devices fetch the elements that they lack. What
/// remains of the dimensions is split further only where it divides evenly:
/// 12 -> 3 x 4 has the factors 3 and 4.
struct Reshape : FactorRuleOpInterface::ExternalModel<Reshape, ReshapeOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReshapeOp>(operation);
    ArrayRef<int64_t> from = tensorTypeOf(op.getInput()).getShape();
    ArrayRef<int64_t> to = tensorTypeOf(op.getResult()).getShape();
    FactorRule rule;
    rule.operands.emplace_back(from.size());
    rule.results.emplace_back(to.size());
    if (llvm::is_contained(from, 0))
      return rule;
    for (const ReshapeGroup &group : groupDims(from, to)) {
      Side source(from, rule.operands[0], group.fromBegin, group.fromEnd);
      Side target(to, rule.results[0], group.toBegin, group.toEnd);
      addFactors(source, target, group.fromBegin, rule);
    }
    rule.linearIn.push_back({0});
    return rule;
  }

private:
  static void addFactors(Side &source, Side &target, unsigned dim,
                         FactorRule &rule) {
    bool isFirst = true, divides = true;
    while (divides && !source.atEnd() && !target.atEnd()) {
      int64_t a = source.getRest(), b = target.getRest();
      int64_t size = std::min(a, b);
      divides = a % size == 0 && b % size == 0;
      if (!divides && !isFirst)
        return;
      if (isFirst && (source.unit() != 1 || target.unit() != 1))
        rule.windows.push_back({0, dim, RowMap(), target.majorSize(),
                                target.unit(), source.unit()});
      unsigned factor = rule.factors.size();
      rule.factors.push_back({size, FactorKind::Parallel, std::nullopt,
                              /*needsEvenSplit=*/!isFirst});
      source.take(size, factor);
      target.take(size, factor);
      isFirst = false;
    }
  }
};

} // namespace

void shoal::registerReshapeFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReshapeOp::attachInterface<Reshape>(*context);
  });
}

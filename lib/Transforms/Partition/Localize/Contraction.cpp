// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The local form of ragged einsums.

#include "IndexMath.h"
#include "Models.h"
#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/AllGroups.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"

using namespace mlir;
using namespace shoal;

/// The local operand `index` with zeros for the padding of its summed letters,
/// those that neither the result nor `masked` has.
static Value zeroPadding(Localizer &l, unsigned index, const EinsumSpec &spec,
                         ArrayRef<char> masked = {}) {
  Value value = l.operands[index];
  SmallVector<int64_t> summed;
  for (auto [dim, letter] : llvm::enumerate(spec.inputs[index]))
    if (!llvm::is_contained(spec.result, letter) &&
        !llvm::is_contained(masked, letter))
      summed.push_back(dim);
  return l.maskPadding(
      value, shapeOf(l.op->getOperand(index)), l.operandShardings[index],
      summed, getIdentity(ReduceKind::Sum, typeOf(value).getElementType()));
}

namespace {

/// Bounds decide which rows and groups count, so that their padding needs no
/// zeros in operands: bounds are cut to the rows that exist, and groups that do
/// not exist are empty.
struct RaggedEinsum
    : LocalizeOpInterface::ExternalModel<RaggedEinsum, RaggedEinsumOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<RaggedEinsumOp>(operation);
    EinsumSpec spec = op.getTerms();
    char row = op.getRows().front();
    SmallVector<char> masked = llvm::to_vector(ArrayRef<char>(spec.inputs[2]));
    masked.push_back(row);
    Value lhs = zeroPadding(l, 0, spec, masked);
    Value rhs = zeroPadding(l, 1, spec, masked);
    Value begins = localBound(l, 2, spec, row);
    Value ends = localBound(l, 3, spec, row);
    auto local = RaggedEinsumOp::create(
        l.builder, l.getLoc(), l.localResultType(), op.getSpecAttr(),
        op.getRowsAttr(), lhs, rhs, begins, ends);
    int64_t groups = shapeOf(op.getBegins()).back();
    if (shapeOf(begins).back() != groups)
      local->setAttr(kAllGroupsAttr, l.builder.getI64IntegerAttr(groups));
    results.push_back(local);
    return success();
  }

private:
  /// Zero, and thus empty, for groups that are summed over and do not exist;
  /// counted from the device's first row.
  static Value localBound(Localizer &l, unsigned index, const EinsumSpec &spec,
                          char row) {
    Value bound = l.maskReduced(index);
    unsigned holder = llvm::is_contained(spec.inputs[0], row) ? 0 : 1;
    int64_t dim =
        llvm::find(spec.inputs[holder], row) - spec.inputs[holder].begin();
    ArrayRef<AxisId> axes = l.operandShardings[holder].dims[dim];
    if (axes.empty())
      return bound;
    IndexMath math(l);
    Value existing =
        math.clamp(math.widen(bound), shapeOf(l.op->getOperand(holder))[dim]);
    Value first = math.firstRow(axes, shapeOf(l.operands[holder])[dim]);
    return math.subtract(existing,
                         math.place(first, shapeOf(bound), /*dims=*/{}));
  }
};

} // namespace

void shoal::registerContractionLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    RaggedEinsumOp::attachInterface<RaggedEinsum>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

Term axisIndex(Terms &terms, Attribute mesh, Attribute axes) {
  Builder builder(terms.getContext());
  return terms.op<spmd::AxisIndexOp>(
      builder.getI32Type(), {},
      builder.getDictionaryAttr({builder.getNamedAttr("axes", axes),
                                 builder.getNamedAttr("mesh", mesh)}));
}

/// A number of the device, as those that count rows of all devices are made of:
/// no element of a tensor.
struct AxisIndex
    : ElementOpInterface::ExternalModel<AxisIndex, spmd::AxisIndexOp> {
  Term getElement(Operation *op, Terms &terms, unsigned /*result*/,
                  TermRange /*index*/) const {
    auto own = cast<spmd::AxisIndexOp>(op);
    return axisIndex(terms, own.getMeshAttr(), own.getAxesAttr());
  }
};

/// Rows past the operand's end are nobody's.
struct AllSlice
    : ElementOpInterface::ExternalModel<AllSlice, spmd::AllSliceOp> {
  std::optional<TermList> mapIndex(Operation *op, Terms &terms,
                                   TermRange index) const {
    auto slice = cast<spmd::AllSliceOp>(op);
    TermList map(index);
    for (auto [dim, axes] : llvm::enumerate(slice.getAxes())) {
      int64_t block = tensorType(slice.getResult()).getDimSize(dim);
      if (block == tensorType(slice.getInput()).getDimSize(dim))
        continue;
      Term place = axisIndex(terms, slice.getMeshAttr(), axes);
      map[dim] = terms.add(
          index[dim],
          terms.op<arith::MulIOp>(place->type, {place, terms.integer(block)}));
    }
    return map;
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerCollectivesElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, spmd::SpmdDialect *) {
    spmd::AllSliceOp::attachInterface<AllSlice>(*context);
    spmd::AxisIndexOp::attachInterface<AxisIndex>(*context);
  });
}

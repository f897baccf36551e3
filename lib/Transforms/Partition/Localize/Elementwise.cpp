// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Constant
    : LocalizeOpInterface::ExternalModel<Constant, arith::ConstantOp> {
  LogicalResult localize(Operation *op, Localizer &localizer,
                         SmallVectorImpl<Value> &results) const {
    auto splat =
        dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    if (!splat) {
      results.push_back(localizer.cloneLocally()->getResult(0));
      return success();
    }
    results.push_back(localizer.splat(localizer.localResultType(),
                                      splat.getSplatValue<Attribute>()));
    return success();
  }
};

} // namespace

void shoal::registerElementwiseLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<Constant>(*context);
  });
}

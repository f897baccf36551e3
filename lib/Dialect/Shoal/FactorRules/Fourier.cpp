// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

namespace {

/// The transformed dimension stays whole, as a sorted one does. It is one
/// factor where lines keep their size; else a factor of the operands and one of
/// the results.
struct Fft : FactorRuleOpInterface::ExternalModel<Fft, FftOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<FftOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInputs()[0]);
    int64_t rank = type.getRank(), dim = op.getDim();
    unsigned operands = op.getInputs().size(), results = op.getResults().size();
    FactorRuleBuilder builder(SmallVector<int64_t>(operands, rank),
                              SmallVector<int64_t>(results, rank));
    for (int64_t d = 0; d < rank; ++d) {
      SmallVector<int64_t> in(operands, d), out(results, d);
      int64_t size = type.getDimSize(d);
      if (d != dim) {
        builder.addFactor(size, in, out);
      } else if (operands == results) {
        builder.addFactor(size, in, out, FactorKind::Replicated);
      } else {
        builder.addFactor(size, in, SmallVector<int64_t>(results, -1),
                          FactorKind::Replicated);
        builder.addFactor(tensorTypeOf(op.getResults()[0]).getDimSize(dim),
                          SmallVector<int64_t>(operands, -1), out,
                          FactorKind::Replicated);
      }
    }
    SmallVector<unsigned> all = llvm::to_vector(llvm::seq(operands));
    return builder.linearIn(all).flops(countFlops(op, type)).build();
  }

  /// 5 N log2 N of a complex line, as libraries count; half of a real one.
  static double countFlops(FftOp op, RankedTensorType type) {
    double length = op.getLength();
    int64_t size = std::max<int64_t>(type.getDimSize(op.getDim()), 1);
    double lines = double(type.getNumElements()) / double(size);
    bool isComplex = op.getInputs().size() == op.getResults().size();
    return lines * (isComplex ? 5 : 2.5) * length *
           std::log2(std::max(length, 2.0));
  }
};

} // namespace

void shoal::registerFourierFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    FftOp::attachInterface<Fft>(*context);
  });
}

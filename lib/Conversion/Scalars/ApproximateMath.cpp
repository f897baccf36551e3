// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-approximate-math.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "shoal/Conversion/Scalars/Passes.h.inc"
} // namespace shoal

/// Functions whose polynomial is within 3e-7 of the value, relatively. Sine and
/// cosine are not: theirs reduce large arguments with an error of 1e-3.
static bool isAccurate(StringRef name) {
  return llvm::is_contained({"math.exp", "math.expm1", "math.log", "math.log1p",
                             "math.log2", "math.tanh", "math.erf", "math.erfc"},
                            name);
}

/// The polynomial of erf has 0.0 for -0.0. The function is odd, so that its
/// operand's sign is its own.
static void keepSign(math::ErfOp erf) {
  OpBuilder builder(erf->getContext());
  builder.setInsertionPointAfter(erf);
  auto sameSign = math::CopySignOp::create(builder, erf.getLoc(),
                                           erf.getResult(), erf.getOperand());
  erf.getResult().replaceAllUsesExcept(sameSign, sameSign);
}

namespace {

struct ApproximateMath : shoal::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    getOperation()->walk([](math::ErfOp erf) {
      if (getElementTypeOrSelf(erf.getType()).getIntOrFloatBitWidth() <= 32)
        keepSign(erf);
    });
    RewritePatternSet patterns(&getContext());
    populateMathF32ExpansionPatterns(patterns, isAccurate);
    populateMathPolynomialApproximationPatterns(patterns, isAccurate);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace

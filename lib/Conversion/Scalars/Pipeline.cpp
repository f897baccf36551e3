// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Utils/Cleanup.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildScalarsPipeline(OpPassManager &pm,
                                 const ScalarsOptions &options) {
  pm.addPass(createExpandMath());
  pm.addPass(math::createMathExtendToSupportedTypes());
  if (options.approximate)
    pm.addPass(createApproximateMath());
  // Narrow floats are computed in f32 and rounded after every operation.
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(createExpandNarrowFloats({options.keepConversions}));
  pm.addPass(createGuardDivision());
  addCleanup(pm);
  pm.addPass(createVerifyScalars({options.keepConversions}));
}

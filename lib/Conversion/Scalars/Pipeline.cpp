// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildScalarsPipeline(OpPassManager &pm,
                                 const ScalarsOptions &options) {
  // First: what it writes out is arithmetic in the operands' own types, which
  // all that follows has to see.
  pm.addPass(createExpandMath());
  // Functions of narrow floats are f32's between conversions: the emulation
  // below knows arithmetic alone, and polynomials are of f32.
  pm.addPass(math::createMathExtendToSupportedTypes());
  // Functions are there still, and all of f32 or wider: one polynomial each.
  if (options.approximate)
    pm.addPass(createApproximateMath());
  // Narrow floats are computed in f32 and rounded after every operation. All
  // arithmetic that there will be on them is there.
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  // The conversions that both have put around operations, and the program's.
  pm.addPass(createExpandNarrowFloats({options.keepConversions}));
  // Behind the expansions, some of which divide.
  pm.addPass(createGuardDivision());
  // Each operation got constants and conversions of its own: equal ones are one
  // before loops are made, which would keep them all.
  addCleanup(pm);
  // Loops and the back end rely on it that no narrow float is computed on.
  pm.addPass(createVerifyScalars({options.keepConversions}));
}

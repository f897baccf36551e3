// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/ScalarOperations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

/// An exponential takes about as long as so many additions.
constexpr double kMathOperations = 10;

/// How often a region of the op runs each time that the op does.
static double countIterations(Operation *op) {
  double iterations = 1;
  if (auto generic = dyn_cast<linalg::LinalgOp>(op)) {
    for (int64_t size : generic.getStaticLoopRanges())
      iterations *= ShapedType::isDynamic(size) ? 1 : size;
  } else if (auto loops = dyn_cast<LoopLikeOpInterface>(op)) {
    if (std::optional<APInt> trips = loops.getStaticTripCount())
      iterations = static_cast<double>(trips->getSExtValue());
  }
  return iterations;
}

/// Of one run of the op itself, without its regions.
static double countOwn(Operation *op) {
  if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op))
    return call.countOperations();
  if (isa<math::MathDialect>(op->getDialect()))
    return kMathOperations;
  bool computes = isa<arith::ArithDialect>(op->getDialect()) &&
                  !op->hasTrait<OpTrait::ConstantLike>();
  return computes ? 1 : 0;
}

double shoal::countScalarOperations(Operation *op) {
  double inner = 0;
  for (Region &region : op->getRegions())
    for (Operation &each : region.getOps())
      inner += countScalarOperations(&each);
  return countOwn(op) + inner * countIterations(op);
}

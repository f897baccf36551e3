// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpSeconds.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

static constexpr double kLaunchSeconds = 4e-6;
static constexpr double kMemoryBytesPerSecond = 3e12;
static constexpr double kCollectiveSeconds = 2e-5;
static constexpr double kLinkBytesPerSecond = 2e11;
/// Products of f32, and of narrower types on tensor cores.
static constexpr double kFlops = 5e13;
static constexpr double kNarrowFlops = 6e14;

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<MemRefType>(value.getType());
        type && type.hasStaticShape())
      bytes += sizeInBytes(type);
  return bytes;
}

/// The descriptor of an einsum without what is fused behind it.
static ArrayRef<int64_t> einsumPart(StringRef callee, ArrayRef<int64_t> desc) {
  if (callee == "einsum_activation") // its kind
    return desc.drop_front();
  if (callee == "einsum_bias") // the activation, a list of letters
    return desc.drop_front(2 + desc[1]);
  if (callee == "einsum_scaled") // scales, the activation, a list of letters
    return desc.drop_front(3 + desc[2]);
  return desc;
}

/// Multiplications of an einsum, whose descriptor has the sizes of the loops;
/// of a ragged_einsum those of rows that are in one group each, as rows x
/// columns x sum is the root of the product of the operands' elements. None of
/// other calls.
static double countTerms(rt::CallOp call) {
  StringRef callee = call.getCallee();
  ArrayRef<int64_t> desc = call.getDesc();
  double terms = 1;
  if (callee == "ragged_einsum") {
    auto weights = cast<MemRefType>(call.getInputs()[1].getType());
    auto bounds = cast<MemRefType>(call.getInputs()[2].getType());
    for (Value value : {call.getInputs()[0], call.getOutputs()[0]})
      terms *= cast<MemRefType>(value.getType()).getNumElements();
    terms *= weights.getNumElements();
    return std::sqrt(terms / std::max<int64_t>(bounds.getNumElements(), 1));
  }
  if (!callee.starts_with("einsum"))
    return 0;
  // [type in, type out, number of letters, size of each letter, ...]
  desc = einsumPart(callee, desc);
  if (desc.size() < 3 || static_cast<int64_t>(desc.size()) < 3 + desc[2])
    return 0;
  for (int64_t size : desc.slice(3, desc[2]))
    terms *= size;
  return terms;
}

/// What the op touches, an rt.kernel by its ops.
static int64_t bytesOf(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (isa<rt::KernelOp>(op))
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return bytesOf(values.getArrayRef());
}

double shoal::estimateSeconds(Operation *op) {
  int64_t bytes = bytesOf(op);
  auto call = dyn_cast<rt::CallOp>(op);
  if (call && call.getCollective()) {
    int64_t sent =
        std::max(bytesOf(call.getInputs()), bytesOf(call.getOutputs()));
    return kCollectiveSeconds + sent / kLinkBytesPerSecond;
  }
  double terms = call ? countTerms(call) : 0;
  double seconds = bytes / kMemoryBytesPerSecond;
  if (terms > 0) {
    Type element = getElementTypeOrSelf(call.getInputs()[0].getType());
    bool isNarrow =
        isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
    double flops = isNarrow ? kNarrowFlops : kFlops;
    seconds = std::max(seconds, 2 * terms / flops);
  }
  return kLaunchSeconds + seconds;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PreparedEinsum.h"

namespace shoal::rt {

EinsumSpec specOf(const EinsumCall &call) {
  EinsumSpec spec{call.typesIn[0], std::nullopt,  call.typeOut,
                  call.sizes,      call.operands, call.result};
  if (call.typesIn.back() != spec.typeIn)
    spec.otherIn = call.typesIn.back();
  if (support::isFloat(spec.typeIn) != support::isFloat(spec.typeOut))
    fatal("einsum from " + std::string(elementTypeName(spec.typeIn)) + " to " +
          std::string(elementTypeName(spec.typeOut)) + " is not supported");
  return spec;
}

EinsumBuffers takeBuffers(const EinsumCall &call, va_list arguments) {
  EinsumBuffers buffers;
  for (size_t i = 0; i < call.operands.size(); ++i)
    buffers.operands[i] = va_arg(arguments, const void *);
  for (int64_t i = 0; i < call.numScales; ++i)
    buffers.scales[i] = va_arg(arguments, const void *);
  if (call.bias)
    buffers.bias = va_arg(arguments, const void *);
  buffers.out = va_arg(arguments, void *);
  return buffers;
}

int64_t elementsOf(const EinsumSpec &spec, const Letters &letters) {
  int64_t count = 1;
  for (int64_t letter : letters)
    count *= spec.sizes[letter];
  return count;
}

/// One operand: a copy, or a sum as a product by one.
static void prepareUnary(PreparedEinsum &prepared) {
  const EinsumSpec &spec = prepared.spec;
  std::vector<int64_t> in = letterStrides(spec, spec.operands[0]);
  std::vector<int64_t> out = letterStrides(spec, spec.result);
  LoopProduct &loops = prepared.sum;
  loops = {{}, {}, spec.typeIn, spec.typeOut};
  for (size_t l = 0; l < spec.sizes.size(); ++l) {
    Loop<3> loop{spec.sizes[l], {in[l], 0, out[l]}};
    bool kept = contains(spec.result, static_cast<int64_t>(l));
    (kept ? loops.outer : loops.summed).push_back(loop);
    if (kept)
      prepared.copy.push_back({loop.size, {in[l], out[l]}});
  }
  prepared.isCopy = simplify(loops.summed, 0).empty();
}

/// Kernels take equal types, or a small float into f32, or f8 into any of them.
static void useComputeTypes(PreparedEinsum &prepared) {
  EinsumSpec &spec = prepared.spec;
  ElementType in = spec.typeIn, out = spec.typeOut, compute = computeType(spec);
  bool small = support::isSmallFloat(in) && out == ElementType::F32;
  bool small8 = support::isFloat8(in) && support::isSmallFloat(out);
  if (in == out || small || small8)
    return;
  prepared.declaredTypes = {{spec.typeOf(0), spec.typeOf(1)}, out};
  spec.typeIn = spec.typeOut = compute;
  spec.otherIn.reset();
}

PreparedEinsum prepareEinsum(const EinsumCall &call,
                             const ProductModel &model) {
  PreparedEinsum prepared;
  prepared.call = call;
  prepared.spec = specOf(call);
  useComputeTypes(prepared);
  const EinsumSpec &spec = prepared.spec;
  prepared.resultElements = elementsOf(spec, spec.result);
  prepared.emptySum = contains(spec.sizes, 0);
  if (prepared.emptySum)
    return prepared;
  if (spec.operands.size() == 1)
    prepareUnary(prepared);
  else
    prepared.product = BinaryEinsum(spec,
                                    {letterStrides(spec, spec.operands[0]),
                                     letterStrides(spec, spec.operands[1])},
                                    model);
  return prepared;
}

const PreparedEinsum &lookUpEinsum(const int64_t *desc,
                                   const ProductModel &model) {
  static PlanCache<PreparedEinsum> plans;
  return plans.get<EinsumCall>(
      desc, [&](const EinsumCall &call) { return prepareEinsum(call, model); });
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What products are to the runtime: their descriptors, plans and scratch.

#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Products/RaggedProduct.h"
#include "shoal/Products/VerifyPlan.h"

using namespace mlir;

namespace shoal::rt {

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

products::EinsumSpec EinsumOp::getProduct() {
  ProductTerms terms = getTerms();
  return {
      {{encodeType(getLhs().getType()), encodeType(getRhs().getType())},
       encodeType(getOutput().getType())},
      std::vector<int64_t>(terms.sizes.begin(), terms.sizes.end()),
      {terms.encode(terms.spec.inputs[0]), terms.encode(terms.spec.inputs[1])},
      terms.encode(terms.spec.result)};
}

static calls::Activation
encodeActivation(std::optional<Activation> activation) {
  if (!activation)
    return calls::Activation::None;
  return *activation == Activation::Relu ? calls::Activation::Relu
                                         : calls::Activation::Gelu;
}

static calls::EinsumCall describe(EinsumOp op) {
  assert(op.getPlan() && "products are planned by now");
  products::EinsumSpec spec = op.getProduct();
  calls::EinsumCall call = products::makeCall(spec, op.getPlan()->getPlan());
  call.numScales = static_cast<int64_t>(op.getScales().size());
  if (std::optional<StringRef> letters = op.getBiasLetters())
    call.bias = products::biasLoops(
        spec, op.getTerms().encode(ArrayRef(letters->data(), letters->size())));
  call.activation = encodeActivation(op.getActivation());
  return call;
}

/// (C6), (C7)
LogicalResult EinsumOp::verifyPlan() {
  std::optional<ProductPlanAttr> plan = getPlan();
  if (!plan)
    return success();
  if (auto fault = products::verifyPlan(getProduct(), plan->getPlan()))
    return emitOpError("plan: ") << fault->message;
  if (!getScratch())
    return success();
  int64_t bytes = getScratch().getType().getNumElements();
  int64_t needed = scratchBytes(describe(*this), plan->getPlan().isDevice);
  if (bytes < needed)
    return emitOpError("scratch: expected ")
           << needed << " bytes or more but got " << bytes;
  return success();
}

std::vector<int64_t> EinsumOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

/// Without a plan nobody knows; it is not lowered then.
int64_t EinsumOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return getPlan() ? scratchBytes(describe(*this), onDevice) : 0;
}

//===----------------------------------------------------------------------===//
// ragged_einsum
//===----------------------------------------------------------------------===//

static calls::RaggedEinsumCall describe(RaggedEinsumOp op) {
  ProductTerms terms = op.getTerms();
  calls::RaggedEinsumCall call;
  call.typeIn = encodeType(op.getLhs().getType());
  call.typeOut = encodeType(op.getOutput().getType());
  call.boundType = encodeType(op.getBegins().getType());
  call.sizes.assign(terms.sizes.begin(), terms.sizes.end());
  call.rowLetter = terms.numberOf(op.getRows().front());
  const EinsumSpec &spec = terms.spec;
  call.terms = {terms.encode(spec.inputs[0]), terms.encode(spec.inputs[1]),
                terms.encode(spec.inputs[2]), terms.encode(spec.result)};
  return call;
}

std::vector<int64_t> RaggedEinsumOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t RaggedEinsumOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return scratchBytes(describe(*this), onDevice);
}

} // namespace shoal::rt

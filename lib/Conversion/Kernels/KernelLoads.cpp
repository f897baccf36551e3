// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a kernel reads through indices.

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

Value KernelEmitter::addTerms(Value address, const CapturedLoad &load,
                              llvm::function_ref<Value(Value)> valueOf) {
  for (auto [value, stride] : load.terms)
    address = add(address, mul(fromIndex(valueOf(value)), stride));
  return address;
}

Value KernelEmitter::loadCaptured(memref::LoadOp loadOp,
                                  ArrayRef<Value> indices,
                                  const IRMapping &values) {
  const CapturedLoad *found = llvm::find_if(
      loads, [&](const CapturedLoad &load) { return load.op == loadOp; });
  unsigned number = op->getNumOperands() + (found - loads.begin());
  return load(number,
              addTerms(address(number, indices), *found, [&](Value value) {
                return values.lookupOrDefault(value);
              }));
}

Value KernelEmitter::evaluate(Value value, ArrayRef<Value> indices,
                              IRMapping &known) {
  if (Value found = known.lookupOrNull(value))
    return found;
  Operation *made = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(made)) {
    known.map(value, toIndex(loopIndex(index.getDim(), indices)));
    return known.lookup(value);
  }
  for (Value operand : made->getOperands())
    evaluate(operand, indices, known);
  builder.clone(*made, known);
  return known.lookup(value);
}

KernelEmitter::CapturedValues
KernelEmitter::loadCapturedVectors(ArrayRef<Value> indices,
                                   ArrayRef<Values> operands) {
  CapturedValues captured;
  if (schedule.vector == 1)
    return captured;
  IRMapping known = mapping;
  for (auto [argument, values] :
       llvm::zip_equal(op.getBody()->getArguments(), operands))
    if (values.front())
      known.map(argument, values.front());
  for (auto [place, load] : llvm::enumerate(loads)) {
    unsigned number = op->getNumOperands() + place;
    if (nest.accesses[number].jumpsAlong(*schedule.getDenseLoop()))
      continue;
    Value first = addTerms(address(number, indices), load, [&](Value value) {
      return evaluate(value, indices, known);
    });
    Values values = loadVectorAt(number, first);
    known.map(load.op->getResult(0), values.front());
    captured[load.op] = values;
  }
  return captured;
}

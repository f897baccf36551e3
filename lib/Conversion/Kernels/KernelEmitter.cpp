// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"
#include "../Device/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

Type shoal::getStorageType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

KernelEmitter::KernelEmitter(linalg::GenericOp op, const LoopNest &nest,
                             const KernelSchedule &schedule,
                             gpu::GPUFuncOp kernel, Values buffers,
                             const IRMapping &mapping)
    : op(op), nest(nest), schedule(schedule), builder(op.getContext()),
      loc(op.getLoc()), kernel(kernel), buffers(std::move(buffers)),
      mapping(mapping),
      integer(schedule.usesInt32 ? builder.getI32Type() : builder.getI64Type()),
      loads(findCapturedLoads(op)) {
  builder.setInsertionPoint(kernel.getBody().back().getTerminator());
}

//===----------------------------------------------------------------------===//
// Indices and addresses
//===----------------------------------------------------------------------===//

Values KernelEmitter::zeroIndices() {
  return nest.loops.empty() ? Values() : Values(nest.loops.size(), constant(0));
}

void KernelEmitter::setIndices(Value number, ArrayRef<unsigned> loops,
                               int64_t lastStep, Values &indices) {
  for (size_t place = loops.size(); place-- > 0;) {
    unsigned loop = loops[place];
    int64_t step = place + 1 == loops.size() ? lastStep : 1;
    int64_t range = nest.loops[loop].range / step;
    indices[loop] = mul(place == 0 ? number : rem(number, range), step);
    if (place != 0)
      number = div(number, range);
  }
}

Values KernelEmitter::moved(ArrayRef<Value> indices, int64_t elements) {
  Values result(indices);
  if (elements != 0) {
    Value &dense = result[*schedule.getDenseLoop()];
    dense = add(dense, constant(elements));
  }
  return result;
}

Value KernelEmitter::address(unsigned operand, ArrayRef<Value> indices) {
  const Access &access = nest.accesses[operand];
  Value sum;
  for (auto [index, stride] : llvm::zip_equal(indices, access.strides)) {
    if (stride == 0)
      continue;
    Value term = mul(index, stride);
    sum = sum ? add(sum, term) : term;
  }
  if (!sum)
    return constant(access.offset);
  return access.offset == 0 ? sum : add(sum, constant(access.offset));
}

Value KernelEmitter::loopIndex(unsigned number, ArrayRef<Value> indices) {
  const IndexOrigin &origin = nest.indices[number];
  if (!origin.loop)
    return constant(0);
  Value index = div(indices[*origin.loop], origin.divisor);
  bool isOuter =
      origin.divisor * origin.range == nest.loops[*origin.loop].range;
  return isOuter ? index : rem(index, origin.range);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type KernelEmitter::elementType(unsigned operand) const {
  unsigned operands = op->getNumOperands();
  if (operand >= operands) {
    memref::LoadOp load = loads[operand - operands].op;
    return load.getType();
  }
  return getElementTypeOrSelf(op->getOperand(operand).getType());
}

Value KernelEmitter::convert(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, value);
  return arith::ExtUIOp::create(builder, loc, type, value);
}

Value KernelEmitter::load(unsigned operand, Value address) {
  Value value =
      memref::LoadOp::create(builder, loc, buffers[operand], toIndex(address));
  return convert(value, elementType(operand));
}

void KernelEmitter::store(unsigned operand, Value address, Value value) {
  value = convert(value, getStorageType(elementType(operand)));
  memref::StoreOp::create(builder, loc, value, buffers[operand],
                          toIndex(address));
}

Values KernelEmitter::withoutMemory(unsigned operand) {
  return Values(schedule.vector, mapping.lookupOrNull(op->getOperand(operand)));
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

Values KernelEmitter::runBody(ArrayRef<Value> indices,
                              ArrayRef<Value> arguments,
                              const CapturedValues &captured, int64_t element) {
  IRMapping local = mapping;
  Block *body = op.getBody();
  for (auto [parameter, argument] :
       llvm::zip_equal(body->getArguments(), arguments))
    if (argument)
      local.map(parameter, argument);
  llvm::SmallDenseMap<uint64_t, Value> loopIndices;
  body->walk([&](linalg::IndexOp index) {
    Value &value = loopIndices[index.getDim()];
    if (!value)
      value = toIndex(loopIndex(index.getDim(), indices));
    local.map(index.getResult(), value);
  });
  for (Operation &inner : body->without_terminator()) {
    if (isa<linalg::IndexOp>(inner))
      continue;
    if (auto load = dyn_cast<memref::LoadOp>(inner)) {
      auto found = captured.find(load);
      local.map(load.getResult(), found != captured.end()
                                      ? found->second[element]
                                      : loadCaptured(load, indices, local));
      continue;
    }
    builder.clone(inner, local)->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(loopIndices[index.getDim()]);
      index.erase();
    });
  }
  Values results;
  for (Value value : body->getTerminator()->getOperands())
    results.push_back(local.lookupOrDefault(value));
  return results;
}

unsigned KernelEmitter::operandOf(unsigned result) {
  return op.getNumDpsInputs() + result;
}

ResultKind KernelEmitter::kindOf(unsigned result) {
  return nest.getResultKind(nest.accesses[operandOf(result)]);
}

SmallVector<unsigned> KernelEmitter::reducedResults() {
  SmallVector<unsigned> results;
  for (int64_t result = 0; result < op.getNumDpsInits(); ++result)
    if (kindOf(result) == ResultKind::Reduced)
      results.push_back(result);
  return results;
}

Values KernelEmitter::neutralElements() {
  Values values;
  for (unsigned result : reducedResults())
    values.push_back(arith::ConstantOp::create(
        builder, loc, getNeutralElement(matchCombiner(op, result))));
  return values;
}

Values KernelEmitter::combineSums(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  Values values;
  for (auto [result, a, b] : llvm::zip_equal(reducedResults(), lhs, rhs))
    values.push_back(combine(builder, matchCombiner(op, result), a, b));
  return values;
}

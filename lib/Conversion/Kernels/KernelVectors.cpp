// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Neighbouring elements of the dense loop, which a thread takes at once.

#include "../Device/Combiner.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

static bool isOneAccess(const KernelEmitter &emitter, unsigned operand) {
  const KernelSchedule &schedule = emitter.schedule;
  return schedule.vector > 1 &&
         isVectorAccess(emitter.nest, emitter.nest.accesses[operand],
                        *schedule.getDenseLoop(), schedule.vector);
}

Values KernelEmitter::loadVector(unsigned operand, ArrayRef<Value> indices) {
  return loadVectorAt(operand, address(operand, indices));
}

Values KernelEmitter::loadVectorAt(unsigned operand, Value first) {
  const Access &access = nest.accesses[operand];
  if (isOneAccess(*this, operand)) {
    Type type = getStorageType(elementType(operand));
    Value vector = vector::LoadOp::create(
        builder, loc, VectorType::get(schedule.vector, type), buffers[operand],
        toIndex(first), /*nontemporal=*/false,
        llvm::MaybeAlign(schedule.vector * access.elementBytes));
    Values values;
    for (int64_t i = 0; i < schedule.vector; ++i)
      values.push_back(
          convert(vector::ExtractOp::create(builder, loc, vector, i),
                  elementType(operand)));
    return values;
  }
  std::optional<unsigned> dense = schedule.getDenseLoop();
  int64_t stride = dense ? access.strides[*dense] : 0;
  if (stride == 0)
    return Values(schedule.vector, load(operand, first));
  Values values;
  for (int64_t i = 0; i < schedule.vector; ++i)
    values.push_back(load(operand, add(first, constant(i * stride))));
  return values;
}

void KernelEmitter::storeVector(unsigned operand, ArrayRef<Value> indices,
                                ArrayRef<Value> values) {
  const Access &access = nest.accesses[operand];
  Value first = address(operand, indices);
  if (!isOneAccess(*this, operand)) {
    std::optional<unsigned> dense = schedule.getDenseLoop();
    int64_t stride = dense ? access.strides[*dense] : 0;
    for (auto [i, value] : llvm::enumerate(values))
      store(operand, add(first, constant(i * stride)), value);
    return;
  }
  Type type = getStorageType(elementType(operand));
  Values stored;
  for (Value value : values)
    stored.push_back(convert(value, type));
  Value vector = vector::FromElementsOp::create(
      builder, loc, VectorType::get(schedule.vector, type), stored);
  vector::StoreOp::create(
      builder, loc, vector, buffers[operand], toIndex(first),
      /*nontemporal=*/false,
      llvm::MaybeAlign(schedule.vector * access.elementBytes));
}

Value KernelEmitter::loadInitial(unsigned result, ArrayRef<Value> indices) {
  if (TypedAttr value = getInitial(op, result))
    return arith::ConstantOp::create(builder, loc, value);
  unsigned operand = operandOf(result);
  return load(operand, address(operand, indices));
}

Values KernelEmitter::loadInitialVector(unsigned result,
                                        ArrayRef<Value> indices) {
  if (getInitial(op, result))
    return Values(schedule.vector, loadInitial(result, indices));
  return loadVector(operandOf(result), indices);
}

/// The arguments of the body for element `i` of the vector: what is in memory
/// as it was loaded, the reduced results as `sums` has them.
static Values takeArguments(KernelEmitter &e, ArrayRef<Values> operands,
                            int64_t i, ArrayRef<Value> sums) {
  Values arguments;
  for (const Values &values : operands)
    arguments.push_back(values[i]);
  for (auto [result, sum] : llvm::zip_equal(e.reducedResults(), sums))
    arguments[e.operandOf(result)] = sum;
  return arguments;
}

void KernelEmitter::runVector(ArrayRef<Value> indices, Values &sums,
                              bool areApart) {
  SmallVector<unsigned> reduced = reducedResults();
  SmallVector<Values> operands, results(op.getNumDpsInits());
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
    const Access &access = nest.accesses[operand];
    bool isSum =
        access.isWritten && nest.getResultKind(access) == ResultKind::Reduced;
    operands.push_back(access.isRead && !isSum ? loadVector(operand, indices)
                                               : withoutMemory(operand));
  }
  CapturedValues captured = loadCapturedVectors(indices, operands);
  for (int64_t i = 0; i < schedule.vector; ++i) {
    MutableArrayRef<Value> own = sums;
    if (areApart)
      own = own.slice(i * reduced.size(), reduced.size());
    Values yielded = runBody(
        moved(indices, i), takeArguments(*this, operands, i, own), captured, i);
    for (auto [sum, result] : llvm::zip_equal(own, reduced))
      sum = yielded[result];
    for (auto [result, value] : llvm::zip_equal(results, yielded))
      result.push_back(value);
  }
  for (auto [number, values] : llvm::enumerate(results))
    if (!llvm::is_contained(reduced, number))
      storeVector(operandOf(number), indices, values);
}

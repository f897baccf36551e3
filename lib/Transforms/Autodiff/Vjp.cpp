// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Autodiff/Vjp.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"

using namespace mlir;
using namespace shoal;

void Cotangents::add(TensorBuilder &b, Value value, Value addend) {
  assert(value.getType() == addend.getType() &&
         "a cotangent has its value's type");
  Value &sum = sums[value];
  sum = sum ? b.add(sum, addend) : addend;
}

void Cotangents::addAt(TensorBuilder &b, Value value, ValueRange starts,
                       Value addend) {
  Value &sum = sums[value];
  Type type = value.getType();
  Value there = addend;
  if (sum)
    there = b.add(DynamicSliceOp::create(b, addend.getType(), sum, starts,
                                         tensorTypeOf(addend).getShape()),
                  addend);
  sum = DynamicUpdateSliceOp::create(b, type, sum ? sum : b.zeros(type), there,
                                     starts);
}

Vjp::Vjp(Operation *op, OpBuilder &builder, Cotangents &cotangents,
         const llvm::DenseSet<Value> &active,
         SmallVectorImpl<Operation *> &retired)
    : op(op), b(noteGradient(op->getLoc()), builder), cotangents(cotangents),
      active(active), retired(retired) {}

Value Vjp::cotangentOrZero(unsigned result) {
  Value g = cotangent(result);
  return g ? g : b.zeros(op->getResult(result).getType());
}

void Vjp::add(Value value, Value addend) {
  if (addend && wants(value))
    cotangents.add(b, value, addend);
}

void Vjp::addAt(unsigned operand, ValueRange starts, Value addend) {
  if (addend && wants(operand))
    cotangents.addAt(b, op->getOperand(operand), starts, addend);
}

void Vjp::replaceForward(ValueRange results) {
  op->replaceAllUsesWith(results);
  retired.push_back(op);
}

InFlightDiagnostic Vjp::refuse(const Twine &why) {
  InFlightDiagnostic error = op->emitOpError(why);
  noteConnection(error, op, active);
  return error;
}

void shoal::noteConnection(InFlightDiagnostic &error, Operation *op,
                           const llvm::DenseSet<Value> &active) {
  Value value;
  Operation *maker = op;
  while (maker) {
    auto it = llvm::find_if(maker->getOperands(),
                            [&](Value v) { return active.contains(v); });
    if (it == maker->getOperands().end())
      break;
    value = *it;
    maker = value.getDefiningOp();
  }
  if (auto argument = dyn_cast_if_present<BlockArgument>(value))
    error.attachNote(argument.getLoc())
        << "the gradient is taken with respect to argument "
        << argument.getArgNumber();
  error.attachNote(op->getBlock()->getTerminator()->getLoc())
      << "of an output that depends on it";
}

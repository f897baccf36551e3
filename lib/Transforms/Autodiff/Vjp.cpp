// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Autodiff/Vjp.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"

using namespace mlir;
using namespace shoal;

Value shoal::convertGradient(TensorBuilder &b, Value gradient, Type element) {
  RankedTensorType type = tensorTypeOf(gradient);
  if (type.getElementType() == element)
    return gradient;
  auto product = gradient.getDefiningOp<EinsumOp>();
  if (product && element.isF32() && type.getElementTypeBitWidth() < 32)
    return EinsumOp::create(b, type.clone(element), product.getSpec(),
                            product.getInputs());
  return b.convert(gradient, element);
}

void Cotangents::seed(TensorBuilder &b, Value value, Value cotangent) {
  Value &sum = sums[value];
  if (!sum) {
    sum = cotangent;
    return;
  }
  // What a loop reads from outside is summed wide, and may be what it yields,
  // whose cotangent is as narrow as it is.
  Type element = getElementTypeOrSelf(sum),
       other = getElementTypeOrSelf(cotangent);
  if (other.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    element = other;
  sum = b.add(convertGradient(b, sum, element),
              convertGradient(b, cotangent, element));
}

void Cotangents::add(TensorBuilder &b, Value value, Value addend) {
  Value sum = of(value);
  Type element = getElementTypeOrSelf(sum ? sum : value);
  seed(b, value, convertGradient(b, addend, element));
}

void Cotangents::addAt(TensorBuilder &b, Value value, ValueRange starts,
                       Value addend) {
  Value &sum = sums[value];
  Type type = (sum ? sum : value).getType();
  Value there = convertGradient(b, addend, getElementTypeOrSelf(type));
  if (sum)
    there = b.add(DynamicSliceOp::create(b, there.getType(), sum, starts,
                                         tensorTypeOf(addend).getShape()),
                  there);
  sum = DynamicUpdateSliceOp::create(b, type, sum ? sum : b.zeros(type), there,
                                     starts);
}

void Cotangents::addRows(Value value, int64_t dim, int64_t begin,
                         Value addend) {
  SmallVector<Rows> &parts = rows[value];
  parts.push_back({dim, begin, parts.size(), addend});
}

int64_t Cotangents::Rows::end() const {
  return begin + tensorTypeOf(addend).getDimSize(dim);
}

void Cotangents::addPadded(TensorBuilder &b, Value value, const Rows &part) {
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> low(type.getRank()), high(type.getRank()),
      interior(type.getRank());
  low[part.dim] = part.begin;
  high[part.dim] = type.getDimSize(part.dim) - part.end();
  add(b, value, b.pad(part.addend, low, high, interior));
}

void Cotangents::join(TensorBuilder &b, Value value) {
  auto found = rows.find(value);
  if (found == rows.end())
    return;
  SmallVector<Rows> parts = std::move(found->second);
  rows.erase(found);
  // Parts of equal rows stay in the order in which they came.
  llvm::sort(parts, [](const Rows &one, const Rows &other) {
    return std::tuple(one.begin, one.end(), one.number) <
           std::tuple(other.begin, other.end(), other.number);
  });
  // Side by side, with zeros between; what overlaps them is added by itself.
  SmallVector<Rows> row, others;
  for (const Rows &part : parts) {
    bool isFirst = row.empty();
    if (!isFirst && part.dim == row.back().dim &&
        part.begin == row.back().begin && part.end() == row.back().end())
      row.back().addend = b.add(row.back().addend, part.addend);
    else if (isFirst ||
             (part.dim == row.back().dim && part.begin >= row.back().end()))
      row.push_back(part);
    else
      others.push_back(part);
  }
  if (row.size() > 1) {
    RankedTensorType type = tensorTypeOf(value);
    int64_t dim = row.front().dim, at = 0;
    SmallVector<Value> pieces;
    auto fillTo = [&](int64_t place) {
      SmallVector<int64_t> sizes(type.getShape());
      sizes[dim] = place - at;
      if (place > at)
        pieces.push_back(b.zeros(type.clone(sizes)));
    };
    for (const Rows &part : row) {
      fillTo(part.begin);
      pieces.push_back(part.addend);
      at = part.end();
    }
    fillTo(type.getDimSize(dim));
    add(b, value, b.concatenate(pieces, dim));
  } else if (!row.empty()) {
    addPadded(b, value, row.front());
  }
  for (const Rows &part : others)
    addPadded(b, value, part);
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

void Vjp::addRows(unsigned operand, int64_t dim, int64_t begin, Value addend) {
  if (addend && wants(operand))
    cotangents.addRows(op->getOperand(operand), dim, begin, addend);
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
        << "the gradient is taken with respect to "
        << describePlace(argument.getOwner()->getParentOp(), "argument",
                         argument.getArgNumber());
  error.attachNote(op->getBlock()->getTerminator()->getLoc())
      << "of an output that depends on it";
}

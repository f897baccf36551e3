// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ragged_einsum and ragged_dot.

#include "EinsumTerms.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

using namespace mlir;
using namespace shoal;

static bool isIn(char letter, ArrayRef<char> term) {
  return llvm::is_contained(term, letter);
}

/// (R1), but for ranks and sizes: three terms of distinct letters.
static FailureOr<EinsumSpec> parseRaggedSpec(Operation *op, StringRef text) {
  std::string error;
  std::optional<EinsumSpec> spec = EinsumSpec::parse(text, error);
  auto fail = [&] { return op->emitOpError() << "spec \"" << text << "\": "; };
  if (!spec)
    return fail() << error;
  if (spec->inputs.size() != 3)
    return fail() << "expected 3 terms, of both operands and the groups, but "
                     "got "
                  << spec->inputs.size();
  for (auto [i, term] : llvm::enumerate(spec->inputs))
    for (char letter : term)
      if (llvm::count(term, letter) > 1)
        return fail() << "letter '" << StringRef(&letter, 1)
                      << "' occurs twice in term " << i;
  if (spec->inputs[2].empty())
    return fail() << "the third term has no letter for the groups";
  return *spec;
}

/// (R2)
static LogicalResult verifyRows(Operation *op, const EinsumSpec &spec,
                                StringRef rows) {
  ArrayRef<char> lhs = spec.inputs[0], rhs = spec.inputs[1],
                 groups = spec.inputs[2];
  if (rows.size() != 1)
    return op->emitOpError()
           << "rows \"" << rows << "\": expected one letter but got "
           << rows.size();
  char row = rows.front();
  if ((!isIn(row, lhs) && !isIn(row, rhs)) || isIn(row, groups))
    return op->emitOpError() << "rows \"" << rows
                             << "\": expected a letter of an operand that the "
                                "third term lacks";
  return success();
}

/// (R3) for bounds or sizes.
static LogicalResult verifyCounts(Operation *op, unsigned operand) {
  Type element = tensorTypeOf(op->getOperand(operand)).getElementType();
  if (element.isInteger(32) || element.isInteger(64))
    return success();
  return op->emitOpError() << "operand " << operand
                           << ": expected elements of type i32 or i64 but got "
                           << element;
}

static LogicalResult verifyRagged(Operation *op, StringRef text,
                                  StringRef rows) {
  FailureOr<EinsumSpec> spec = parseRaggedSpec(op, text);
  if (failed(spec) || failed(verifyRows(op, *spec, rows)) ||
      failed(verifyTerms(op, text, *spec, op->getOperands().take_front(3))) ||
      failed(verifyProductTypes(op, 2)))
    return failure();
  return verifyCounts(op, 2);
}

LogicalResult RaggedEinsumOp::verify() {
  if (failed(verifyRagged(*this, getSpec(), getRows())))
    return failure();
  RankedTensorType begins = tensorTypeOf(getBegins());
  if (failed(verifyShape(*this, "operand 3", getEnds(), begins.getShape())))
    return failure();
  return verifyElementType(*this, "operand 3", getEnds(),
                           begins.getElementType());
}

LogicalResult RaggedDotOp::verify() {
  return verifyRagged(*this, getSpec(), getRows());
}

SmallVector<Value> RaggedDotOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  RankedTensorType type = tensorTypeOf(getSizes());
  Value ends = CumulativeOp::create(b, type, ReduceKind::Sum, getSizes(),
                                    type.getRank() - 1, /*exclusive=*/false,
                                    /*reverse=*/false);
  Value begins = arith::SubIOp::create(b, ends, getSizes());
  return {RaggedEinsumOp::create(b, getType(), getSpec(), getRows(), getLhs(),
                                 getRhs(), begins, ends)};
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowedEinsum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value shoal::convert(OpBuilder &builder, Location loc, Value value,
                     Type elementType) {
  RankedTensorType from = tensorTypeOf(value);
  RankedTensorType to = from.clone(elementType);
  if (from == to)
    return value;
  if (from.getElementTypeBitWidth() < to.getElementTypeBitWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  return arith::TruncFOp::create(builder, loc, to, value);
}

//===----------------------------------------------------------------------===//
// BlockedEinsum
//===----------------------------------------------------------------------===//

static int64_t findLetter(ArrayRef<char> term, char letter) {
  const auto *it = llvm::find(term, letter);
  return it == term.end() ? -1 : it - term.begin();
}

/// The letter of dimension `dim` of the operand that is `moving`, or else of
/// the result.
static char letterOf(EinsumOp op, const EinsumSpec &spec, Value moving,
                     int64_t dim) {
  for (auto [input, term] : llvm::zip_equal(op.getInputs(), spec.inputs))
    if (input == moving)
      return term[dim];
  return spec.result[dim];
}

BlockedEinsum::BlockedEinsum(EinsumOp op, Value moving, int64_t dim,
                             int64_t count)
    : op(op), moving(moving), spec(op.getTerms()),
      letter(letterOf(op, spec, moving, dim)),
      size(tensorTypeOf(moving ? moving : op.getResult()).getDimSize(dim)),
      count(count), rows(shardSize(size, count)),
      resultDim(findLetter(spec.result, letter)) {
  for (ArrayRef<char> term : spec.inputs)
    operandDims.push_back(findLetter(term, letter));
}

std::optional<Obstacle> BlockedEinsum::findObstacle() const {
  for (ArrayRef<char> term : spec.inputs)
    if (llvm::count(term, letter) > 1)
      return Obstacle{std::string("an einsum takes a diagonal along \"") +
                          letter + "\"",
                      op.getLoc()};
  int64_t dim = -1;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (input != moving)
      continue;
    if (dim >= 0 && operandDims[i] != dim)
      return Obstacle{"an einsum reads it twice, by different letters",
                      op.getLoc()};
    dim = operandDims[i];
  }
  return std::nullopt;
}

RankedTensorType BlockedEinsum::typeWithRows(Value value, int64_t dim,
                                             int64_t rows) const {
  RankedTensorType type = tensorTypeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  if (dim >= 0)
    shape[dim] = rows;
  return type.clone(shape);
}

RankedTensorType BlockedEinsum::blockType() const {
  RankedTensorType type = typeWithRows(op.getResult(), resultDim, rows);
  // Blocks that are put next to each other are complete.
  bool isPart = moving ? !isSplit() : true;
  return isPart ? type.clone(
                      getAccumulator(ReduceKind::Sum, type.getElementType()))
                : type;
}

SmallVector<Value> BlockedEinsum::prepare(OpBuilder &builder) const {
  SmallVector<Value> prepared;
  for (auto [input, dim] : llvm::zip_equal(op.getInputs(), operandDims)) {
    if (moving && input == moving)
      prepared.push_back({});
    else
      prepared.push_back(dim < 0 ? input : blocks(builder, dim).pad(input));
  }
  return prepared;
}

Value BlockedEinsum::emit(OpBuilder &builder, Value moved, Value index,
                          ArrayRef<Value> prepared) const {
  SmallVector<Value> operands;
  for (auto [value, dim] : llvm::zip_equal(prepared, operandDims)) {
    Value operand = value;
    // What is padded with zeros needs no mask. The rows past the end of what
    // moves are unspecified; they matter where rows are added up.
    if (!value)
      operand = isSplit() ? moved : blocks(builder, dim).mask(moved, index);
    else if (dim >= 0)
      operand = blocks(builder, dim).take(value, index);
    operands.push_back(operand);
  }
  return EinsumOp::create(builder, op.getLoc(), blockType(), op.getSpecAttr(),
                          operands);
}

int64_t BlockedEinsum::stepBytes() const {
  int64_t bytes = sizeInBytes(blockType());
  for (auto [input, dim] : llvm::zip_equal(op.getInputs(), operandDims)) {
    bool isMasked =
        moving && input == moving && !isSplit() && rows * count != size;
    bool isCut = (!moving || input != moving) && dim >= 0;
    if (isMasked || isCut)
      bytes += sizeInBytes(typeWithRows(input, dim, rows));
  }
  return bytes;
}

int64_t BlockedEinsum::preparedBytes() const {
  if (rows * count == size)
    return 0;
  int64_t bytes = 0;
  for (auto [input, dim] : llvm::zip_equal(op.getInputs(), operandDims))
    if ((!moving || input != moving) && dim >= 0)
      bytes += sizeInBytes(typeWithRows(input, dim, rows * count));
  return bytes;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-split-products.

#include "../Utils/HeldValues.h"
#include "TensorParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-split-products"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_SPLITPRODUCTS
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numSplit(DEBUG_TYPE, "Products computed in parts");
static PassCounter numBytes(DEBUG_TYPE, "Bytes of operands not held");

/// A part of an operand is at most such a part of what is held for the product
/// anyway: what the operand is made of, the other one, the result.
static constexpr int64_t kHeldPerPart = 8;

/// A product of few rows costs more time than the memory is worth, as the
/// library reads the other operand for each again: of so many rows a part may
/// take more of what is held, and none has fewer than the least.
static constexpr int64_t kManyRows = 64, kHeldPerManyRows = 2, kLeastRows = 16;

/// Bytes that the tensor and what it is moved from take until it is there,
/// beyond those of what it is all made of.
static int64_t countMovedBytes(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
      generic && op->hasOneUse() && movesElements(generic)) {
    int64_t bytes = bytesOf(tensor);
    for (Value input : generic.getInputs())
      bytes += countMovedBytes(input);
    return bytes;
  }
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op);
      insert && op->hasOneUse())
    return bytesOf(tensor) + countMovedBytes(insert.getSource());
  return 0;
}

/// Bytes of what the moved tensor is made of.
static int64_t countSourceBytes(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (countMovedBytes(tensor) == 0)
    return bytesOf(tensor);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return countSourceBytes(insert.getSource());
  int64_t bytes = 0;
  for (Value input : cast<linalg::GenericOp>(op).getInputs())
    bytes += countSourceBytes(input);
  return bytes;
}

namespace {

/// A product of which one operand is moved elements.
struct MovedOperand {
  rt::EinsumOp op;
  unsigned number;

  Value value() { return op->getOperand(number); }
  /// What is held while the product is computed, but for the moved elements.
  int64_t heldBytes() {
    return countSourceBytes(value()) + bytesOf(op->getOperand(1 - number)) +
           bytesOf(op.getOutput());
  }
};

} // namespace

/// The operand that takes more than its part, if one does.
static std::optional<MovedOperand> findLarge(rt::EinsumOp op) {
  if (op.getBias() || op.getActivation() || !op.getScales().empty() ||
      op.getPlan() || op->getNumResults() != 1)
    return std::nullopt;
  for (unsigned number : {0, 1}) {
    MovedOperand operand{op, number};
    if (countMovedBytes(operand.value()) * kHeldPerPart > operand.heldBytes())
      return operand;
  }
  return std::nullopt;
}

/// Rows of the operand's matrix for one index of a letter of the result; many
/// where the other one is no matrix, and costs little to be read again.
static int64_t countRowsBehind(MovedOperand operand, char letter) {
  rt::ProductTerms terms = operand.op.getTerms();
  ArrayRef<char> own = terms.spec.inputs[operand.number];
  ArrayRef<char> other = terms.spec.inputs[1 - operand.number];
  bool isBehind = false;
  int64_t rows = 1, columns = 1;
  for (char each : terms.spec.result) {
    int64_t size = terms.sizes[terms.numberOf(each)];
    if (!llvm::is_contained(own, each))
      columns *= size;
    else if (isBehind && !llvm::is_contained(other, each))
      rows *= size;
    isBehind |= each == letter;
  }
  return columns == 1 ? kManyRows : rows;
}

/// The most rows of a dimension of `size`, of which there are equal parts, so
/// that of `bytes`, which all of them take, no more than `limit` are needed; if
/// all are more, or would be fewer than `least`, the fewest that are not.
static int64_t cutRows(int64_t size, int64_t bytes, int64_t limit,
                       int64_t least) {
  int64_t rows = size;
  for (int64_t parts = 1; parts <= size && size / parts >= least; ++parts) {
    if (size % parts != 0)
      continue;
    rows = size / parts;
    if (bytes <= limit * parts)
      break;
  }
  return rows;
}

/// Rows that are computed at once, where each has so many behind it.
static int64_t chooseRows(int64_t size, int64_t behind, int64_t bytes,
                          int64_t held) {
  auto least = [&](int64_t rows) { return llvm::divideCeil(rows, behind); };
  int64_t rows = cutRows(size, bytes, held / kHeldPerPart, least(kManyRows));
  int64_t most = held / kHeldPerManyRows;
  if (bytes / size * rows <= most)
    return rows;
  return cutRows(size, bytes, most, least(kLeastRows));
}

/// Computes `rows` rows of a letter of the result in each step of a loop, which
/// only this operand has. The product of one step.
static rt::EinsumOp splitLetter(MovedOperand operand, char letter,
                                int64_t rows) {
  rt::EinsumOp op = operand.op;
  rt::ProductTerms terms = op.getTerms();
  auto dimIn = [&](ArrayRef<char> term) {
    return static_cast<unsigned>(llvm::find(term, letter) - term.begin());
  };
  unsigned dim = dimIn(terms.spec.inputs[operand.number]);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  rt::EinsumOp step;
  auto loop = scf::ForOp::create(
      builder, loc, index(0), index(terms.sizes[terms.numberOf(letter)]),
      index(rows), op.getOutput(),
      [&](OpBuilder &body, Location, Value begin, ValueRange carried) {
        Value part = makePart(body, operand.value(), {dim, begin, rows});
        auto [offsets, sizes, strides] = describePart(
            body, carried[0], {dimIn(terms.spec.result), begin, rows});
        Value output = tensor::ExtractSliceOp::create(body, loc, carried[0],
                                                      offsets, sizes, strides);
        IRMapping mapping;
        mapping.map(op.getOutput(), output);
        mapping.map(operand.value(), part);
        step = cast<rt::EinsumOp>(body.clone(*op, mapping));
        step->getResult(0).setType(output.getType());
        Value next = tensor::InsertSliceOp::create(
            body, loc, step->getResult(0), carried[0], offsets, sizes, strides);
        scf::YieldOp::create(body, loc, next);
      });
  op->getResult(0).replaceAllUsesWith(loop.getResult(0));
  return step;
}

/// Erases `op` and what it alone used.
static void eraseWithOperands(Operation *op) {
  // Each once: an op may have a value twice, or one that another operand is
  // made of.
  llvm::SetVector<Operation *> dead;
  dead.insert(op);
  while (!dead.empty()) {
    Operation *next = dead.pop_back_val();
    SmallVector<Value> operands(next->getOperands());
    next->erase();
    for (Value operand : operands)
      if (Operation *maker = operand.getDefiningOp();
          maker && isMemoryEffectFree(maker) && maker->use_empty())
        dead.insert(maker);
  }
}

/// Splits the letters of the result from the first on, until parts are small: a
/// part of the result is then dense.
static void split(rt::EinsumOp op) {
  std::optional<MovedOperand> operand = findLarge(op);
  if (!operand)
    return;
  int64_t whole = countMovedBytes(operand->value()), bytes = whole;
  int64_t limit = operand->heldBytes() / kHeldPerPart;
  rt::ProductTerms terms = op.getTerms();
  ArrayRef<char> own = terms.spec.inputs[operand->number];
  ArrayRef<char> other = terms.spec.inputs[1 - operand->number];
  for (char letter : terms.spec.result) {
    if (bytes <= limit || llvm::count(own, letter) != 1 ||
        llvm::is_contained(other, letter))
      break;
    int64_t size = terms.sizes[terms.numberOf(letter)];
    if (size == 1)
      continue;
    if (!movesPart(operand->value(), llvm::find(own, letter) - own.begin()))
      break;
    int64_t rows = chooseRows(size, countRowsBehind(*operand, letter), bytes,
                              operand->heldBytes());
    if (rows == size)
      break;
    rt::EinsumOp step = splitLetter(*operand, letter, rows);
    eraseWithOperands(operand->op);
    operand->op = step;
    bytes = countMovedBytes(operand->value());
    LDBG() << "the product at " << sourcePlace(step.getLoc()) << " computes "
           << rows << " of " << size << " rows at a time: its operand takes "
           << bytes << " bytes";
  }
  if (bytes == whole)
    return;
  ++numSplit;
  numBytes += whole - bytes;
}

/// Whether the op moves elements, or pads, for its reader.
static bool isMoved(Operation *op) {
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return movesElements(generic);
  return isa_and_nonnull<tensor::InsertSliceOp>(op);
}

/// What is moved for several products is moved for each of them alone, as is
/// what that is moved from: a convolution and the gradient of its kernel read
/// the same patches, and would hold them all the while between. Those that are
/// whole at both all the same become one again when equal ops are merged.
static void ownMoved(OpOperand &reads) {
  Operation *maker = reads.get().getDefiningOp(), *reader = reads.getOwner();
  if (!isMoved(maker) || maker->getBlock() != reader->getBlock())
    return;
  if (!maker->hasOneUse()) {
    // What else reads it finds it there, whole.
    if (llvm::any_of(maker->getUsers(), [&](Operation *user) {
          return isa<rt::EinsumOp>(reader) ? !isa<rt::EinsumOp>(user)
                                           : !isMoved(user);
        }))
      return;
    maker = OpBuilder(reader).clone(*maker);
    reads.set(maker->getResult(0));
  }
  auto generic = dyn_cast<linalg::GenericOp>(maker);
  unsigned numMoved = generic ? generic.getNumDpsInputs() : 1;
  for (OpOperand &operand : maker->getOpOperands().take_front(numMoved))
    ownMoved(operand);
}

namespace {

struct SplitProducts : shoal::impl::SplitProductsBase<SplitProducts> {
  void runOnOperation() override {
    SmallVector<rt::EinsumOp> products;
    getOperation().walk([&](rt::EinsumOp op) { products.push_back(op); });
    // The first one keeps what is there.
    for (rt::EinsumOp op : llvm::reverse(products))
      for (unsigned number : {0, 1})
        ownMoved(op->getOpOperand(number));
    for (rt::EinsumOp op : products)
      split(op);
  }
};

} // namespace

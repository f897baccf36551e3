// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SumLanes.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Loops over the op's iterations. The lanes of each sum lie in a small buffer,
/// which becomes registers where LLVM unrolls the loop over them.
class LaneLoops {
public:
  LaneLoops(linalg::GenericOp op, const SumLanes &sums)
      : op(op), sums(sums), b(op.getLoc(), op),
        ranges(op.getStaticLoopRanges()) {}

  void emit() {
    allocateLanes();
    nest(sums.firstReduced, [&] {
      clearLanes();
      nest(sums.walked, [&] { isInnermost() ? addTerms() : addRows(); });
      for (auto [number, combiner] : llvm::enumerate(sums.combiners)) {
        if (!combiner)
          continue;
        if (isInnermost())
          addToResult(number, addLanes(number));
        else
          addRowsToResult(number);
      }
    });
    op.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  /// Whether the sums run along the innermost loop.
  bool isInnermost() const { return sums.walked + 1 == ranges.size(); }
  Type typeOf(unsigned number) const {
    return sums.combiners[number]->getResult(0).getType();
  }

  void loop(int64_t size, int64_t step, llvm::function_ref<void(Value)> body) {
    if (size == 0)
      return;
    auto loop = scf::ForOp::create(b, index(0), index(size), index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// The op's loops from those that are there to the one in front of `end`.
  void nest(unsigned end, llvm::function_ref<void()> body) {
    if (places.size() == end)
      return body();
    loop(ranges[places.size()], 1, [&](Value place) {
      places.push_back(place);
      nest(end, body);
      places.pop_back();
    });
  }

  /// One buffer for all iterations.
  void allocateLanes() {
    OpBuilder::InsertionGuard guard(b);
    auto function = op->getParentOfType<FunctionOpInterface>();
    b.setInsertionPointToStart(&function.getFunctionBody().front());
    for (auto [number, combiner] : llvm::enumerate(sums.combiners))
      lanes.push_back(combiner
                          ? memref::AllocaOp::create(
                                b, MemRefType::get(sums.lanes, typeOf(number)),
                                b.getI64IntegerAttr(64))
                          : Value());
  }

  void clearLanes() {
    for (auto [number, combiner] : llvm::enumerate(sums.combiners)) {
      if (!combiner)
        continue;
      // In pieces of which each becomes a register.
      int64_t size = isInnermost() ? sums.lanes : sums.width;
      auto type = VectorType::get(size, typeOf(number));
      Value none = arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, getNeutralElement(combiner)));
      loop(sums.lanes, size, [&, number = number](Value lane) {
        vector::StoreOp::create(b, none, lanes[number], lane);
      });
    }
  }

  /// Those of all steps of the innermost loop.
  void addTerms() {
    int64_t size = ranges.back(), whole = size / sums.lanes * sums.lanes;
    auto addVectors = [&](Value first, int64_t count) {
      loop(count, sums.width,
           [&](Value lane) { addVector(add(first, lane), lane); });
    };
    loop(whole, sums.lanes,
         [&](Value first) { addVectors(first, sums.lanes); });
    int64_t last = (size - whole) / sums.width * sums.width;
    addVectors(index(whole), last);
    if (whole + last == size)
      return;
    auto type = VectorType::get(sums.width, b.getI1Type());
    SmallVector<bool> isThere(sums.width, false);
    std::fill_n(isThere.begin(), size - whole - last, true);
    mask = arith::ConstantOp::create(b, DenseElementsAttr::get(type, isThere));
    addVector(index(whole + last), index(last));
    mask = nullptr;
  }

  /// Those of all steps of the walked loop, around the kept ones.
  void addRows() {
    int64_t size = ranges[sums.walked], rows = sums.lanes / sums.kept;
    auto addSome = [&](Value first, int64_t count) {
      loop(count, 1, [&](Value row) {
        places.push_back(add(first, row));
        forKept(row, [&](Value place, Value lane) { addVector(place, lane); });
        places.pop_back();
      });
    };
    int64_t whole = size / rows * rows;
    loop(whole, rows, [&](Value first) { addSome(first, rows); });
    addSome(index(whole), size - whole);
  }

  /// Calls body(place in the innermost loop, lane) for each vector of the
  /// elements of a row of lanes, in the loops behind the walked one.
  void forKept(Value row, llvm::function_ref<void(Value, Value)> body) {
    nest(ranges.size() - 1, [&] {
      Value lane = row;
      auto descend = [&](unsigned number, Value place) {
        lane =
            add(arith::MulIOp::create(b, lane, index(ranges[number])), place);
      };
      for (unsigned l = sums.walked + 1; l + 1 < ranges.size(); ++l)
        descend(l, places[l]);
      loop(ranges.back(), sums.width, [&](Value place) {
        descend(ranges.size() - 1, place);
        body(place, lane);
      });
    });
  }

  /// Steps place ... place + width - 1 of the innermost loop into the lanes
  /// from `lane` on; of the last ones those of the mask.
  void addVector(Value place, Value lane) {
    places.push_back(place);
    IRMapping values;
    readOperands(values, lane);
    for (Operation &inner : op.getBody()->without_terminator())
      clone(inner, values);
    for (auto [number, value] :
         llvm::enumerate(op.getBody()->getTerminator()->getOperands()))
      write(number, values, values.lookupOrDefault(value), lane);
    places.pop_back();
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  SmallVector<Value> placesIn(OpOperand &operand) {
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      indices.push_back(
          affine::expandAffineExpr(b, b.getLoc(), expr, places, {}));
    return indices;
  }

  /// Whether steps of the innermost loop touch elements of their own.
  bool isLaned(OpOperand &operand) {
    return sums.width > 1 &&
           op.getMatchingIndexingMap(&operand).isFunctionOfDim(ranges.size() -
                                                               1);
  }

  Value load(Value memref, ValueRange indices, bool isLaned) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    if (!type)
      return memref; // a scalar
    if (!isLaned)
      return memref::LoadOp::create(b, memref, indices);
    auto vector = VectorType::get(sums.width, type.getElementType());
    if (!mask)
      return vector::LoadOp::create(b, vector, memref, indices);
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    return vector::MaskedLoadOp::create(b, vector, memref, indices, mask, none);
  }

  void store(Value value, Value memref, ValueRange indices) {
    if (sums.width == 1)
      memref::StoreOp::create(b, value, memref, indices);
    else if (!mask)
      vector::StoreOp::create(b, value, memref, indices);
    else
      vector::MaskedStoreOp::create(b, memref, indices, mask, value);
  }

  void readOperands(IRMapping &values, Value lane) {
    SmallVector<Value> buffers(op.getNumDpsInputs());
    llvm::append_range(buffers, lanes);
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (argument.use_empty())
        continue;
      Value buffer = buffers[operand.getOperandNumber()];
      values.map(argument, buffer ? loadLanes(buffer, lane)
                                  : load(operand.get(), placesIn(operand),
                                         isLaned(operand)));
    }
  }

  /// Without the mask, with which no buffer would become registers.
  Value loadLanes(Value buffer, Value lane) {
    if (sums.width == 1)
      return memref::LoadOp::create(b, buffer, lane);
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    return vector::LoadOp::create(b, VectorType::get(sums.width, element),
                                  buffer, lane);
  }

  void storeLanes(Value value, Value before, Value buffer, Value lane) {
    if (mask)
      value = arith::SelectOp::create(b, mask, value, before);
    if (sums.width == 1)
      memref::StoreOp::create(b, value, buffer, lane);
    else
      vector::StoreOp::create(b, value, buffer, lane);
  }

  void write(unsigned number, IRMapping &values, Value value, Value lane) {
    if (sums.combiners[number]) {
      Value before = values.lookup(op.getRegionOutputArgs()[number]);
      return storeLanes(value, before, lanes[number], lane);
    }
    OpOperand &init = *op.getDpsInitOperand(number);
    // It may be a constant, or what an operand has for all steps.
    store(sums.width == 1 ? value : widen(value), init.get(), placesIn(init));
  }

  //===--------------------------------------------------------------------===//
  // The body
  //===--------------------------------------------------------------------===//

  Value widen(Value value) {
    if (isa<VectorType>(value.getType()))
      return value;
    auto type = VectorType::get(sums.width, value.getType());
    return vector::BroadcastOp::create(b, type, value);
  }

  Value makeIndex(unsigned number) {
    Value place = places[number];
    if (sums.width == 1 || number + 1 != ranges.size())
      return place;
    auto steps = llvm::to_vector(llvm::seq<int64_t>(0, sums.width));
    auto type = VectorType::get(sums.width, b.getIndexType());
    Value step = arith::ConstantOp::create(b, b.getIndexVectorAttr(steps));
    return add(vector::BroadcastOp::create(b, type, place), step);
  }

  /// An op of vectors where an operand is one.
  void clone(Operation &inner, IRMapping &values) {
    if (auto number = dyn_cast<linalg::IndexOp>(inner)) {
      values.map(number.getResult(),
                 makeIndex(static_cast<unsigned>(number.getDim())));
      return;
    }
    Operation *copy = b.clone(inner, values);
    auto isVector = [](Value value) {
      return isa<VectorType>(value.getType());
    };
    if (!llvm::any_of(copy->getOperands(), isVector))
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(copy);
    for (OpOperand &operand : copy->getOpOperands())
      operand.set(widen(operand.get()));
    for (OpResult result : copy->getResults())
      result.setType(VectorType::get(sums.width, result.getType()));
  }

  /// The lanes of a sum, each half added to the other.
  Value addLanes(unsigned number) {
    auto type = VectorType::get(sums.lanes, typeOf(number));
    Value all = vector::LoadOp::create(b, type, lanes[number], index(0));
    for (int64_t half = sums.lanes / 2; half > 0; half /= 2) {
      auto take = [&](int64_t first) -> Value {
        return vector::ShuffleOp::create(
            b, all, all,
            llvm::to_vector(llvm::seq<int64_t>(first, first + half)));
      };
      Value low = take(0), high = take(half);
      all = combine(number, low, high);
    }
    return vector::ExtractOp::create(b, all, ArrayRef<int64_t>{0});
  }

  /// The rows of a sum's lanes, each half added to the other, and the last one
  /// to the result.
  void addRowsToResult(unsigned number) {
    Value buffer = lanes[number];
    for (int64_t half = sums.lanes / 2; half >= sums.kept; half /= 2)
      loop(half, sums.width, [&](Value lane) {
        Value low = loadLanes(buffer, lane);
        Value high = loadLanes(buffer, add(lane, index(half)));
        storeLanes(combine(number, low, high), low, buffer, lane);
      });
    OpOperand &init = *op.getDpsInitOperand(number);
    SmallVector<Value> outer = places;
    // The map has none of the reduced loops, which are not there any more.
    places.resize(sums.walked + 1, index(0));
    forKept(index(0), [&](Value place, Value lane) {
      places.push_back(place);
      SmallVector<Value> at = placesIn(init);
      Value before = load(init.get(), at, isLaned(init));
      store(combine(number, before, loadLanes(buffer, lane)), init.get(), at);
      places.pop_back();
    });
    places = outer;
  }

  Value combine(unsigned number, Value lhs, Value rhs) {
    Operation *copy = b.clone(*sums.combiners[number]);
    copy->setOperands({lhs, rhs});
    copy->getResult(0).setType(lhs.getType());
    return copy->getResult(0);
  }

  void addToResult(unsigned number, Value sum) {
    OpOperand &init = *op.getDpsInitOperand(number);
    // The map has none of the reduced loops, which are not there any more.
    SmallVector<Value> outer = places;
    places.resize(ranges.size(), index(0));
    SmallVector<Value> indices = placesIn(init);
    places = outer;
    Value before = memref::LoadOp::create(b, init.get(), indices);
    memref::StoreOp::create(b, combine(number, before, sum), init.get(),
                            indices);
  }

  linalg::GenericOp op;
  const SumLanes &sums;
  ImplicitLocOpBuilder b;
  SmallVector<int64_t> ranges;
  /// Of the loops that are there.
  SmallVector<Value> places;
  /// By init: the buffer of a sum's lanes.
  SmallVector<Value> lanes;
  /// The steps that there are, of a vector that is not whole.
  Value mask;
};

} // namespace

void shoal::emitSumLanes(linalg::GenericOp op, const SumLanes &sums) {
  LaneLoops(op, sums).emit();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorParts.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace shoal;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static SmallVector<int64_t> partShape(Value tensor, const TensorPart &part) {
  SmallVector<int64_t> shape(typeOf(tensor).getShape());
  shape[part.dim] = part.size;
  return shape;
}

static Value makeEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<int64_t> shape, Value like) {
  return tensor::EmptyOp::create(builder, loc, shape,
                                 typeOf(like).getElementType());
}

bool shoal::movesElements(linalg::GenericOp op) {
  return op.getNumResults() == 1 && op.hasPureTensorSemantics() &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getBody()->getOperations().size() == 1 && !op.hasDynamicShape() &&
         op.getIndexingMapMatchingResult(op->getResult(0)).isPermutation();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

std::array<SmallVector<OpFoldResult>, 3>
shoal::describePart(OpBuilder &builder, Value whole, const TensorPart &part) {
  std::array<SmallVector<OpFoldResult>, 3> slice;
  for (auto [dim, size] : llvm::enumerate(typeOf(whole).getShape())) {
    bool isSplit = dim == part.dim;
    slice[0].push_back(isSplit ? OpFoldResult(part.begin)
                               : builder.getIndexAttr(0));
    slice[1].push_back(builder.getIndexAttr(isSplit ? part.size : size));
    slice[2].push_back(builder.getIndexAttr(1));
  }
  return slice;
}

static Value slice(OpBuilder &builder, Value tensor, const TensorPart &part) {
  auto [offsets, sizes, strides] = describePart(builder, tensor, part);
  return tensor::ExtractSliceOp::create(builder, tensor.getLoc(), tensor,
                                        offsets, sizes, strides);
}

//===----------------------------------------------------------------------===//
// Rows beside those of a tensor
//===----------------------------------------------------------------------===//

/// Whether `insert` puts all rows of a dimension to where they are.
static bool keepsDim(tensor::InsertSliceOp insert, unsigned dim) {
  return !insert.isDynamicOffset(dim) && insert.getStaticOffset(dim) == 0 &&
         !insert.isDynamicStride(dim) && insert.getStaticStride(dim) == 1 &&
         insert.getSourceType().getRank() == insert.getDestType().getRank() &&
         insert.getSourceType().getDimSize(dim) ==
             insert.getDestType().getDimSize(dim);
}

/// Of a tensor inserted into one value everywhere: the same of its part.
static Value insertPart(OpBuilder &builder, tensor::InsertSliceOp insert,
                        const TensorPart &part) {
  auto fill = insert.getDest().getDefiningOp<linalg::FillOp>();
  if (!fill || !insert->hasOneUse() || !keepsDim(insert, part.dim))
    return nullptr;
  Location loc = insert.getLoc();
  Value source = makePart(builder, insert.getSource(), part);
  Value empty =
      makeEmpty(builder, loc, partShape(insert, part), insert.getResult());
  Value target =
      linalg::FillOp::create(builder, loc, fill.getInputs()[0], empty)
          .getResult(0);
  SmallVector<OpFoldResult> sizes = insert.getMixedSizes();
  sizes[part.dim] = builder.getIndexAttr(part.size);
  return tensor::InsertSliceOp::create(builder, loc, source, target,
                                       insert.getMixedOffsets(), sizes,
                                       insert.getMixedStrides());
}

//===----------------------------------------------------------------------===//
// Moved elements
//===----------------------------------------------------------------------===//

namespace {

/// The rows that a sum of loops, each times a factor, and a constant leads to.
struct Rows {
  /// By loop.
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  static std::optional<Rows> of(AffineExpr expr, unsigned numLoops) {
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(expr, numLoops, 0, &flat)) ||
        flat.size() != numLoops + 1)
      return std::nullopt;
    return Rows{SmallVector<int64_t>(ArrayRef(flat).drop_back()), flat.back()};
  }

  /// The first of them, where the loops begin with 0.
  int64_t first(ArrayRef<int64_t> sizes) const {
    int64_t row = constant;
    for (auto [factor, size] : llvm::zip_equal(factors, sizes))
      row += std::min<int64_t>(factor, 0) * (size - 1);
    return row;
  }

  int64_t count(ArrayRef<int64_t> sizes) const {
    int64_t count = 1;
    for (auto [factor, size] : llvm::zip_equal(factors, sizes))
      count += std::abs(factor) * (size - 1);
    return count;
  }
};

/// What the loop that is split does to an operand: the one dimension whose rows
/// follow it, and these.
struct SplitRead {
  unsigned dim;
  Rows rows;
};

} // namespace

/// The loop of the op that makes the rows of a dimension of its result.
static unsigned loopOf(linalg::GenericOp op, unsigned dim) {
  return op.getIndexingMapMatchingResult(op->getResult(0)).getDimPosition(dim);
}

static bool follows(AffineMap map, unsigned loop) {
  return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
    return expr.isFunctionOfDim(loop);
  });
}

/// Nothing where the rows that a part reads are no range of one dimension.
static std::optional<SplitRead> findSplitRead(AffineMap map, unsigned loop) {
  std::optional<SplitRead> read;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    std::optional<Rows> rows = Rows::of(expr, map.getNumDims());
    if (read || !rows || rows->factors[loop] < 0)
      return std::nullopt;
    read = SplitRead{static_cast<unsigned>(dim), *rows};
  }
  return read;
}

static bool canSplit(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    return !follows(map, loop) || findSplitRead(map, loop);
  });
}

namespace {

/// An op that moves elements, of whose loops one is split.
class MovedPart {
public:
  MovedPart(OpBuilder &builder, linalg::GenericOp op, const TensorPart &part)
      : builder(builder), op(op), part(part), sizes(op.getStaticLoopRanges()),
        loop(loopOf(op, part.dim)) {
    sizes[loop] = part.size;
  }

  Value make() {
    for (OpOperand *input : op.getDpsInputOperands())
      readPart(*input);
    Value result = op->getResult(0);
    Value empty =
        makeEmpty(builder, op.getLoc(), partShape(result, part), result);
    maps.push_back(op.getIndexingMapMatchingResult(op->getResult(0)));
    auto made = linalg::GenericOp::create(
        builder, op.getLoc(), TypeRange(empty.getType()), inputs, empty, maps,
        op.getIteratorTypesArray());
    IRMapping mapping;
    op.getRegion().cloneInto(&made.getRegion(), mapping);
    return made->getResult(0);
  }

private:
  void readPart(OpOperand &input) {
    AffineMap map = op.getMatchingIndexingMap(&input);
    Value tensor = input.get();
    if (std::optional<SplitRead> read = findSplitRead(map, loop)) {
      int64_t first = read->rows.first(sizes);
      tensor = makePart(builder, tensor,
                        {read->dim, rowAt(read->rows.factors[loop], first),
                         read->rows.count(sizes)});
      SmallVector<AffineExpr> exprs(map.getResults());
      exprs[read->dim] = exprs[read->dim] - first;
      map = AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
    }
    inputs.push_back(tensor);
    maps.push_back(map);
  }

  /// begin * factor + first.
  Value rowAt(int64_t factor, int64_t first) {
    Location loc = op.getLoc();
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value row = part.begin;
    if (factor != 1)
      row = arith::MulIOp::create(builder, loc, row, index(factor));
    if (first != 0)
      row = arith::AddIOp::create(builder, loc, row, index(first));
    return row;
  }

  OpBuilder &builder;
  linalg::GenericOp op;
  const TensorPart &part;
  SmallVector<int64_t> sizes;
  unsigned loop;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
};

} // namespace

bool shoal::movesPart(Value tensor, unsigned dim) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  return op && op->hasOneUse() && movesElements(op) &&
         canSplit(op, loopOf(op, dim));
}

Value shoal::makePart(OpBuilder &builder, Value tensor,
                      const TensorPart &part) {
  Value made;
  if (movesPart(tensor, part.dim))
    made = MovedPart(builder, tensor.getDefiningOp<linalg::GenericOp>(), part)
               .make();
  else if (auto insert = tensor.getDefiningOp<tensor::InsertSliceOp>())
    made = insertPart(builder, insert, part);
  return made ? made : slice(builder, tensor, part);
}

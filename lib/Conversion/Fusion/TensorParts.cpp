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

static Value slice(OpBuilder &builder, Value tensor, const TensorPart &part) {
  auto attrs = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult {
      return builder.getIndexAttr(value);
    });
  };
  SmallVector<int64_t> zeros(typeOf(tensor).getRank(), 0);
  SmallVector<int64_t> ones(typeOf(tensor).getRank(), 1);
  SmallVector<OpFoldResult> offsets = attrs(zeros);
  offsets[part.dim] = part.begin;
  return tensor::ExtractSliceOp::create(builder, tensor.getLoc(), tensor,
                                        offsets, attrs(partShape(tensor, part)),
                                        attrs(ones));
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

/// An op that moves elements, of whose loops one is split.
class MovedPart {
public:
  MovedPart(OpBuilder &builder, linalg::GenericOp op, const TensorPart &part)
      : builder(builder), op(op), part(part), sizes(op.getStaticLoopRanges()) {
    loop = op.getIndexingMapMatchingResult(op->getResult(0))
               .getDimPosition(part.dim);
    sizes[loop] = part.size;
  }

  /// Null where the rows that the part reads are no range.
  Value make() {
    for (OpOperand *input : op.getDpsInputOperands())
      if (!readPart(*input))
        return nullptr;
    Value empty =
        makeEmpty(builder, op.getLoc(), partShape(op->getResult(0), part),
                  op->getResult(0));
    maps.push_back(op.getIndexingMapMatchingResult(op->getResult(0)));
    auto made = linalg::GenericOp::create(
        builder, op.getLoc(), TypeRange(empty.getType()), inputs, empty, maps,
        op.getIteratorTypesArray());
    IRMapping mapping;
    op.getRegion().cloneInto(&made.getRegion(), mapping);
    return made->getResult(0);
  }

private:
  bool readPart(OpOperand &input) {
    AffineMap map = op.getMatchingIndexingMap(&input);
    std::optional<unsigned> split;
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      if (map.getResult(d).isFunctionOfDim(loop)) {
        if (split)
          return false;
        split = d;
      }
    Value tensor = input.get();
    if (split) {
      std::optional<Rows> rows =
          Rows::of(map.getResult(*split), op.getNumLoops());
      if (!rows || rows->factors[loop] < 0)
        return false;
      int64_t first = rows->first(sizes);
      tensor = makePart(
          builder, tensor,
          {*split, rowAt(rows->factors[loop], first), rows->count(sizes)});
      SmallVector<AffineExpr> exprs(map.getResults());
      exprs[*split] = exprs[*split] - first;
      map = AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
    }
    inputs.push_back(tensor);
    maps.push_back(map);
    return true;
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

Value shoal::makePart(OpBuilder &builder, Value tensor,
                      const TensorPart &part) {
  Value made;
  if (auto op = tensor.getDefiningOp<linalg::GenericOp>();
      op && op->hasOneUse() && movesElements(op))
    made = MovedPart(builder, op, part).make();
  else if (auto insert = tensor.getDefiningOp<tensor::InsertSliceOp>())
    made = insertPart(builder, insert, part);
  return made ? made : slice(builder, tensor, part);
}

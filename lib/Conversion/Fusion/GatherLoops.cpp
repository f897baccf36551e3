// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GatherLoops.h"
#include "../ShoalToLinalg/Patterns.h"
#include "../Utils/ClampStart.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Products/Loops.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Strides in the result, in the indices and in the operand.
using GatherLoop = products::Loop<3>;
using GatherLoopNest = products::Loops<3>;
enum Place : uint8_t { InResult, InIndices, InOperand };

/// The tensor of indices in the shape of the loops that walk through it, with
/// one dimension more for the components of an index if there are several.
struct IndexView {
  SmallVector<int64_t> shape;
  /// The loop of each dimension; none of the components'.
  SmallVector<std::optional<unsigned>> loops;
  int64_t componentStride = 1;
};

} // namespace

static GatherLoopNest loopsOf(const calls::WindowLayout &layout) {
  GatherLoopNest loops;
  for (const calls::WindowLayout::Dim &dim : layout.dims)
    loops.push_back({dim.boxSize, {dim.boxStride, 0, dim.stride}});
  for (const calls::WindowLayout::Step &step : layout.steps)
    loops.push_back({step.size, {step.windows, step.indices, step.operand}});
  return products::simplify(std::move(loops), InResult);
}

/// A loop for each dimension of `shape`, which all of `loops` together fill in
/// the order of the result.
static std::optional<GatherLoopNest> cutBy(ArrayRef<int64_t> shape,
                                           GatherLoopNest loops) {
  GatherLoopNest cut(shape.size(), GatherLoop{1, {0, 0, 0}});
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1)
      continue;
    if (loops.empty() || loops.back().size % shape[d] != 0)
      return std::nullopt;
    GatherLoop &loop = loops.back();
    cut[d] = {shape[d], loop.strides};
    loop.size /= shape[d];
    for (int64_t &stride : loop.strides)
      stride *= shape[d];
    if (loop.size == 1)
      loops.pop_back();
  }
  return cut;
}

static std::optional<IndexView> viewIndices(const GatherLoopNest &loops,
                                            int64_t elements) {
  SmallVector<unsigned> moving;
  int64_t windows = 1;
  for (auto [number, loop] : llvm::enumerate(loops))
    if (loop.strides[InIndices] != 0) {
      moving.push_back(number);
      windows *= loop.size;
    }
  llvm::sort(moving, [&](unsigned a, unsigned b) {
    return loops[a].strides[InIndices] < loops[b].strides[InIndices];
  });
  // From the last dimension to the first, each around those before it.
  IndexView view;
  int64_t components = elements / windows, stride = 1;
  auto add = [&](std::optional<unsigned> loop, int64_t size) {
    view.shape.insert(view.shape.begin(), size);
    view.loops.insert(view.loops.begin(), loop);
    stride *= size;
  };
  auto addComponents = [&] {
    view.componentStride = stride;
    add(std::nullopt, std::exchange(components, 1));
  };
  for (unsigned loop : moving) {
    if (components != 1 && loops[loop].strides[InIndices] != stride)
      addComponents();
    if (loops[loop].strides[InIndices] != stride)
      return std::nullopt;
    add(loop, loops[loop].size);
  }
  if (components != 1)
    addComponents();
  return stride == elements ? std::optional(view) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The dimensions of a tensor of `rank`, which is flat in another shape.
static SmallVector<ReassociationIndices> allDims(int64_t rank) {
  if (rank == 0)
    return {};
  return {llvm::to_vector(llvm::seq<int64_t>(0, rank))};
}

static Value reshape(OpBuilder &builder, Location loc, Value tensor,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getShape() == shape)
    return tensor;
  if (type.getRank() != 1) {
    auto flat = type.clone({type.getNumElements()});
    if (type.getRank() == 0)
      tensor =
          tensor::ExpandShapeOp::create(builder, loc, flat, tensor, allDims(0));
    else
      tensor = tensor::CollapseShapeOp::create(builder, loc, flat, tensor,
                                               allDims(type.getRank()));
  }
  if (shape.size() == 1)
    return tensor;
  if (shape.empty())
    return tensor::CollapseShapeOp::create(builder, loc, type.clone(shape),
                                           tensor, allDims(0));
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), tensor,
                                       allDims(shape.size()));
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// The sum of `values`, each times its stride.
static Value sumPlaces(OpBuilder &builder, Location loc,
                       ArrayRef<std::pair<Value, int64_t>> values) {
  Value sum;
  for (auto [value, stride] : values) {
    if (stride != 1)
      value = arith::MulIOp::create(
          builder, loc, value,
          arith::ConstantIndexOp::create(builder, loc, stride));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, value) : value;
  }
  return sum ? sum : arith::ConstantIndexOp::create(builder, loc, 0);
}

int64_t shoal::countRowBytes(rt::GatherOp gather) {
  auto type = cast<RankedTensorType>(gather.getOutput().getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  GatherLoopNest loops = loopsOf(gather.getWindows().getLayout());
  if (loops.empty() || loops.back().strides[InOperand] != 1 ||
      loops.back().strides[InIndices] != 0)
    return bytes;
  return loops.back().size * bytes;
}

linalg::GenericOp shoal::makeGatherLoops(OpBuilder &builder,
                                         rt::GatherOp gather,
                                         RankedTensorType type) {
  calls::WindowLayout layout = gather.getWindows().getLayout();
  Value operand = gather.getInput(), indices = gather.getIndices();
  auto operandType = cast<RankedTensorType>(operand.getType());
  auto indexType = cast<RankedTensorType>(indices.getType());
  SmallVector<calls::WindowLayout::Dim> started;
  for (const calls::WindowLayout::Dim &dim : layout.dims)
    if (dim.component >= 0 && dim.lastStart() > 0)
      started.push_back(dim);
  auto loops = cutBy(type.getShape(), loopsOf(layout));
  if (!loops)
    return nullptr;

  Location loc = gather.getLoc();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (!started.empty()) {
    auto view = viewIndices(*loops, indexType.getNumElements());
    if (!view)
      return nullptr;
    Value viewed = reshape(builder, loc, indices, view->shape);
    for (const calls::WindowLayout::Dim &dim : started) {
      SmallVector<AffineExpr> exprs;
      for (std::optional<unsigned> loop : view->loops)
        exprs.push_back(loop ? builder.getAffineDimExpr(*loop)
                             : builder.getAffineConstantExpr(
                                   dim.component / view->componentStride));
      inputs.push_back(viewed);
      maps.push_back(
          AffineMap::get(type.getRank(), 0, exprs, builder.getContext()));
    }
  }
  Value flat = reshape(builder, loc, operand, {operandType.getNumElements()});
  auto body = [&](OpBuilder &nested, ValueRange starts) -> Value {
    SmallVector<std::pair<Value, int64_t>> places;
    for (auto [start, dim] : llvm::zip(starts, started))
      places.push_back(
          {clampStart(nested, loc, start, dim.lastStart()), dim.stride});
    for (auto [number, loop] : llvm::enumerate(*loops))
      if (loop.strides[InOperand] != 0)
        places.push_back({linalg::IndexOp::create(nested, loc, number),
                          loop.strides[InOperand]});
    return tensor::ExtractOp::create(nested, loc, flat,
                                     sumPlaces(nested, loc, places));
  };
  return makeParallel(builder, loc, type, inputs, maps, body)
      .getDefiningOp<linalg::GenericOp>();
}

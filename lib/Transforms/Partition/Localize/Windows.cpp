// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The local forms of convolution and reduce_window: each device fetches what
// its windows read, masks what must not count and slides over that.

#include "IndexMath.h"
#include "Models.h"
#include "Shapes.h"
#include "WindowRows.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"
#include "shoal/Transforms/Partition/Passes.h"

using namespace mlir;
using namespace shoal;

namespace {

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

class ConvolutionLocalizer {
public:
  ConvolutionLocalizer(ConvolutionOp op, Localizer &l)
      : op(op), l(l), dims(op.getDims()), window(op.getWindow()),
        inputType(typeOf(op.getInput())), type(l.localResultType()),
        zero(getIdentity(ReduceKind::Sum, inputType.getElementType())),
        input(l.maskReduced(0)), kernel(l.maskReduced(1)) {}

  Value localize() {
    for (unsigned d = 0; d < dims.numSpatial(); ++d)
      if (!axesOf(d).empty())
        fetch(d);
    return build();
  }

private:
  ArrayRef<AxisId> axesOf(unsigned d) const {
    return l.operandShardings[0].dims[dims.input.spatial[d]];
  }

  void fetch(unsigned d) {
    unsigned dim = dims.input.spatial[d];
    RowMap map = window[d].rowsOfWindow();
    int64_t block = type.getDimSize(dims.result.spatial[d]);
    if (op.contractsSpatial(d)) {
      map = window[d].rowsOfKernelRow(block);
      block = typeOf(kernel).getDimSize(dims.kernel.spatial[d]);
    }
    input = fetchWindows(l, input, {dim, inputType.getDimSize(dim), axesOf(d)},
                         map, block, zero, window[d]);
  }

  /// Groups are split before what is in a group.
  int64_t localGroups(int64_t count) const {
    ArrayRef<AxisId> axes = l.resultShardings[0].dims[dims.result.second];
    return shardSize(count, l.mesh.sizeOf(axes));
  }

  Value build() {
    OpBuilder &b = l.builder;
    return ConvolutionOp::create(
        b, l.getLoc(), type, op.getSpecAttr(), input, kernel,
        op.getStridesAttr(), listOf(b, window, &WindowDim::low, 0),
        listOf(b, window, &WindowDim::high, 0),
        listOf(b, window, &WindowDim::baseDilation, 1),
        op.getWindowDilationAttr(), op.getReversalAttr(),
        b.getI64IntegerAttr(localGroups(op.getFeatureGroupCount())),
        b.getI64IntegerAttr(localGroups(op.getBatchGroupCount())));
  }

  ConvolutionOp op;
  Localizer &l;
  ConvolutionDims dims;
  SmallVector<WindowDim> window;
  RankedTensorType inputType, type;
  TypedAttr zero;
  Value input, kernel;
};

struct Convolution
    : LocalizeOpInterface::ExternalModel<Convolution, ConvolutionOp> {
  LogicalResult localize(Operation *op, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(
        ConvolutionLocalizer(cast<ConvolutionOp>(op), l).localize());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Reduce window
//===----------------------------------------------------------------------===//

class ReduceWindowLocalizer {
public:
  ReduceWindowLocalizer(ReduceWindowOp op, Localizer &l)
      : op(op), l(l), window(op.getWindowDims()),
        inputType(typeOf(op.getInput())), type(l.localResultType()),
        identity(getIdentity(op.getKind(), type.getElementType())),
        input(l.operands[0]), init(l.operands[1]) {}

  Value localize() {
    for (unsigned d = 0; d < window.size(); ++d) {
      ArrayRef<AxisId> axes = l.operandShardings[0].dims[d];
      if (axes.empty())
        continue;
      if (op.contractsDim(d))
        contract(d);
      else if (!window[d].isPointwise())
        input = fetchWindows(l, input, {d, inputType.getDimSize(d), axes},
                             window[d].rowsOfWindow(), type.getDimSize(d),
                             identity, window[d]);
    }
    if (contracted.empty())
      return build();
    keepInitOnce();
    return finish(build());
  }

private:
  /// All of the device's rows go into the window; holes and padding never
  /// counted.
  void contract(unsigned d) {
    input = l.maskPadding(input, inputType.getShape(), l.operandShardings[0],
                          {static_cast<int64_t>(d)}, identity);
    window[d] = WindowDim();
    window[d].size = typeOf(input).getDimSize(d);
    llvm::append_range(contracted, l.operandShardings[0].dims[d]);
  }

  /// One of the devices that make addends has the initial value.
  void keepInitOnce() {
    DenseElementsAttr constant;
    if (matchPattern(op.getInit(), m_Constant(&constant)) &&
        constant.isSplat() && constant.getSplatValue<Attribute>() == identity)
      return;
    init = keepOnFirst(l, init, contracted,
                       getNeutralElement(op.getKind(), identity.getType()));
  }

  /// Sums stay partial.
  Value finish(Value local) {
    if (op.getKind() == ReduceKind::Sum)
      return local;
    return reduceOver(l, local, op.getKind(), contracted);
  }

  Value build() {
    OpBuilder &b = l.builder;
    auto sizes = llvm::map_to_vector(
        window, [](const WindowDim &dim) { return dim.size; });
    return ReduceWindowOp::create(
        b, l.getLoc(), type, op.getKindAttr(), input, init,
        b.getDenseI64ArrayAttr(sizes), listOf(b, window, &WindowDim::stride, 1),
        listOf(b, window, &WindowDim::low, 0),
        listOf(b, window, &WindowDim::high, 0),
        listOf(b, window, &WindowDim::baseDilation, 1),
        listOf(b, window, &WindowDim::windowDilation, 1));
  }

  ReduceWindowOp op;
  Localizer &l;
  SmallVector<WindowDim> window;
  RankedTensorType inputType, type;
  TypedAttr identity;
  Value input, init;
  AxisList contracted;
};

struct ReduceWindow
    : LocalizeOpInterface::ExternalModel<ReduceWindow, ReduceWindowOp> {
  LogicalResult localize(Operation *op, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(
        ReduceWindowLocalizer(cast<ReduceWindowOp>(op), l).localize());
    return success();
  }
};

} // namespace

void shoal::registerWindowsLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ConvolutionOp::attachInterface<Convolution>(*context);
    ReduceWindowOp::attachInterface<ReduceWindow>(*context);
  });
}

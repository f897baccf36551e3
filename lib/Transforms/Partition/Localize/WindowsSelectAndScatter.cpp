// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The local form of select_and_scatter. Along a split dimension each device
// fetches all windows that touch its rows, source elements and operand rows,
// scatters over all of these rows and keeps its own.

#include "Models.h"
#include "Shapes.h"
#include "WindowRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"
#include "shoal/Transforms/Partition/Passes.h"

using namespace mlir;
using namespace shoal;

namespace {

class SelectAndScatterLocalizer {
public:
  SelectAndScatterLocalizer(SelectAndScatterOp op, Localizer &l)
      : op(op), l(l), window(op.getWindowDims()), input(l.operands[0]),
        source(l.operands[1]), init(l.operands[2]) {}

  Value localize() {
    for (unsigned d = 0; d < window.size(); ++d) {
      ArrayRef<AxisId> axes = l.operandShardings[0].dims[d];
      if (!axes.empty() && !window[d].isPointwise())
        fetch(d, axes);
    }
    OpBuilder &b = l.builder;
    Value result = SelectAndScatterOp::create(
        b, l.getLoc(), typeOf(input), op.getKindAttr(), input, source, init,
        op.getWindowAttr(), op.getStridesAttr(),
        listOf(b, window, &WindowDim::low, 0),
        listOf(b, window, &WindowDim::high, 0), op.getLastAttr());
    for (const OwnRows &own : llvm::reverse(ownRows))
      result = keep(own, result);
    return result;
  }

private:
  /// Where a device's own rows are among those that it scatters over.
  struct OwnRows {
    unsigned dim;
    int64_t count, base;
    Phase phase;
    ArrayRef<AxisId> axes;
  };

  void fetch(unsigned d, ArrayRef<AxisId> axes) {
    WindowDim &dim = window[d];
    RankedTensorType type = typeOf(op.getInput());
    int64_t block = typeOf(l.operands[0]).getDimSize(d);
    RowWindow windows = windowOf(dim.windowsOfRow(), block);
    source = l.fetchRows(source, d, typeOf(op.getSource()).getDimSize(d), axes,
                         windows,
                         getIdentity(ReduceKind::Sum, type.getElementType()));

    // The first window has the number (block * i + offset) / stride, rounded
    // down by a phase, and begins as far before the own rows:
    // first * stride - low = block * i + offset - low - phase.
    Phase phase{windows.step, windows.offset, dim.stride};
    int64_t shift = windows.offset - dim.low;
    int64_t places = (windows.rows - 1) * dim.stride + dim.size;
    fetchInput(d, axes, phase, shift, places);
    dim.low = dim.high = 0;
    ownRows.push_back({d, block, -shift, phase, axes});
  }

  /// The rows of the windows, `places` of them from block * i + shift - phase
  /// on.
  void fetchInput(unsigned d, ArrayRef<AxisId> axes, const Phase &phase,
                  int64_t shift, int64_t places) {
    RankedTensorType type = typeOf(op.getInput());
    int64_t size = type.getDimSize(d);
    TypedAttr padding = getIdentity(op.getKind(), type.getElementType());
    if (phase.isConstant()) {
      input = l.fetchRows(input, d, size, axes, phase.step,
                          shift - phase.constant(), 1, places, padding);
      return;
    }
    // Rows for any phase, then those for the device's. The last window may lie
    // behind the own rows; what it holds there does not matter.
    int64_t last = phase.modulus - 1;
    RowWindow rows = windowOf(window[d].neighboursOfRow(), phase.step);
    assert(rows.offset == shift - last);
    input = l.fetchRows(input, d, size, axes, rows, padding);
    int64_t missing = std::max<int64_t>(places + last - rows.rows, 0);
    input = padRows(l, input, d, 0, missing, 0, padding);
    Phase rest{-phase.step, last - phase.offset, phase.modulus};
    input = cutAtPhase(l, input, d, 0, rest, axes, places);
  }

  /// Rows behind the last window get nothing but the initial value.
  Value keep(const OwnRows &own, Value result) {
    int64_t latest =
        own.phase.isConstant() ? own.phase.constant() : own.phase.modulus - 1;
    int64_t missing = std::max<int64_t>(
        own.base + latest + own.count - typeOf(result).getDimSize(own.dim), 0);
    result = padRows(l, result, own.dim, 0, missing, 0, init);
    return cutAtPhase(l, result, own.dim, own.base, own.phase, own.axes,
                      own.count);
  }

  SelectAndScatterOp op;
  Localizer &l;
  SmallVector<WindowDim> window;
  Value input, source, init;
  SmallVector<OwnRows> ownRows;
};

struct SelectAndScatter
    : LocalizeOpInterface::ExternalModel<SelectAndScatter, SelectAndScatterOp> {
  LogicalResult localize(Operation *op, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(
        SelectAndScatterLocalizer(cast<SelectAndScatterOp>(op), l).localize());
    return success();
  }
};

} // namespace

void shoal::registerWindowsSelectAndScatterLocalizeModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    SelectAndScatterOp::attachInterface<SelectAndScatter>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions of windows.

#include "../Dilation.h"
#include "Rules.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

using namespace mlir;
using namespace shoal;

static Value sumOf(TensorBuilder &b, Value x) {
  return b.reduce(ReduceKind::Sum, x,
                  llvm::to_vector(llvm::seq(tensorTypeOf(x).getRank())));
}

namespace {

struct ReduceWindow
    : DifferentiableOpInterface::ExternalModel<ReduceWindow, ReduceWindowOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ReduceWindowOp>(operation);
    if (op.getKind() == ReduceKind::Sum)
      return ofSum(op, vjp), success();
    if (op.getKind() == ReduceKind::Prod)
      return vjp.refuse("multiplies the elements of windows, of which there is "
                        "no derivative");
    bool isDilated = llvm::any_of(op.getWindowDims(), [](WindowDim dim) {
      return dim.baseDilation != 1 || dim.windowDilation != 1;
    });
    if (isDilated)
      return vjp.refuse("has dilated windows, of whose extrema there is no "
                        "derivative");
    return ofExtremum(op, vjp), success();
  }

private:
  /// Each row's windows are a window over the cotangents, spread by the stride.
  static void ofSum(ReduceWindowOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    Value g = vjp.cotangent();
    if (vjp.wants(1))
      vjp.add(1, sumOf(b, g));
    RankedTensorType type = tensorTypeOf(op.getInput());
    if (!vjp.wants(0) || type.getNumElements() == 0)
      return;
    SmallVector<int64_t> strides, low, high, spread, dilation;
    for (auto [d, window] : llvm::enumerate(op.getWindowDims())) {
      int64_t reach = dilated(window.size, window.windowDilation);
      int64_t places = dilated(tensorTypeOf(g).getDimSize(d), window.stride);
      strides.push_back(window.baseDilation);
      spread.push_back(window.stride);
      dilation.push_back(window.windowDilation);
      low.push_back(reach - 1 - window.low);
      high.push_back((type.getDimSize(d) - 1) * window.baseDilation + reach -
                     places - low.back());
    }
    Value zero = b.zeros(type.clone(ArrayRef<int64_t>()));
    auto list = [&](ArrayRef<int64_t> numbers) {
      return b.getDenseI64ArrayAttr(numbers);
    };
    vjp.add(0,
            ReduceWindowOp::create(
                b, type, ReduceKindAttr::get(op.getContext(), ReduceKind::Sum),
                g, zero, op.getWindowAttr(), list(strides), list(low),
                list(high), list(spread), list(dilation)));
  }

  /// To the first of a window's largest elements, or to the initial value where
  /// that is beyond them.
  static void ofExtremum(ReduceWindowOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    bool isMax = op.getKind() == ReduceKind::Max;
    Value g = vjp.cotangent();
    RankedTensorType init = tensorTypeOf(op.getInit());
    TypedAttr identity = getIdentity(op.getKind(), init.getElementType());
    auto identities = DenseElementsAttr::get(init, Attribute(identity));
    Attribute constant;
    if (!matchPattern(op.getInit(), m_Constant(&constant)) ||
        constant != identities) {
      IRMapping mapping;
      mapping.map(op.getInit(), arith::ConstantOp::create(b, identities));
      Value alone = b.clone(*op, mapping)->getResult(0);
      ArrayRef<int64_t> shape = tensorTypeOf(g).getShape();
      Value wins = b.compare(isMax ? arith::CmpFPredicate::OLT
                                   : arith::CmpFPredicate::OGT,
                             alone, b.broadcast(op.getInit(), shape, {}));
      Value zero = b.zeros(g.getType());
      if (vjp.wants(1))
        vjp.add(1, sumOf(b, b.select(wins, g, zero)));
      g = b.select(wins, zero, g);
    }
    if (vjp.wants(0))
      vjp.add(0, ofElements(op, g, b));
  }

  /// Negative padding cuts rows off, which no window reads.
  static Value ofElements(ReduceWindowOp op, Value g, TensorBuilder &b) {
    RankedTensorType type = tensorTypeOf(op.getInput());
    SmallVector<int64_t> before, behind, low, high, strides;
    SmallVector<int64_t> starts, limits, ones(type.getRank(), 1);
    for (auto [d, window] : llvm::enumerate(op.getWindowDims())) {
      before.push_back(std::max<int64_t>(-window.low, 0));
      behind.push_back(std::max<int64_t>(-window.high, 0));
      low.push_back(std::max<int64_t>(window.low, 0));
      high.push_back(std::max<int64_t>(window.high, 0));
      strides.push_back(window.stride);
      starts.push_back(before[d]);
      limits.push_back(type.getDimSize(d) - behind[d]);
    }
    Value x = b.slice(op.getInput(), starts, limits, ones);
    auto list = [&](ArrayRef<int64_t> numbers) {
      return b.getDenseI64ArrayAttr(numbers);
    };
    Value zero = b.zeros(type.clone(ArrayRef<int64_t>()));
    Value inside = SelectAndScatterOp::create(
        b, x.getType(), op.getKindAttr(), x, g, zero, op.getWindowAttr(),
        list(strides), list(low), list(high));
    SmallVector<int64_t> interior(type.getRank(), 0);
    return b.pad(inside, before, behind, interior);
  }
};

struct SelectAndScatter
    : DifferentiableOpInterface::ExternalModel<SelectAndScatter,
                                               SelectAndScatterOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    // The operand only says which place is selected.
    if (vjp.wants(1))
      return vjp.refuse("selects the places of its source, of which there is "
                        "no derivative");
    if (vjp.wants(2))
      vjp.add(2, sumOf(vjp.b, vjp.cotangent()));
    return success();
  }
};

} // namespace

void shoal::registerWindowsDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceWindowOp::attachInterface<ReduceWindow>(*context);
    SelectAndScatterOp::attachInterface<SelectAndScatter>(*context);
  });
}

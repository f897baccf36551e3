// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions of windows.

#include "../Dilation.h"
#include "../PullBack.h"
#include "../Unfold.h"
#include "Rules.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

using namespace mlir;
using namespace shoal;

static Value sumOf(TensorBuilder &b, Value x) {
  return b.reduce(ReduceKind::Sum, x,
                  llvm::to_vector(llvm::seq(tensorTypeOf(x).getRank())));
}

static Value identityOf(TensorBuilder &b, ReduceKind kind, Type element) {
  auto scalar = RankedTensorType::get({}, element);
  Attribute identity = getIdentity(kind, element);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(scalar, identity));
}

/// Where the extremum of each line, along the last dimension, is: the first of
/// equals.
static Value winners(TensorBuilder &b, ReduceKind kind, Value lines) {
  ArrayRef<int64_t> shape = tensorTypeOf(lines).getShape();
  int64_t last = shape.size() - 1;
  auto places = RankedTensorType::get(shape.drop_back(), b.getI32Type());
  Value place = kind == ReduceKind::Max
                    ? Value(ArgMaxOp::create(b, places, lines, last))
                    : ArgMinOp::create(b, places, lines, last);
  return b.oneHotMask(place, shape, last);
}

namespace {

struct ReduceWindow
    : DifferentiableOpInterface::ExternalModel<ReduceWindow, ReduceWindowOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ReduceWindowOp>(operation);
    if (op.getKind() == ReduceKind::Sum)
      return ofSum(op, vjp), success();
    if (op.getKind() == ReduceKind::Prod)
      return ofProduct(op, vjp);
    return ofExtremum(op, vjp);
  }

private:
  /// The windows' elements in lines; those that are not there change nothing.
  static Value lines(ReduceWindowOp op, TensorBuilder &b) {
    Value fill =
        identityOf(b, op.getKind(), getElementTypeOrSelf(op.getInput()));
    return unfold(b, op.getInput(), op.getWindowDims(),
                  tensorTypeOf(op.getResult()).getShape(), fill);
  }

  /// That of the product of each line: of the others from both ends, right with
  /// any number of zeros.
  static LogicalResult ofProduct(ReduceWindowOp op, Vjp &vjp) {
    return pullBack(vjp, vjp.cotangent(), [&](TensorBuilder &b) {
      RankedTensorType type = tensorTypeOf(op.getResult());
      Value product = b.reduce(ReduceKind::Prod, lines(op, b), type.getRank());
      Value init = b.broadcast(op.getInit(), type.getShape(), {});
      return SmallVector<Value>{b.mul(product, init)};
    });
  }

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
  static LogicalResult ofExtremum(ReduceWindowOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    bool isMax = op.getKind() == ReduceKind::Max;
    Value g = vjp.cotangent();
    RankedTensorType init = tensorTypeOf(op.getInit());
    Attribute identity = getIdentity(op.getKind(), init.getElementType());
    Attribute constant;
    if (!matchPattern(op.getInit(), m_Constant(&constant)) ||
        constant != DenseElementsAttr::get(init, identity)) {
      IRMapping mapping;
      mapping.map(op.getInit(),
                  identityOf(b, op.getKind(), init.getElementType()));
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
    if (!vjp.wants(0))
      return success();
    if (llvm::any_of(op.getWindowDims(), isDilated))
      return ofDilated(op, g, vjp);
    if (readsElements(op))
      vjp.add(0, ofElements(op, g, b));
    return success();
  }

  static bool isDilated(const WindowDim &dim) {
    return dim.baseDilation != 1 || dim.windowDilation != 1;
  }

  static LogicalResult ofDilated(ReduceWindowOp op, Value g, Vjp &vjp) {
    return pullBack(vjp, g, [&](TensorBuilder &b) {
      Value all = lines(op, b);
      Value won = b.keepWhere(winners(b, op.getKind(), all), all);
      return SmallVector<Value>{
          b.reduce(ReduceKind::Sum, won, tensorTypeOf(g).getRank())};
    });
  }

  /// Whether negative padding leaves a row in each dimension.
  static bool readsElements(ReduceWindowOp op) {
    ArrayRef<int64_t> shape = tensorTypeOf(op.getInput()).getShape();
    return llvm::all_of(llvm::zip_equal(shape, op.getWindowDims()),
                        [](auto each) {
                          auto [size, window] = each;
                          return size + std::min<int64_t>(window.low, 0) +
                                     std::min<int64_t>(window.high, 0) >
                                 0;
                        });
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
    Type element = type.getElementType(), sums = b.sumElement(element);
    Value x = b.convert(b.slice(op.getInput(), starts, limits, ones), sums);
    auto list = [&](ArrayRef<int64_t> numbers) {
      return b.getDenseI64ArrayAttr(numbers);
    };
    Value zero = b.zeros(RankedTensorType::get({}, sums));
    Value inside = SelectAndScatterOp::create(
        b, x.getType(), op.getKindAttr(), x, b.convert(g, sums), zero,
        op.getWindowAttr(), list(strides), list(low), list(high));
    SmallVector<int64_t> interior(type.getRank(), 0);
    return b.pad(b.convert(inside, element), before, behind, interior);
  }
};

struct SelectAndScatter
    : DifferentiableOpInterface::ExternalModel<SelectAndScatter,
                                               SelectAndScatterOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    // The operand only says which place is selected.
    auto op = cast<SelectAndScatterOp>(operation);
    if (vjp.wants(1) && tensorTypeOf(op.getSource()).getNumElements() > 0)
      vjp.add(1, ofSource(op, vjp.cotangent(), vjp.b));
    if (vjp.wants(2))
      vjp.add(2, sumOf(vjp.b, vjp.cotangent()));
    return success();
  }

private:
  /// The cotangent at the place that the window selected; of padding, none.
  static Value ofSource(SelectAndScatterOp op, Value g, TensorBuilder &b) {
    RankedTensorType source = tensorTypeOf(op.getSource());
    int64_t last = source.getRank();
    auto lines = [&](Value x, Value fill) {
      Value all = unfold(b, x, op.getWindowDims(), source.getShape(), fill);
      return op.getLast() ? b.reverse(all, last) : all;
    };
    Type element = source.getElementType();
    Value places =
        winners(b, op.getKind(),
                lines(op.getInput(), identityOf(b, op.getKind(), element)));
    Value zero = b.zeros(source.clone(ArrayRef<int64_t>()));
    return b.reduce(ReduceKind::Sum, b.keepWhere(places, lines(g, zero)), last);
  }
};

} // namespace

void shoal::registerWindowsDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceWindowOp::attachInterface<ReduceWindow>(*context);
    SelectAndScatterOp::attachInterface<SelectAndScatter>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A convolution's gradients are convolutions: of the cotangent with the kernel
// turned round, and of the operand with the cotangent.

#include "../Dilation.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

using namespace mlir;
using namespace shoal;

/// Splits dimension `dim` into (groups, rest) and moves the groups in front of
/// dimension `to`, one of them then.
static Value moveGroups(TensorBuilder &b, Value x, int64_t dim, int64_t to,
                        int64_t groups) {
  SmallVector<int64_t> split(tensorTypeOf(x).getShape());
  split[dim] /= groups;
  split.insert(split.begin() + dim, groups);
  // Where dimensions of x are now, with `dim` meaning the rest of it.
  auto moved = [&](int64_t d) { return d < dim ? d : d + 1; };
  SmallVector<int64_t> order, merged;
  for (int64_t d = 0; d < tensorTypeOf(x).getRank(); ++d) {
    if (d == to)
      order.push_back(dim);
    order.push_back(moved(d));
    merged.push_back(split[moved(d)] * (d == to ? groups : 1));
  }
  return b.reshape(b.transpose(b.reshape(x, split), order), merged);
}

namespace {

/// The lists of a convolution, to be filled dimension by dimension.
struct Lists {
  SmallVector<int64_t> strides, low, high, baseDilation, windowDilation;
  SmallVector<bool> reversal;
};

struct Convolution
    : DifferentiableOpInterface::ExternalModel<Convolution, ConvolutionOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ConvolutionOp>(operation);
    TensorBuilder &b = vjp.b;
    Type element = tensorTypeOf(op.getInput()).getElementType();
    Value g = b.convert(vjp.cotangent(), element);
    if (vjp.wants(0))
      vjp.add(0, ofOperand(op, g, b));
    if (vjp.wants(1))
      vjp.add(1, ofKernel(op, g, b));
    return success();
  }

private:
  static Value ofOperand(ConvolutionOp op, Value g, TensorBuilder &b) {
    ConvolutionDims dims = op.getDims();
    int64_t features = op.getFeatureGroupCount();
    int64_t batches = op.getBatchGroupCount();
    Lists lists;
    for (auto [d, window] : llvm::enumerate(op.getWindow())) {
      auto [rows, reach, places] = sizesOf(op, dims, d, window);
      int64_t low = reach - 1 - window.low;
      lists.strides.push_back(window.baseDilation);
      lists.baseDilation.push_back(window.stride);
      lists.windowDilation.push_back(window.windowDilation);
      lists.low.push_back(low);
      lists.high.push_back(rows + reach - 1 - places - low);
      lists.reversal.push_back(!window.reversed);
    }
    // Features in are features out; groups are the outer part of either.
    Value kernel = op.getKernel();
    int64_t groups = std::max(features, batches);
    if (groups > 1)
      kernel =
          moveGroups(b, kernel, dims.kernel.second, dims.kernel.first, groups);
    auto [input, kernelTerm, result] = termsOf(op);
    std::string spec =
        result + "," + swapped(kernelTerm, 'i', 'o') + "->" + input;
    RankedTensorType type = tensorTypeOf(op.getInput());
    SmallVector<int64_t> shape(type.getShape());
    shape[dims.input.first] /= batches;
    shape[dims.input.second] *= batches;
    Value gradient = build(b, spec, g, kernel, type.clone(shape), lists, groups,
                           /*batchGroups=*/1);
    // Groups of the batch were features in between.
    return batches == 1 ? gradient
                        : moveGroups(b, gradient, dims.input.second,
                                     dims.input.first, batches);
  }

  static Value ofKernel(ConvolutionOp op, Value g, TensorBuilder &b) {
    ConvolutionDims dims = op.getDims();
    Lists lists;
    SmallVector<int64_t> reversed;
    for (auto [d, window] : llvm::enumerate(op.getWindow())) {
      auto [rows, reach, places] = sizesOf(op, dims, d, window);
      lists.strides.push_back(window.windowDilation);
      lists.baseDilation.push_back(window.baseDilation);
      lists.windowDilation.push_back(window.stride);
      lists.low.push_back(window.low);
      lists.high.push_back(places - rows + reach - window.low - 1);
      lists.reversal.push_back(false);
      if (window.reversed)
        reversed.push_back(dims.kernel.spatial[d]);
    }
    auto [input, kernel, result] = termsOf(op);
    std::string spec = swapped(input, 'b', 'f') + "," +
                       renamed(result, 'b', 'i', 'f', 'o') + "->" +
                       renamed(kernel, 'i', 'b', 'o', 'f');
    Value gradient =
        build(b, spec, op.getInput(), g, tensorTypeOf(op.getKernel()), lists,
              op.getBatchGroupCount(), op.getFeatureGroupCount());
    if (reversed.empty())
      return gradient;
    llvm::sort(reversed);
    return b.reverse(gradient, reversed);
  }

  /// Places of the operand, the kernel and the result along a dimension.
  static std::tuple<int64_t, int64_t, int64_t>
  sizesOf(ConvolutionOp op, const ConvolutionDims &dims, size_t d,
          const WindowDim &window) {
    return {
        dilated(tensorTypeOf(op.getInput()).getDimSize(dims.input.spatial[d]),
                window.baseDilation),
        dilated(window.size, window.windowDilation),
        dilated(op.getType().getDimSize(dims.result.spatial[d]),
                window.stride)};
  }

  static std::tuple<std::string, std::string, std::string>
  termsOf(ConvolutionOp op) {
    auto [operands, result] = op.getSpec().split("->");
    auto [input, kernel] = operands.split(',');
    return {input.str(), kernel.str(), result.str()};
  }

  static std::string renamed(std::string term, char a, char x, char c, char y) {
    for (char &letter : term)
      letter = letter == a ? x : letter == c ? y : letter;
    return term;
  }
  static std::string swapped(std::string term, char a, char c) {
    return renamed(std::move(term), a, c, c, a);
  }

  static Value build(TensorBuilder &b, StringRef spec, Value input,
                     Value kernel, RankedTensorType type, const Lists &lists,
                     int64_t featureGroups, int64_t batchGroups) {
    auto list = [&](ArrayRef<int64_t> numbers) {
      return b.getDenseI64ArrayAttr(numbers);
    };
    return ConvolutionOp::create(
        b, type, b.getStringAttr(spec), input, kernel, list(lists.strides),
        list(lists.low), list(lists.high), list(lists.baseDilation),
        list(lists.windowDilation), b.getDenseBoolArrayAttr(lists.reversal),
        b.getI64IntegerAttr(featureGroups), b.getI64IntegerAttr(batchGroups));
  }
};

} // namespace

void shoal::registerWindowsConvolutionDerivativeRules(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ConvolutionOp::attachInterface<Convolution>(*context);
  });
}

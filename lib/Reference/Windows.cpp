// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/WindowsOps.h"
#include <cmath>

using namespace mlir;

namespace shoal::reference {

namespace {
/// Where windows stand in a tensor of which they slide over some dimensions.
struct WindowedDims {
  SmallVector<WindowDim> window;
  /// Of each of those dimensions.
  SmallVector<int64_t, 4> sizes, strides;

  SmallVector<int64_t, 4> windowShape() const {
    return llvm::map_to_vector<4>(window,
                                  [](const WindowDim &w) { return w.size; });
  }

  /// How far from the tensor's first element place `place` of window `number`
  /// is; nothing where no element is there.
  std::optional<int64_t> find(ArrayRef<int64_t> number,
                              ArrayRef<int64_t> place) const {
    int64_t at = 0;
    for (auto [d, dim] : llvm::enumerate(window)) {
      std::optional<int64_t> row = dim.rowAt(number[d], place[d]);
      if (!row || *row < 0 || *row >= sizes[d])
        return std::nullopt;
      at += *row * strides[d];
    }
    return at;
  }
};
} // namespace

static WindowedDims overAllDims(const Tensor &tensor,
                                SmallVector<WindowDim> window) {
  return {std::move(window), SmallVector<int64_t, 4>(tensor.getShape()),
          rowMajorStrides(tensor.getShape())};
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The sums of a convolution in T: double, or uint64_t for integers.
template <typename T>
class Convolution {
public:
  Convolution(ConvolutionOp op, ArrayRef<Tensor> operands)
      : dims(op.getDims()), input(operands[0]), kernel(operands[1]),
        type(resultType(op)), inputStrides(rowMajorStrides(input.getShape())),
        kernelStrides(rowMajorStrides(kernel.getShape())),
        featureGroups(op.getFeatureGroupCount()),
        batchGroups(op.getBatchGroupCount()) {
    spatial.window = op.getWindow();
    for (unsigned d : dims.input.spatial) {
      spatial.sizes.push_back(input.getShape()[d]);
      spatial.strides.push_back(inputStrides[d]);
    }
  }

  Tensor evaluate() const {
    Tensor result(type);
    Scalar *target = result.getMutableElements().data();
    forEachIndex(type.shape, [&](ArrayRef<int64_t> index) {
      T sum = sumAt(index);
      if constexpr (std::is_same_v<T, double>)
        target->f = roundTo(type.element, sum);
      else
        target->i = wrapTo(type.element, static_cast<int64_t>(sum));
      ++target;
    });
    return result;
  }

private:
  static T read(Scalar element) {
    if constexpr (std::is_same_v<T, double>)
      return element.f;
    else
      return static_cast<uint64_t>(element.i);
  }

  /// The distance in the kernel to place `place` of its windows.
  int64_t kernelAt(ArrayRef<int64_t> place) const {
    int64_t at = 0;
    for (auto [d, dim] : llvm::enumerate(spatial.window))
      at += (dim.reversed ? dim.size - 1 - place[d] : place[d]) *
            kernelStrides[dims.kernel.spatial[d]];
    return at;
  }

  T sumAt(ArrayRef<int64_t> index) const {
    int64_t batch = index[dims.result.first];
    int64_t feature = index[dims.result.second];
    int64_t features = type.shape[dims.result.second];
    int64_t inner = kernel.getShape()[dims.kernel.first];
    int64_t group = feature / (features / (featureGroups * batchGroups));
    int64_t firstFeature = featureGroups > 1 ? group * inner : 0;
    if (batchGroups > 1)
      batch += group * type.shape[dims.result.first];

    int64_t inputStart = batch * inputStrides[dims.input.first] +
                         firstFeature * inputStrides[dims.input.second];
    int64_t kernelStart = feature * kernelStrides[dims.kernel.second];
    SmallVector<int64_t, 3> window;
    for (unsigned d : dims.result.spatial)
      window.push_back(index[d]);
    T sum = 0;
    forEachIndex(spatial.windowShape(), [&](ArrayRef<int64_t> place) {
      std::optional<int64_t> at = spatial.find(window, place);
      if (!at)
        return;
      int64_t x = inputStart + *at, w = kernelStart + kernelAt(place);
      for (int64_t i = 0; i < inner; ++i) {
        sum += read(input[x]) * read(kernel[w]);
        x += inputStrides[dims.input.second];
        w += kernelStrides[dims.kernel.first];
      }
    });
    return sum;
  }

  ConvolutionDims dims;
  WindowedDims spatial;
  const Tensor &input, &kernel;
  TensorType type;
  SmallVector<int64_t, 4> inputStrides, kernelStrides;
  int64_t featureGroups, batchGroups;
};
} // namespace

static FailureOr<Tensors> evaluateConvolution(ConvolutionOp op,
                                              ArrayRef<Tensor> operands) {
  if (isFloat(resultType(op).element))
    return Tensors{Convolution<double>(op, operands).evaluate()};
  return Tensors{Convolution<uint64_t>(op, operands).evaluate()};
}

//===----------------------------------------------------------------------===//
// Reduce window
//===----------------------------------------------------------------------===//

static FailureOr<Tensors> evaluateReduceWindow(ReduceWindowOp op,
                                               ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  WindowedDims dims = overAllDims(operands[0], op.getWindowDims());
  Combiner combiner(op.getKind(), result.getElementType());
  Scalar *target = result.getMutableElements().data();
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> window) {
    Scalar accumulated = operands[1][0];
    forEachIndex(dims.windowShape(), [&](ArrayRef<int64_t> place) {
      if (std::optional<int64_t> at = dims.find(window, place))
        accumulated = combiner.combine(accumulated, operands[0][*at]);
    });
    *target++ = combiner.finish(accumulated);
  });
  return Tensors{result};
}

//===----------------------------------------------------------------------===//
// Select and scatter
//===----------------------------------------------------------------------===//

/// Whether a is beyond b in the direction of `kind`, NaN being beyond numbers.
static bool isBeyond(ReduceKind kind, ElementType type, Scalar a, Scalar b) {
  if (kind == ReduceKind::Min && !(isFloat(type) && std::isnan(a.f)) &&
      !(isFloat(type) && std::isnan(b.f)))
    std::swap(a, b);
  if (!isFloat(type))
    return a.i > b.i;
  if (std::isnan(a.f) || std::isnan(b.f))
    return std::isnan(a.f) && !std::isnan(b.f);
  return a.f > b.f;
}

static FailureOr<Tensors> evaluateSelectAndScatter(SelectAndScatterOp op,
                                                   ArrayRef<Tensor> operands) {
  const Tensor &input = operands[0], &source = operands[1];
  Tensor result(resultType(op));
  ElementType type = result.getElementType();
  MutableArrayRef<Scalar> target = result.getMutableElements();
  llvm::fill(target, operands[2][0]);
  WindowedDims dims = overAllDims(input, op.getWindowDims());
  Scalar padding = Combiner(op.getKind(), type).identity();
  Combiner sum(ReduceKind::Sum, type);
  int64_t number = 0;
  forEachIndex(source.getShape(), [&](ArrayRef<int64_t> window) {
    std::optional<Scalar> best;
    std::optional<int64_t> selected;
    forEachIndex(dims.windowShape(), [&](ArrayRef<int64_t> place) {
      std::optional<int64_t> at = dims.find(window, place);
      Scalar element = at ? input[*at] : padding;
      bool isBetter =
          !best ||
          (op.getLast() ? !isBeyond(op.getKind(), type, *best, element)
                        : isBeyond(op.getKind(), type, element, *best));
      if (!isBetter)
        return;
      best = element;
      selected = at;
    });
    if (selected)
      target[*selected] = sum.combine(target[*selected], source[number]);
    ++number;
  });
  for (Scalar &element : target)
    element = sum.finish(element);
  return Tensors{result};
}

void registerWindowsModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<ConvolutionOp, evaluateConvolution>(context);
    attach<ReduceWindowOp, evaluateReduceWindow>(context);
    attach<SelectAndScatterOp, evaluateSelectAndScatter>(context);
  });
}

} // namespace shoal::reference

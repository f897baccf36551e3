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

  Tensor evaluate() {
    Tensor result(type);
    readWeights();
    SmallVector<int64_t, 4> windows(type.shape);
    int64_t features = windows[dims.result.second];
    if (features == 0)
      return result;
    windows[dims.result.second] = 1;
    SmallVector<int64_t, 4> strides = rowMajorStrides(type.shape);
    std::vector<T> sums(features);
    MutableArrayRef<Scalar> elements = result.getMutableElements();
    forEachIndex(windows, [&](ArrayRef<int64_t> index) {
      llvm::fill(sums, T(0));
      addWindow(index, sums);
      int64_t at = 0;
      for (auto [place, stride] : llvm::zip_equal(index, strides))
        at += place * stride;
      for (T sum : sums) {
        store(sum, elements[at]);
        at += strides[dims.result.second];
      }
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

  void store(T sum, Scalar &target) const {
    if constexpr (std::is_same_v<T, double>)
      target.f = roundTo(type.element, sum);
    else
      target.i = wrapTo(type.element, static_cast<int64_t>(sum));
  }

  /// The distance in the kernel to place `place` of its windows.
  int64_t kernelAt(ArrayRef<int64_t> place) const {
    int64_t at = 0;
    for (auto [d, dim] : llvm::enumerate(spatial.window))
      at += (dim.reversed ? dim.size - 1 - place[d] : place[d]) *
            kernelStrides[dims.kernel.spatial[d]];
    return at;
  }

  int64_t inner() const { return kernel.getShape()[dims.kernel.first]; }

  /// The kernel as a window's sums read it: its places, features of the
  /// operand, features of the result, the last ones side by side.
  void readWeights() {
    forEachIndex(spatial.windowShape(), [&](ArrayRef<int64_t> place) {
      for (int64_t i = 0; i < inner(); ++i)
        for (int64_t o = 0; o < type.shape[dims.result.second]; ++o)
          weights.push_back(read(
              kernel[kernelAt(place) + i * kernelStrides[dims.kernel.first] +
                     o * kernelStrides[dims.kernel.second]]));
    });
  }

  /// Adds to the sums of all features at one place of the result, whose terms
  /// come in the order of the window's places.
  void addWindow(ArrayRef<int64_t> index, std::vector<T> &sums) const {
    if (weights.empty())
      return;
    SmallVector<int64_t, 3> window;
    for (unsigned d : dims.result.spatial)
      window.push_back(index[d]);
    const T *row = weights.data();
    auto numFeatures = static_cast<int64_t>(sums.size());
    int64_t groups = featureGroups * batchGroups, part = numFeatures / groups;
    forEachIndex(spatial.windowShape(), [&](ArrayRef<int64_t> place) {
      const T *weight = row;
      row += inner() * numFeatures;
      std::optional<int64_t> at = spatial.find(window, place);
      for (int64_t group = 0; at && group < groups; ++group)
        addTerms(startOf(index, group) + *at, weight + group * part, part,
                 sums.data() + group * part);
    });
  }

  /// The distance in the operand to what a group of features is made of.
  int64_t startOf(ArrayRef<int64_t> index, int64_t group) const {
    int64_t batch = index[dims.result.first], feature = 0;
    if (featureGroups > 1)
      feature = group * inner();
    if (batchGroups > 1)
      batch += group * type.shape[dims.result.first];
    return batch * inputStrides[dims.input.first] +
           feature * inputStrides[dims.input.second];
  }

  /// The terms of one place of a window.
  void addTerms(int64_t at, const T *weight, int64_t features, T *sums) const {
    for (int64_t i = 0; i < inner(); ++i) {
      T element = read(input[at]);
      for (int64_t o = 0; o < features; ++o)
        sums[o] += element * weight[o];
      at += inputStrides[dims.input.second];
      weight += type.shape[dims.result.second];
    }
  }

  ConvolutionDims dims;
  WindowedDims spatial;
  const Tensor &input, &kernel;
  TensorType type;
  SmallVector<int64_t, 4> inputStrides, kernelStrides;
  int64_t featureGroups, batchGroups;
  std::vector<T> weights;
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

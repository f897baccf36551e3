// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops with windows. A dimension that a window slides over is split by windows:
// the device that computes some fetches the rows that they read. Where all rows
// go into one window, or the kernel has more rows than there are windows, the
// dimension is contracted instead.

#include "Models.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"
#include "shoal/Sharding/DilatedRows.h"

using namespace mlir;
using namespace shoal;

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

static double countPlaces(ArrayRef<WindowDim> window) {
  double places = 1;
  for (const WindowDim &dim : window)
    places *= dim.size;
  return places;
}

namespace {

/// A dimension of a convolution's tensors.
enum Tensor : unsigned { Input, Kernel, Result };
struct Place {
  Tensor tensor;
  unsigned dim;
};

class ConvolutionRule {
public:
  explicit ConvolutionRule(ConvolutionOp op)
      : op(op), dims(op.getDims()), window(op.getWindow()) {
    rule.operands = {DimFactors(dims.input.rank()),
                     DimFactors(dims.kernel.rank())};
    rule.results = {DimFactors(dims.result.rank())};
  }

  FactorRule build() {
    addChannels();
    for (unsigned d = 0; d < dims.numSpatial(); ++d)
      addSpatial(d);
    rule.linearIn = {{0}, {1}};
    RankedTensorType kernel = tensorTypeOf(op.getKernel());
    rule.flops = 2.0 * op.getType().getNumElements() * countPlaces(window) *
                 kernel.getDimSize(dims.kernel.first);
    return rule;
  }

private:
  int64_t sizeOf(Place place) {
    Value tensors[] = {op.getInput(), op.getKernel(), op.getResult()};
    return tensorTypeOf(tensors[place.tensor]).getDimSize(place.dim);
  }

  void addFactor(int64_t size, ArrayRef<Place> places,
                 FactorKind kind = FactorKind::Parallel) {
    Factor factor{size, kind, std::nullopt, /*needsEvenSplit=*/false};
    if (kind == FactorKind::Reduction)
      factor.reduction = ReduceKind::Sum;
    for (auto [tensor, dim] : places) {
      // A part of a dimension: blocks of parts must be blocks of the whole.
      if (sizeOf({tensor, dim}) != size)
        factor.needsEvenSplit = true;
      DimFactors &factors =
          tensor == Result ? rule.results[0] : rule.operands[tensor];
      factors[dim].push_back(rule.factors.size());
    }
    rule.factors.push_back(factor);
  }

  /// Batch and features. Dimensions that groups cut have the groups as their
  /// major factor, and no minor one where groups are of size 1.
  void addChannels() {
    Place batch{Input, dims.input.first},
        resultBatch{Result, dims.result.first};
    Place in{Input, dims.input.second}, kernelIn{Kernel, dims.kernel.first};
    Place kernelOut{Kernel, dims.kernel.second};
    Place out{Result, dims.result.second};
    int64_t byFeature = op.getFeatureGroupCount();
    int64_t byBatch = op.getBatchGroupCount();
    int64_t groups = byFeature * byBatch;
    if (byFeature > 1)
      addFactor(groups, {in, kernelOut, out});
    if (byBatch > 1)
      addFactor(groups, {batch, kernelOut, out});
    if (byBatch == 1 || sizeOf(resultBatch) != 1)
      addFactor(sizeOf(resultBatch), {batch, resultBatch});
    if (byFeature == 1 || sizeOf(kernelIn) != 1)
      addFactor(sizeOf(kernelIn), {in, kernelIn}, FactorKind::Reduction);
    if (groups == 1 || sizeOf(out) != groups)
      addFactor(sizeOf(out) / groups, {kernelOut, out});
  }

  void addSpatial(unsigned d) {
    Place in{Input, dims.input.spatial[d]}, out{Result, dims.result.spatial[d]};
    int64_t rows = sizeOf(in), windows = sizeOf(out);
    if (rows == 0 || windows == 0)
      return;
    unsigned id = rule.factors.size();
    bool contracts = op.contractsSpatial(d);
    int64_t size = contracts ? window[d].size : windows;
    Place other = contracts ? Place{Kernel, dims.kernel.spatial[d]} : out;
    addFactor(size, {other},
              contracts ? FactorKind::Reduction : FactorKind::Parallel);
    rule.operands[Input][in.dim].push_back(id);
    if (window[d].isPointwise())
      return;
    RowMap places = contracts ? window[d].rowsOfKernelRow(windows)
                              : window[d].rowsOfWindow();
    rule.windows.push_back({Input, in.dim, fromFirstRow(places), size});
  }

  ConvolutionOp op;
  ConvolutionDims dims;
  SmallVector<WindowDim> window;
  FactorRule rule;
};

struct Convolution
    : FactorRuleOpInterface::ExternalModel<Convolution, ConvolutionOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *op) const {
    return ConvolutionRule(cast<ConvolutionOp>(op)).build();
  }
};

struct ReduceWindow
    : FactorRuleOpInterface::ExternalModel<ReduceWindow, ReduceWindowOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<ReduceWindowOp>(operation);
    RankedTensorType input = tensorTypeOf(op.getInput()), result = op.getType();
    SmallVector<WindowDim> window = op.getWindowDims();
    FactorRuleBuilder builder({input.getRank(), 0}, {result.getRank()});
    for (int64_t d = 0; d < input.getRank(); ++d) {
      int64_t rows = input.getDimSize(d), windows = result.getDimSize(d);
      if (rows == 0 || windows == 0)
        continue;
      if (op.contractsDim(d)) {
        builder.addFactor(rows, {d, -1}, {-1}, FactorKind::Reduction,
                          op.getKind());
        continue;
      }
      builder.addFactor(windows, {d, -1}, {d});
      if (!window[d].isPointwise())
        builder.window(0, d, fromFirstRow(window[d].rowsOfWindow()));
    }
    if (op.getKind() == ReduceKind::Sum) {
      builder.linearIn({0, 1});
      if (isZero(op.getInit()))
        builder.linearIn({0});
    }
    return builder.flops(result.getNumElements() * countPlaces(window)).build();
  }
};

struct SelectAndScatter
    : FactorRuleOpInterface::ExternalModel<SelectAndScatter,
                                           SelectAndScatterOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<SelectAndScatterOp>(operation);
    RankedTensorType type = op.getType(), source = tensorTypeOf(op.getSource());
    SmallVector<WindowDim> window = op.getWindowDims();
    FactorRuleBuilder builder({type.getRank(), type.getRank(), 0},
                              {type.getRank()});
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t rows = type.getDimSize(d);
      if (rows == 0 || source.getDimSize(d) == 0)
        continue;
      builder.addFactor(rows, {d, d, -1}, {d});
      if (window[d].isPointwise())
        continue;
      builder.window(0, d, window[d].neighboursOfRow());
      builder.window(1, d, window[d].windowsOfRow());
    }
    builder.linearIn({1, 2});
    if (isZero(op.getInit()))
      builder.linearIn({1});
    return builder.flops(source.getNumElements() * countPlaces(window)).build();
  }
};

} // namespace

void shoal::registerWindowsFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ConvolutionOp::attachInterface<Convolution>(*context);
    ReduceWindowOp::attachInterface<ReduceWindow>(*context);
    SelectAndScatterOp::attachInterface<SelectAndScatter>(*context);
  });
}

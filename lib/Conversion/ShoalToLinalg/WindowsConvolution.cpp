// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// convolution: products or loops over an operand without holes, one for each
// phase of the rows that meet the same places of the kernel.

#include "Combiner.h"
#include "ConvolutionPhases.h"
#include "ConvolutionProduct.h"
#include "Families.h"
#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

/// More phases are not worth their calls: holes are filled with zeros.
static constexpr size_t kMostPhases = 64;

namespace {

/// A phase of each spatial dimension.
using Phases = SmallVector<ConvolutionPhase>;

/// The parts of a convolution that its phases make.
class PhasedConvolution {
public:
  PhasedConvolution(OpBuilder &builder, Location loc,
                    const ConvolutionValues &whole)
      : builder(builder), loc(loc), whole(whole) {
    for (auto [window, dim] :
         llvm::zip_equal(whole.window, whole.dims.result.spatial))
      phases.push_back(phasesOf(window, whole.type.getDimSize(dim)));
  }

  size_t count() const {
    size_t count = 1;
    for (const Phases &ofDim : phases)
      count *= ofDim.size();
    return count;
  }

  Value make() {
    // A slice has no place in what is empty.
    bool isEmpty = whole.type.getNumElements() == 0 ||
                   tensorTypeOf(whole.kernel).getNumElements() == 0;
    if (count() <= 1 || count() > kMostPhases || isEmpty)
      return makeConvolution(builder, loc, whole);
    Value result = makeTarget();
    for (size_t number = 0; number < count(); ++number)
      result = insertPart(combination(number), result);
    return result;
  }

private:
  Phases combination(size_t number) const {
    Phases chosen;
    for (const Phases &ofDim : phases) {
      chosen.push_back(ofDim[number % ofDim.size()]);
      number /= ofDim.size();
    }
    return chosen;
  }

  /// Zero where rows meet holes alone.
  Value makeTarget() {
    Type element = whole.type.getElementType();
    auto isMade = [](const ConvolutionPhase &phase) {
      return phase.kernel.count > 0;
    };
    if (llvm::all_of(phases, [&](const Phases &ofDim) {
          return llvm::all_of(ofDim, isMade);
        }))
      return makeEmpty(builder, loc, whole.type.getShape(), element);
    return makeFilled(builder, loc, whole.type.getShape(),
                      getIdentity(ReduceKind::Sum, element));
  }

  /// Offsets, sizes and strides of rows of a tensor's spatial dimensions.
  std::array<SmallVector<OpFoldResult>, 3>
  describe(ArrayRef<int64_t> shape, ArrayRef<unsigned> dims,
           ArrayRef<SteppedRows> rows) {
    std::array<SmallVector<OpFoldResult>, 3> slice;
    for (int64_t size : shape) {
      slice[0].push_back(builder.getIndexAttr(0));
      slice[1].push_back(builder.getIndexAttr(size));
      slice[2].push_back(builder.getIndexAttr(1));
    }
    for (auto [dim, part] : llvm::zip_equal(dims, rows)) {
      slice[0][dim] = builder.getIndexAttr(part.first);
      slice[1][dim] = builder.getIndexAttr(part.count);
      // Of a single row no distance is known.
      slice[2][dim] = builder.getIndexAttr(part.count > 1 ? part.step : 1);
    }
    return slice;
  }

  Value insertPart(const Phases &chosen, Value target) {
    SmallVector<SteppedRows> kernelRows, resultRows;
    SmallVector<int64_t> shape(whole.type.getShape());
    ConvolutionValues part = whole;
    part.window.clear();
    for (auto [dim, phase] :
         llvm::zip_equal(whole.dims.result.spatial, chosen)) {
      if (phase.kernel.count == 0)
        return target;
      kernelRows.push_back(phase.kernel);
      resultRows.push_back(phase.result);
      shape[dim] = phase.result.count;
      part.window.push_back(phase.window);
    }
    part.type = whole.type.clone(shape);
    auto [first, sizes, steps] =
        describe(tensorTypeOf(whole.kernel).getShape(),
                 whole.dims.kernel.spatial, kernelRows);
    part.kernel = tensor::ExtractSliceOp::create(builder, loc, whole.kernel,
                                                 first, sizes, steps);
    Value made = makeConvolution(builder, loc, part);
    auto [at, counts, distances] =
        describe(whole.type.getShape(), whole.dims.result.spatial, resultRows);
    return tensor::InsertSliceOp::create(builder, loc, made, target, at, counts,
                                         distances);
  }

  OpBuilder &builder;
  Location loc;
  const ConvolutionValues &whole;
  SmallVector<Phases> phases;
};

struct LowerConvolution : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    ConvolutionValues values(op);
    rewriter.replaceOp(op,
                       PhasedConvolution(rewriter, op.getLoc(), values).make());
    return success();
  }
};

} // namespace

void shoal::populateWindowsConvolutionPatterns(RewritePatternSet &patterns,
                                               const ProgramNumbering &) {
  patterns.add<LowerConvolution>(patterns.getContext());
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// convolution: a matrix product over the operand's patches (im2col), or loops
// where these would take too much memory.

#include "Combiner.h"
#include "Families.h"
#include "WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"
#include "shoal/Support/Threshold.h"

using namespace mlir;
using namespace shoal;

/// How many times as large as operand and result the patches may be: above what
/// three kernel rows in each of three dimensions need.
static const support::Threshold
    largePatches("elements of a convolution's patches for each of its operand "
                 "and result",
                 32);

namespace {

/// A letter per dimension, as in an einsum: b, i and o for batch and features,
/// g for groups, 0 to 2 for the rows of the result, x to z for the kernel's.
using Letters = SmallVector<char, 6>;

struct Factored {
  Value value;
  Letters letters;
};

class ConvolutionLowering {
public:
  ConvolutionLowering(ConvolutionOp op, PatternRewriter &builder)
      : op(op), builder(builder), loc(op.getLoc()), dims(op.getDims()),
        window(op.getWindow()), type(op.getType()),
        groups(op.getFeatureGroupCount() * op.getBatchGroupCount()) {
    input = factorInput();
    kernel = factorKernel();
    result = lettersOf(dims.result, 'b', 'o', "012");
    resultShape.assign(type.getShape().begin(), type.getShape().end());
    if (groups > 1) {
      splitShape(resultShape, dims.result.second);
      result.insert(result.begin() + dims.result.second, 'g');
    }
    addSizes(kernel.letters, tensorTypeOf(kernel.value).getShape());
    addSizes(result, resultShape);
  }

  Value lower() {
    Value value = arePatchesSmall() ? multiplyPatches() : buildLoops();
    if (groups == 1)
      return value;
    return tensor::CollapseShapeOp::create(
        builder, loc, type, value,
        groupDims(type.getRank(), dims.result.second));
  }

private:
  static Letters lettersOf(const ConvolutionDims::Tensor &tensor, char first,
                           char second, StringRef spatial) {
    Letters letters(tensor.rank());
    letters[tensor.first] = first;
    letters[tensor.second] = second;
    for (auto [d, dim] : llvm::enumerate(tensor.spatial))
      letters[dim] = spatial[d];
    return letters;
  }

  void addSizes(ArrayRef<char> letters, ArrayRef<int64_t> shape) {
    for (auto [letter, size] : llvm::zip_equal(letters, shape))
      sizes[letter] = size;
  }

  void splitShape(SmallVectorImpl<int64_t> &shape, unsigned dim) const {
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
  }

  /// Dimension `dim` and the one behind it are one in the smaller shape.
  static SmallVector<ReassociationIndices> groupDims(int64_t rank,
                                                     unsigned dim) {
    SmallVector<ReassociationIndices> parts;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t at = d > dim ? d + 1 : d;
      parts.push_back(d == dim ? ReassociationIndices{at, at + 1}
                               : ReassociationIndices{at});
    }
    return parts;
  }

  /// Cuts a dimension into groups.
  void splitGroups(Factored &tensor, unsigned dim) {
    if (groups == 1)
      return;
    SmallVector<int64_t> shape(tensorTypeOf(tensor.value).getShape());
    int64_t rank = shape.size();
    splitShape(shape, dim);
    tensor.value = tensor::ExpandShapeOp::create(
        builder, loc, tensorTypeOf(tensor.value).clone(shape), tensor.value,
        groupDims(rank, dim));
    tensor.letters.insert(tensor.letters.begin() + dim, 'g');
  }

  /// With the rows that windows read, in order.
  Factored factorInput() {
    SmallVector<Places> places;
    for (int64_t size : tensorTypeOf(op.getInput()).getShape())
      places.push_back({0, 1, size});
    for (auto [d, dim] : llvm::enumerate(dims.input.spatial))
      places[dim] =
          Places::ofWindows(window[d], type.getDimSize(dims.result.spatial[d]));
    Type element = tensorTypeOf(op.getInput()).getElementType();
    Value value = spreadRows(builder, loc, op.getInput(), places,
                             getIdentity(ReduceKind::Sum, element));
    Factored tensor{value, lettersOf(dims.input, 'b', 'i', "012")};
    splitGroups(tensor, op.getBatchGroupCount() > 1 ? dims.input.first
                                                    : dims.input.second);
    return tensor;
  }

  Factored factorKernel() {
    Factored tensor{op.getKernel(), lettersOf(dims.kernel, 'i', 'o', "xyz")};
    splitGroups(tensor, dims.kernel.second);
    return tensor;
  }

  /// The operand's element that a row of the result is made of, at a place of
  /// the window.
  AffineMap readMap(ArrayRef<char> loops) {
    auto loopOf = [&](char letter) {
      return builder.getAffineDimExpr(llvm::find(loops, letter) -
                                      loops.begin());
    };
    SmallVector<AffineExpr> exprs;
    for (char letter : input.letters) {
      if (letter < '0' || letter > '2') {
        exprs.push_back(loopOf(letter));
        continue;
      }
      const WindowDim &dim = window[letter - '0'];
      AffineExpr place = loopOf('x' + (letter - '0'));
      if (dim.reversed)
        place = (dim.size - 1) - place;
      exprs.push_back(placeOf(dim, loopOf(letter), place));
    }
    return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
  }

  AffineMap plainMap(ArrayRef<char> loops, ArrayRef<char> letters) {
    SmallVector<AffineExpr> exprs;
    for (char letter : letters)
      exprs.push_back(
          builder.getAffineDimExpr(llvm::find(loops, letter) - loops.begin()));
    return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
  }

  /// The kernel's letters that are summed over, in its order.
  Letters contracted() const {
    Letters letters;
    for (char letter : kernel.letters)
      if (letter != 'g' && letter != 'o')
        letters.push_back(letter);
    return letters;
  }

  /// Rows of the result, then places.
  Letters patchLetters() const {
    Letters letters;
    for (char letter : result)
      if (letter != 'o')
        letters.push_back(letter);
    llvm::append_range(letters, contracted());
    return letters;
  }

  bool arePatchesSmall() {
    double patches = 1;
    for (char letter : patchLetters())
      patches *= sizes[letter];
    auto elements = static_cast<double>(
        tensorTypeOf(op.getInput()).getNumElements() + type.getNumElements());
    return elements == 0 || !largePatches.isReachedBy(patches / elements);
  }

  Value multiplyPatches() {
    Letters letters = patchLetters();
    auto shape = llvm::map_to_vector(
        letters, [&](char letter) { return sizes[letter]; });
    Value patches =
        makeMoved(builder, loc, tensorTypeOf(input.value).clone(shape),
                  input.value, readMap(letters));
    // Letters of einsums are no digits.
    auto spell = [](ArrayRef<char> term) {
      std::string text;
      for (char letter : term)
        text += letter <= '2' ? letter - '0' + 'r' : letter;
      return text;
    };
    std::string spec =
        spell(letters) + "," + spell(kernel.letters) + "->" + spell(result);
    return lowerEinsum(builder, loc, spec, {patches, kernel.value},
                       type.clone(resultShape));
  }

  Value buildLoops() {
    Letters loops(result);
    llvm::append_range(loops, contracted());
    SmallVector<utils::IteratorType> iterators(result.size(),
                                               utils::IteratorType::parallel);
    iterators.append(contracted().size(), utils::IteratorType::reduction);
    AffineMap maps[] = {readMap(loops), plainMap(loops, kernel.letters),
                        plainMap(loops, result)};
    Type accumulator = getAccumulator(ReduceKind::Sum, type.getElementType());
    Value zero = makeFilled(builder, loc, resultShape,
                            getIdentity(ReduceKind::Sum, accumulator));
    auto sum = linalg::GenericOp::create(
        builder, loc, zero.getType(), ValueRange{input.value, kernel.value},
        zero, maps, iterators,
        [&](OpBuilder &b, Location nested, ValueRange args) {
          Value lhs = convertTo(b, nested, args[0], accumulator);
          Value rhs = convertTo(b, nested, args[1], accumulator);
          Value product = combine(b, nested, ReduceKind::Prod, lhs, rhs);
          linalg::YieldOp::create(
              b, nested, combine(b, nested, ReduceKind::Sum, args[2], product));
        });
    return convertTo(builder, loc, sum.getResult(0), type.getElementType());
  }

  ConvolutionOp op;
  PatternRewriter &builder;
  Location loc;
  ConvolutionDims dims;
  SmallVector<WindowDim> window;
  RankedTensorType type;
  int64_t groups;
  Factored input, kernel;
  Letters result;
  SmallVector<int64_t> resultShape;
  llvm::SmallDenseMap<char, int64_t> sizes;
};

struct LowerConvolution : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, ConvolutionLowering(op, rewriter).lower());
    return success();
  }
};

} // namespace

void shoal::populateWindowsConvolutionPatterns(RewritePatternSet &patterns,
                                               const ProgramNumbering &) {
  patterns.add<LowerConvolution>(patterns.getContext());
}

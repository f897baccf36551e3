// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConvolutionProduct.h"
#include "Combiner.h"
#include "PatchOrder.h"
#include "WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Support/Threshold.h"

using namespace mlir;
using namespace shoal;
using Letters = ConvolutionLetters::Letters;

/// How many times as large as operand and result the patches may be: above what
/// three kernel rows in each of three dimensions need.
static const support::Threshold
    largePatches("elements of a convolution's patches for each of its operand "
                 "and result",
                 32);

ConvolutionValues::ConvolutionValues(ConvolutionOp op)
    : input(op.getInput()), kernel(op.getKernel()), type(op.getType()),
      dims(op.getDims()), window(op.getWindow()),
      featureGroups(op.getFeatureGroupCount()),
      batchGroups(op.getBatchGroupCount()) {}

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

static Letters lettersOf(const ConvolutionDims::Tensor &tensor, char first,
                         char second, StringRef spatial) {
  Letters letters(tensor.rank());
  letters[tensor.first] = first;
  letters[tensor.second] = second;
  for (auto [d, dim] : llvm::enumerate(tensor.spatial))
    letters[dim] = spatial[d];
  return letters;
}

static AffineMap mapOf(ArrayRef<char> loops, ArrayRef<char> letters,
                       MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (char letter : letters)
    exprs.push_back(
        getAffineDimExpr(llvm::find(loops, letter) - loops.begin(), context));
  return AffineMap::get(loops.size(), 0, exprs, context);
}

/// Letters of einsums are no digits.
static std::string spell(ArrayRef<char> term) {
  std::string text;
  for (char letter : term)
    text += letter <= '2' ? letter - '0' + 'r' : letter;
  return text;
}

/// Dimension `dim` and the one behind it are one in the smaller shape.
static SmallVector<ReassociationIndices> groupDims(int64_t rank, unsigned dim) {
  SmallVector<ReassociationIndices> parts;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t at = d > dim ? d + 1 : d;
    parts.push_back(d == dim ? ReassociationIndices{at, at + 1}
                             : ReassociationIndices{at});
  }
  return parts;
}

namespace {

class ConvolutionProduct {
public:
  ConvolutionProduct(OpBuilder &builder, Location loc,
                     const ConvolutionValues &values);

  Value make();

private:
  void splitShape(SmallVectorImpl<int64_t> &shape, unsigned dim) const {
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
  }
  Value splitGroups(Value tensor, Letters &names, unsigned dim);
  void factorInput();
  void factorKernel();
  void addSizes(ArrayRef<char> names, ArrayRef<int64_t> shape);
  SmallVector<int64_t> shapeOf(ArrayRef<char> names) const {
    return llvm::map_to_vector(
        names, [&](char letter) { return letters.sizeOf(letter); });
  }
  AffineMap readMap(ArrayRef<char> loops) const;
  bool arePatchesSmall() const;
  bool haveWindowsOneRow() const;
  Value expandWindows(Letters &names);
  Value ordered(Value tensor, ArrayRef<char> from, ArrayRef<char> to);
  Value orderKernel(Letters &names);
  Value multiply(ArrayRef<char> lhs, ArrayRef<char> rhs, ArrayRef<char> names,
                 Value patches, Value weights);
  Value multiplyPatches();
  Value buildLoops();

  OpBuilder &builder;
  Location loc;
  const ConvolutionValues &values;
  int64_t groups;
  ConvolutionLetters letters;
  Value input, kernel;
};

} // namespace

ConvolutionProduct::ConvolutionProduct(OpBuilder &builder, Location loc,
                                       const ConvolutionValues &values)
    : builder(builder), loc(loc), values(values),
      groups(values.featureGroups * values.batchGroups) {
  letters.window = values.window;
  factorInput();
  factorKernel();
  letters.result = lettersOf(values.dims.result, 'b', 'o', "012");
  SmallVector<int64_t> shape(values.type.getShape());
  if (groups > 1) {
    splitShape(shape, values.dims.result.second);
    letters.result.insert(letters.result.begin() + values.dims.result.second,
                          'g');
  }
  addSizes(letters.input, tensorTypeOf(input).getShape());
  addSizes(letters.kernel, tensorTypeOf(kernel).getShape());
  addSizes(letters.result, shape);
}

void ConvolutionProduct::addSizes(ArrayRef<char> names,
                                  ArrayRef<int64_t> shape) {
  for (auto [letter, size] : llvm::zip_equal(names, shape))
    letters.sizes[letter] = size;
}

/// Cuts a dimension into groups.
Value ConvolutionProduct::splitGroups(Value tensor, Letters &names,
                                      unsigned dim) {
  if (groups == 1)
    return tensor;
  SmallVector<int64_t> shape(tensorTypeOf(tensor).getShape());
  int64_t rank = shape.size();
  splitShape(shape, dim);
  names.insert(names.begin() + dim, 'g');
  return tensor::ExpandShapeOp::create(builder, loc,
                                       tensorTypeOf(tensor).clone(shape),
                                       tensor, groupDims(rank, dim));
}

/// With the rows that windows read, in order.
void ConvolutionProduct::factorInput() {
  const ConvolutionDims &dims = values.dims;
  SmallVector<Places> places;
  for (int64_t size : tensorTypeOf(values.input).getShape())
    places.push_back({0, 1, size});
  for (auto [d, dim] : llvm::enumerate(dims.input.spatial))
    places[dim] = Places::ofWindows(
        values.window[d], values.type.getDimSize(dims.result.spatial[d]));
  Type element = tensorTypeOf(values.input).getElementType();
  Value spread = spreadRows(builder, loc, values.input, places,
                            getIdentity(ReduceKind::Sum, element));
  letters.input = lettersOf(dims.input, 'b', 'i', "012");
  input = splitGroups(spread, letters.input,
                      values.batchGroups > 1 ? dims.input.first
                                             : dims.input.second);
}

void ConvolutionProduct::factorKernel() {
  letters.kernel = lettersOf(values.dims.kernel, 'i', 'o', "xyz");
  kernel =
      splitGroups(values.kernel, letters.kernel, values.dims.kernel.second);
}

/// The operand's element that a row of the result is made of, at a place of
/// the window. Letters that no loop has are of size 1.
AffineMap ConvolutionProduct::readMap(ArrayRef<char> loops) const {
  auto loopOf = [&](char letter) -> AffineExpr {
    const char *found = llvm::find(loops, letter);
    if (found == loops.end())
      return builder.getAffineConstantExpr(0);
    return builder.getAffineDimExpr(found - loops.begin());
  };
  SmallVector<AffineExpr> exprs;
  for (char letter : letters.input) {
    if (!ConvolutionLetters::isRow(letter)) {
      exprs.push_back(loopOf(letter));
      continue;
    }
    const WindowDim &dim = values.window[letter - '0'];
    AffineExpr place = loopOf(ConvolutionLetters::placeOf(letter));
    if (dim.reversed)
      place = (dim.size - 1) - place;
    exprs.push_back(placeOf(dim, loopOf(letter), place));
  }
  return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
}

bool ConvolutionProduct::arePatchesSmall() const {
  double patches = 1;
  for (char letter : letters.result)
    patches *= letter == 'o' ? 1. : static_cast<double>(letters.sizeOf(letter));
  for (char letter : letters.terms())
    patches *= static_cast<double>(letters.sizeOf(letter));
  auto elements =
      static_cast<double>(tensorTypeOf(values.input).getNumElements() +
                          values.type.getNumElements());
  return elements == 0 || !largePatches.isReachedBy(patches / elements);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether no two windows share a row, nor leave one out: the patches are the
/// operand.
bool ConvolutionProduct::haveWindowsOneRow() const {
  for (auto [d, dim] : llvm::enumerate(values.window)) {
    int64_t rows = letters.sizeOf('0' + d);
    bool isRow = dim.size == 1 && (dim.stride == 1 || rows == 1);
    bool isPlace = rows == 1 && (dim.windowDilation == 1 || dim.size == 1) &&
                   !dim.reversed;
    if (!isRow && !isPlace)
      return false;
  }
  return true;
}

/// The operand with a dimension for the rows and one for the places of each
/// spatial one, of which one has size 1.
Value ConvolutionProduct::expandWindows(Letters &names) {
  SmallVector<ReassociationIndices> parts;
  for (char letter : letters.input) {
    ReassociationIndices part = {static_cast<int64_t>(names.size())};
    names.push_back(letter);
    if (ConvolutionLetters::isRow(letter)) {
      part.push_back(static_cast<int64_t>(names.size()));
      names.push_back(ConvolutionLetters::placeOf(letter));
    }
    parts.push_back(part);
  }
  return tensor::ExpandShapeOp::create(
      builder, loc, tensorTypeOf(input).clone(shapeOf(names)), input, parts);
}

Value ConvolutionProduct::ordered(Value tensor, ArrayRef<char> from,
                                  ArrayRef<char> to) {
  if (from == to)
    return tensor;
  RankedTensorType type = tensorTypeOf(tensor).clone(shapeOf(to));
  return makeMoved(builder, loc, type, tensor,
                   mapOf(to, from, builder.getContext()));
}

/// The kernel as the product wants it, `names` its letters: a matrix, which is
/// made once, and not with each part of the product.
Value ConvolutionProduct::orderKernel(Letters &names) {
  auto isLong = [&](char letter) { return letters.sizeOf(letter) > 1; };
  auto longer = [&](ArrayRef<char> all) {
    return llvm::to_vector(llvm::make_filter_range(all, isLong));
  };
  if (longer(names) == longer(letters.kernel)) {
    names = letters.kernel;
    return kernel;
  }
  return ordered(kernel, letters.kernel, names);
}

/// The result, whose letters are `names` in the product.
Value ConvolutionProduct::multiply(ArrayRef<char> lhs, ArrayRef<char> rhs,
                                   ArrayRef<char> names, Value patches,
                                   Value weights) {
  std::string spec = spell(lhs) + "," + spell(rhs) + "->" + spell(names);
  Value product = lowerEinsum(builder, loc, spec, {patches, weights},
                              values.type.clone(shapeOf(names)));
  return ordered(product, names, letters.result);
}

Value ConvolutionProduct::multiplyPatches() {
  if (haveWindowsOneRow()) {
    Letters names;
    Value rows = expandWindows(names);
    return multiply(names, letters.kernel, letters.result, rows, kernel);
  }
  PatchOrder order = choosePatchOrder(letters);
  Value patches =
      makeMoved(builder, loc, tensorTypeOf(input).clone(shapeOf(order.patches)),
                input, readMap(order.patches));
  Value weights = orderKernel(order.kernel);
  return multiply(order.patches, order.kernel, order.result, patches, weights);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value ConvolutionProduct::buildLoops() {
  Letters loops(letters.result), terms = letters.terms();
  llvm::append_range(loops, terms);
  SmallVector<utils::IteratorType> iterators(letters.result.size(),
                                             utils::IteratorType::parallel);
  iterators.append(terms.size(), utils::IteratorType::reduction);
  MLIRContext *context = builder.getContext();
  AffineMap maps[] = {readMap(loops), mapOf(loops, letters.kernel, context),
                      mapOf(loops, letters.result, context)};
  Type element = values.type.getElementType();
  Type accumulator = getAccumulator(ReduceKind::Sum, element);
  Value zero = makeFilled(builder, loc, shapeOf(letters.result),
                          getIdentity(ReduceKind::Sum, accumulator));
  auto sum = linalg::GenericOp::create(
      builder, loc, zero.getType(), ValueRange{input, kernel}, zero, maps,
      iterators, [&](OpBuilder &b, Location nested, ValueRange args) {
        Value lhs = convertTo(b, nested, args[0], accumulator);
        Value rhs = convertTo(b, nested, args[1], accumulator);
        Value product = combine(b, nested, ReduceKind::Prod, lhs, rhs);
        linalg::YieldOp::create(
            b, nested, combine(b, nested, ReduceKind::Sum, args[2], product));
      });
  return convertTo(builder, loc, sum.getResult(0), element);
}

Value ConvolutionProduct::make() {
  Value value = arePatchesSmall() ? multiplyPatches() : buildLoops();
  if (groups == 1)
    return value;
  return tensor::CollapseShapeOp::create(
      builder, loc, values.type, value,
      groupDims(values.type.getRank(), values.dims.result.second));
}

Value shoal::makeConvolution(OpBuilder &builder, Location loc,
                             const ConvolutionValues &values) {
  return ConvolutionProduct(builder, loc, values).make();
}

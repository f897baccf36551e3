// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that slide a window.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

namespace {

/// The lists of a window, an entry a dimension.
struct Window {
  SmallVector<int64_t> sizes, strides, low, high, baseDilation, windowDilation;

  int64_t places() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
};

} // namespace

/// Whether all windows, of each of these elements, read so few places that an
/// interpreter does not take long.
static bool fits(const ProgramBuilder &p, const Window &window,
                 ArrayRef<int64_t> shape) {
  constexpr int64_t mostPlaces = int64_t(1) << 24;
  return p.fits(shape) && (!p.isLarge || ShapedType::getNumElements(shape) <=
                                             mostPlaces / window.places());
}

/// Adds a dimension of `size` rows; returns how often the window stands in it.
/// Plain windows have no dilation and no negative padding.
static int64_t addDim(ProgramBuilder &p, int64_t size, bool isPlain,
                      Window &window) {
  int64_t most = !p.isLarge ? 3 : p.choices.chance(20) ? 60 : 7;
  int64_t places = 1 + p.choices.below(most);
  int64_t stride = p.choices.chance(40) ? 1 + p.choices.below(3) : 1;
  int64_t base = !isPlain && p.choices.chance(20) ? 2 : 1;
  int64_t dilation = !isPlain && p.choices.chance(20) ? 2 : 1;
  auto padding = [&]() -> int64_t {
    if (!isPlain && p.choices.chance(8))
      return p.choices.chance(40) ? -2 : -1;
    return p.choices.chance(50) ? p.choices.below(3) : 0;
  };
  window.sizes.push_back(places);
  window.strides.push_back(stride);
  window.baseDilation.push_back(base);
  window.windowDilation.push_back(dilation);
  window.low.push_back(padding());
  window.high.push_back(padding());
  int64_t spread = size == 0 ? 0 : (size - 1) * base + 1;
  int64_t room = spread + window.low.back() + window.high.back() -
                 ((places - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

static void addLists(ProgramBuilder &p, const Window &window, bool isPlain,
                     SmallVectorImpl<NamedAttribute> &attributes) {
  auto add = [&](StringRef name, ArrayRef<int64_t> list) {
    attributes.push_back(
        p.builder.getNamedAttr(name, p.builder.getDenseI64ArrayAttr(list)));
  };
  add("strides", window.strides);
  add("low", window.low);
  add("high", window.high);
  if (isPlain)
    return;
  add("base_dilation", window.baseDilation);
  add("window_dilation", window.windowDilation);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// Letters in random order, and the place of each.
static std::string letters(ProgramBuilder &p, StringRef two, size_t spatial) {
  std::string order = two.str() + std::string("012").substr(0, spatial);
  p.choices.shuffle(order);
  return order;
}

static SmallVector<int64_t> shapeOf(StringRef order, StringRef names,
                                    ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape;
  for (char letter : order)
    shape.push_back(sizes[names.find(letter)]);
  return shape;
}

static bool makeConvolution(ProgramBuilder &p) {
  Known input = p.pickOr(
      [](const Known &k) {
        return !k.element().isInteger(1) && k.type().getRank() >= 3 &&
               k.type().getRank() <= 5;
      },
      [&] { return p.tensor(p.shape(3, 4), p.elementType()); });
  Type element = input.element();
  if (element.isInteger(1) || isFloat8(element))
    return false;
  size_t spatial = input.type().getRank() - 2;
  std::string order = letters(p, "bf", spatial);
  auto sizeOf = [&](char letter) { return input.shape()[order.find(letter)]; };
  int64_t batch = sizeOf('b'), features = sizeOf('f');

  int64_t featureGroups = 1, batchGroups = 1;
  int64_t groups = 2 + p.choices.below(2);
  if (features % groups == 0 && p.choices.chance(20))
    featureGroups = groups;
  else if (batch % groups == 0 && p.choices.chance(20))
    batchGroups = groups;
  int64_t made = (1 + p.choices.below(3)) * featureGroups * batchGroups;

  Window window;
  SmallVector<int64_t> kernelSizes{features / featureGroups, made};
  SmallVector<int64_t> resultSizes{batch / batchGroups, made};
  for (size_t d = 0; d < spatial; ++d) {
    resultSizes.push_back(
        addDim(p, sizeOf('0' + d), /*isPlain=*/false, window));
    kernelSizes.push_back(window.sizes.back());
  }
  std::string kernelOrder = letters(p, "io", spatial);
  std::string resultOrder = letters(p, "bf", spatial);
  SmallVector<int64_t> kernelShape = shapeOf(kernelOrder, "io012", kernelSizes),
                       shape = shapeOf(resultOrder, "bf012", resultSizes);
  if (!p.fits(kernelShape))
    return false;
  Known kernel = p.pickOfType(p.tensor(kernelShape, element));
  int64_t terms = window.places() * kernelSizes[0];
  Bounds range =
      sumOf(terms, product(input.range, kernel.range, element), element);
  if (!fits(p, window, shape) || !isUsable(range, element))
    return false;
  // Sums in a wider type, as accumulators are; the range is the narrower's.
  Type resultElement = element;
  if (p.choices.chance(25)) {
    if (element.isBF16() || element.isF16())
      resultElement = p.builder.getF32Type();
    else if (element.isInteger(8) || element.isInteger(16))
      resultElement = p.builder.getI32Type();
  }
  if (!isa<FloatType>(element))
    range = anyInteger(resultElement);

  SmallVector<NamedAttribute> attributes;
  auto add = [&](StringRef name, Attribute value) {
    attributes.push_back(p.builder.getNamedAttr(name, value));
  };
  add("spec",
      p.builder.getStringAttr(order + "," + kernelOrder + "->" + resultOrder));
  addLists(p, window, /*isPlain=*/false, attributes);
  SmallVector<bool> reversal;
  for (size_t d = 0; d < spatial; ++d)
    reversal.push_back(p.choices.chance(15));
  add("reversal", p.builder.getDenseBoolArrayAttr(reversal));
  add("feature_group_count", p.builder.getI64IntegerAttr(featureGroups));
  add("batch_group_count", p.builder.getI64IntegerAttr(batchGroups));
  p.add(p.op("shoal.convolution", {input.value, kernel.value},
             p.tensor(shape, resultElement), attributes)
            ->getResult(0),
        range);
  return true;
}

//===----------------------------------------------------------------------===//
// Windows of one operand
//===----------------------------------------------------------------------===//

static NamedAttribute kindAttr(ProgramBuilder &p, ReduceKind kind) {
  return p.builder.getNamedAttr(
      "kind", ReduceKindAttr::get(p.builder.getContext(), kind));
}

static bool makeReduceWindow(ProgramBuilder &p) {
  Known a = p.pickOr([](const Known &k) { return k.type().getRank() > 0; },
                     [&] { return p.tensor(p.shape(1, 3), p.elementType()); });
  using K = ReduceKind;
  K kind = p.choices.pick(std::array{K::Sum, K::Max, K::Min, K::Prod, K::Sum});
  if (a.element().isInteger(1) || (!a.isFloat() && p.choices.chance(30)))
    kind = p.choices.pick(std::array{K::And, K::Or});
  else if (!a.canBeSummed())
    kind = p.choices.pick(std::array{K::Max, K::Min});
  Window window;
  SmallVector<int64_t> shape;
  for (int64_t size : a.shape())
    shape.push_back(addDim(p, size, /*isPlain=*/false, window));
  auto scalar = p.tensor({}, a.element());
  Known init = p.choices.chance(70)
                   ? p.constant(scalar, a.element().isInteger(1) ? 1 : 2)
                   : p.pickOfType(scalar);
  auto range = rangeOfReduction(kind, either(a.range, init.range),
                                window.places() + 1, a.element());
  if (!fits(p, window, shape) || !range || !isUsable(*range, a.element()))
    return false;
  SmallVector<NamedAttribute> attributes{
      kindAttr(p, kind),
      p.builder.getNamedAttr("window",
                             p.builder.getDenseI64ArrayAttr(window.sizes))};
  addLists(p, window, /*isPlain=*/false, attributes);
  p.add(p.op("shoal.reduce_window", {a.value, init.value},
             p.tensor(shape, a.element()), attributes)
            ->getResult(0),
        *range);
  return true;
}

static bool makeSelectAndScatter(ProgramBuilder &p) {
  // What rounding may change does not select.
  Known a = p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 && !k.element().isInteger(1) &&
               k.canBeSummed() && k.range.isExact();
      },
      [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
  Window window;
  SmallVector<int64_t> shape;
  for (int64_t size : a.shape())
    shape.push_back(addDim(p, size, /*isPlain=*/true, window));
  if (!fits(p, window, shape))
    return false;
  Known source = p.pickOfType(p.tensor(shape, a.element()));
  Known init = p.constant(p.tensor({}, a.element()), p.choices.below(3));
  Bounds range =
      sumOf(window.places() + 1, either(source.range, init.range), a.element());
  if (!isUsable(range, a.element()))
    return false;
  SmallVector<NamedAttribute> attributes{
      kindAttr(p, p.choices.chance(50) ? ReduceKind::Min : ReduceKind::Max),
      p.builder.getNamedAttr("window",
                             p.builder.getDenseI64ArrayAttr(window.sizes))};
  addLists(p, window, /*isPlain=*/true, attributes);
  if (p.choices.chance(40))
    attributes.push_back(
        p.builder.getNamedAttr("last", p.builder.getUnitAttr()));
  p.add(p.op("shoal.select_and_scatter", {a.value, source.value, init.value},
             a.type(), attributes)
            ->getResult(0),
        range);
  return true;
}

void shoal::fuzz::addWindowsGenerators(Generators &generators) {
  generators.add("shoal.convolution", makeConvolution, 14);
  generators.add("shoal.reduce_window", makeReduceWindow, 12);
  generators.add("shoal.select_and_scatter", makeSelectAndScatter, 6);
}

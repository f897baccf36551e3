// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OneHots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/NNOps.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

OneHots::OneHots(ProgramBuilder &p)
    : p(p), element(p.floatType()), index(p.builder.getI32Type()) {
  for (char letter : StringRef("gsecmn"))
    sizes[letter] = p.size();
  tokens = p.choices.chance(40) ? "gs" : "s";
}

//===----------------------------------------------------------------------===//
// Values over letters
//===----------------------------------------------------------------------===//

RankedTensorType OneHots::type(StringRef letters, Type element) {
  return p.tensor(
      llvm::map_to_vector(letters, [&](char letter) { return sizeOf(letter); }),
      element);
}

char OneHots::fresh(int64_t size) {
  static constexpr StringRef free = "abdfhijklopqrtuvwxyz";
  char letter = free[numFresh++];
  sizes[letter] = size;
  return letter;
}

Lettered OneHots::made(StringRef name, ValueRange operands, StringRef letters,
                       Type element, Bounds range) {
  Value result = p.op(name, operands, type(letters, element))->getResult(0);
  return {{result, range}, letters.str()};
}

Lettered OneHots::splat(StringRef letters, Type element, double value) {
  return {p.constant(type(letters, element), value), letters.str()};
}

Lettered OneHots::iota(StringRef letters, char along, Type element) {
  auto shape = type(letters, element);
  Value value = IotaOp::create(p.builder, p.loc, shape, letters.find(along));
  return {{value, {double(sizeOf(along)), 0, 0}}, letters.str()};
}

Lettered OneHots::spread(const Lettered &value, StringRef letters) {
  if (letters == value.letters)
    return value;
  auto dims = llvm::map_to_vector(value.letters, [&](char letter) {
    return static_cast<int64_t>(letters.find(letter));
  });
  Value spread = BroadcastInDimOp::create(p.builder, p.loc,
                                          type(letters, value.known.element()),
                                          value.known.value, dims);
  return {{spread, value.known.range}, letters.str()};
}

Lettered OneHots::compare(StringRef name, int64_t predicate, const Lettered &a,
                          const Lettered &b) {
  Value result = p.op(name, {a.known.value, b.known.value},
                      type(a.letters, p.builder.getI1Type()),
                      p.builder.getNamedAttr(
                          "predicate", p.builder.getI64IntegerAttr(predicate)))
                     ->getResult(0);
  return {{result, {1, 0, 0}}, a.letters};
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Lettered OneHots::places(char over) {
  auto isExact = [](Bounds range) { return range.isExact(); };
  switch (sizeOf(over) == 0 ? 0 : p.choices.below(4)) {
  case 1: {
    Known keys = p.pickOfType(type(tokens + over, element), isExact);
    Value best = ArgMaxOp::create(p.builder, p.loc, type(tokens, index),
                                  keys.value, tokens.size());
    return {{best, {double(sizeOf(over)), 0, 0}}, tokens};
  }
  case 2:
    return placesOfTopK(over);
  case 3:
    return iota(tokens, tokens.back(), index);
  default:
    return {p.pickOfType(type(tokens, index)), tokens};
  }
}

/// One column of the indices.
Lettered OneHots::placesOfTopK(char over) {
  Known keys = p.pickOfType(type(tokens + over, element),
                            [](Bounds range) { return range.isExact(); });
  int64_t k = 1 + p.choices.below(std::min<int64_t>(sizeOf(over), 3));
  SmallVector<int64_t> shape(type(tokens, index).getShape());
  SmallVector<int64_t> starts(shape.size() + 1, 0), limits(shape),
      strides(starts.size(), 1);
  starts.back() = p.choices.below(k);
  limits.push_back(starts.back() + 1);
  shape.push_back(k);
  auto top = TopKOp::create(p.builder, p.loc, p.tensor(shape, element),
                            p.tensor(shape, index), keys.value, /*k=*/k);
  shape.back() = 1;
  Value column = SliceOp::create(p.builder, p.loc, p.tensor(shape, index),
                                 top.getIndices(), starts, limits, strides);
  Value flat = ReshapeOp::create(p.builder, p.loc, type(tokens, index), column);
  return {{flat, {double(sizeOf(over)), 0, 0}}, tokens};
}

/// How many tokens before chose the same, counted from 0 or from 1.
Lettered OneHots::placesByCount(const Lettered &bits) {
  Bounds range{double(sizeOf('s')) + 1, 0, 0};
  Lettered ones =
      made("arith.extui", bits.known.value, bits.letters, index, {1, 0, 0});
  Value count = CumulativeOp::create(
      p.builder, p.loc, ones.known.type(), ReduceKind::Sum, ones.known.value,
      bits.letters.find('s'), /*exclusive=*/p.choices.chance(50),
      /*reverse=*/false);
  Lettered own =
      made("arith.muli", {count, ones.known.value}, bits.letters, index, range);
  int64_t dim = bits.letters.size() - 1;
  Value place = ReduceOp::create(p.builder, p.loc, type(tokens, index),
                                 ReduceKind::Sum, own.known.value, dim);
  return {{place, range}, tokens};
}

/// Places over the bits' letters, -1 where there is no bit.
Lettered OneHots::placesWhereChosen(const Lettered &bits) {
  Lettered none = splat(bits.letters, index, -1);
  Lettered place = p.choices.chance(50)
                       ? spread(places('c'), bits.letters)
                       : iota(bits.letters, bits.letters.back(), index);
  return made("arith.select",
              {bits.known.value, place.known.value, none.known.value},
              bits.letters, index, either(place.known.range, {1, 0, 0}));
}

//===----------------------------------------------------------------------===//
// One-hots
//===----------------------------------------------------------------------===//

Lettered OneHots::bits(const Lettered &place, char over) {
  std::string letters = place.letters + over;
  return compare("arith.cmpi", /*eq*/ 0, iota(letters, over, index),
                 spread(place, letters));
}

Lettered OneHots::hot(const Lettered &place, char over) {
  std::string letters = place.letters + over;
  bool isAny = sizeOf(over) > 0;
  bool hasEye = p.fits({sizeOf(over), sizeOf(over)});
  switch (p.choices.below(isAny ? 6 : 3)) {
  case 1: {
    Value value = OneHotOp::create(p.builder, p.loc, type(letters, element),
                                   place.known.value, place.letters.size());
    return {{value, {1, 0, 0}}, letters};
  }
  case 2: {
    Lettered one = splat(letters, element, 1),
             zero = splat(letters, element, 0);
    return made(
        "arith.select",
        {bits(place, over).known.value, one.known.value, zero.known.value},
        letters, element, {1, 0, 0});
  }
  case 3:
    return hotByFloats(place, over);
  case 4:
    return hasEye ? hotByEyeRows(place, over) : hotByScatter(place, over);
  case 5:
    return hotByScatter(place, over);
  default:
    return made("arith.uitofp", bits(place, over).known.value, letters, element,
                {1, 0, 0});
  }
}

Lettered OneHots::hotByFloats(const Lettered &place, char over) {
  std::string letters = place.letters + over;
  Lettered number = made("arith.sitofp", place.known.value, place.letters,
                         element, place.known.range);
  Lettered bits = compare("arith.cmpf", /*oeq*/ 1, iota(letters, over, element),
                          spread(number, letters));
  return made("arith.uitofp", bits.known.value, letters, element, {1, 0, 0});
}

static NamedAttribute list(ProgramBuilder &p, StringRef name,
                           ArrayRef<int64_t> values) {
  return p.builder.getNamedAttr(name, p.builder.getDenseI64ArrayAttr(values));
}

/// Rows of the identity; a place out of range is clamped.
Lettered OneHots::hotByEyeRows(const Lettered &place, char over) {
  char row = fresh(sizeOf(over));
  std::string square{row, over};
  Lettered eye = compare("arith.cmpi", /*eq*/ 0, iota(square, row, index),
                         iota(square, over, index));
  eye = made("arith.uitofp", eye.known.value, square, element, {1, 0, 0});
  auto rank = static_cast<int64_t>(place.letters.size());
  NamedAttribute attributes[] = {
      list(p, "offset_dims", rank), list(p, "collapsed_slice_dims", 0),
      list(p, "start_index_map", 0), list(p, "slice_sizes", {1, sizeOf(over)}),
      p.builder.getNamedAttr("index_vector_dim",
                             p.builder.getI64IntegerAttr(rank))};
  std::string letters = place.letters + over;
  Value rows = p.op("shoal.gather", {eye.known.value, place.known.value},
                    type(letters, element), attributes)
                   ->getResult(0);
  return {{rows, {1, 0, 0}}, letters};
}

/// Ones put into zeros.
Lettered OneHots::hotByScatter(const Lettered &place, char over) {
  std::string letters = place.letters + over;
  auto rank = static_cast<int64_t>(place.letters.size());
  auto batching = llvm::to_vector(llvm::seq<int64_t>(rank));
  NamedAttribute attributes[] = {
      list(p, "update_window_dims", {}),
      list(p, "inserted_window_dims", rank),
      list(p, "input_batching_dims", batching),
      list(p, "scatter_indices_batching_dims", batching),
      list(p, "scatter_dims_to_operand_dims", rank),
      p.builder.getNamedAttr("index_vector_dim",
                             p.builder.getI64IntegerAttr(rank))};
  Lettered zeros = splat(letters, element, 0);
  Lettered ones = splat(place.letters, element, 1);
  Value put = p.op("shoal.scatter",
                   {zeros.known.value, place.known.value, ones.known.value},
                   type(letters, element), attributes)
                  ->getResult(0);
  return {{put, {1, 0, 0}}, letters};
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// A one-hot of an expert, of an expert and a slot, or of a slot that is
/// nowhere but at the expert.
Lettered OneHots::choice() {
  Lettered expert = places('e');
  switch (p.choices.below(4)) {
  case 0:
    return hot(expert, 'e');
  case 1:
    return product(hot(expert, 'e'), hot(places('c'), 'c'));
  case 2:
    return product(hot(expert, 'e'),
                   hot(placesByCount(bits(expert, 'e')), 'c'));
  default:
    return hot(placesWhereChosen(bits(expert, 'e')), 'c');
  }
}

Lettered OneHots::product(const Lettered &a, const Lettered &b) {
  std::string letters = a.letters;
  for (char letter : b.letters)
    if (!StringRef(letters).contains(letter))
      letters += letter;
  Bounds range = fuzz::product(a.known.range, b.known.range, element);
  if (p.choices.chance(50)) {
    Value value = EinsumOp::create(p.builder, p.loc, type(letters, element),
                                   a.letters + "," + b.letters + "->" + letters,
                                   ValueRange{a.known.value, b.known.value});
    return {{value, range}, letters};
  }
  return made("arith.mulf",
              {spread(a, letters).known.value, spread(b, letters).known.value},
              letters, element, range);
}

Lettered OneHots::weighted(const Lettered &mask) {
  Lettered weight{p.pickOfType(type(tokens, element)), tokens};
  return product(mask, weight);
}

Lettered OneHots::sum(const Lettered &a, const Lettered &b) {
  const std::string &letters =
      a.letters.size() < b.letters.size() ? b.letters : a.letters;
  return made("arith.addf",
              {spread(a, letters).known.value, spread(b, letters).known.value},
              letters, element,
              fuzz::sum(a.known.range, b.known.range, element));
}

/// Where it is above 0, or is not 0: what is rounded does not decide.
Lettered OneHots::compared(const Lettered &mask) {
  if (!mask.known.range.isExact())
    return mask;
  int64_t predicate = p.choices.chance(50) ? /*une*/ 13 : /*ogt*/ 2;
  Lettered bits =
      compare("arith.cmpf", predicate, mask, splat(mask.letters, element, 0));
  return made("arith.uitofp", bits.known.value, mask.letters, element,
              {1, 0, 0});
}

std::optional<Lettered> OneHots::mask() {
  // What has no slots may have many experts.
  for (StringRef over : {"e", "c", "ec"})
    if (!p.fits(type(tokens + over.str(), element).getShape()))
      return std::nullopt;
  auto next = [&] {
    Lettered own = choice();
    return p.choices.chance(50) ? weighted(own) : own;
  };
  Lettered all = next();
  for (unsigned more = p.choices.below(3); more > 0; --more)
    all = sum(all, next());
  if (p.choices.chance(30))
    all = compared(all);
  for (unsigned views = p.choices.below(3); views > 0; --views)
    all = view(all);
  if (!isUsable(all.known.range, element) || !p.fits(all.known.shape()))
    return std::nullopt;
  return all;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Lettered OneHots::view(const Lettered &mask) {
  switch (p.choices.below(5)) {
  case 1:
    return merged(mask);
  case 2:
    return cut(mask);
  case 3:
    return padded(mask);
  case 4:
    return reversed(mask);
  default:
    return transposed(mask);
  }
}

Lettered OneHots::transposed(const Lettered &mask) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(mask.letters.size()));
  p.choices.shuffle(order);
  std::string letters;
  for (int64_t dim : order)
    letters += mask.letters[dim];
  Value value = TransposeOp::create(p.builder, p.loc, type(letters, element),
                                    mask.known.value, order);
  return {{value, mask.known.range}, letters};
}

/// Two dimensions become one.
Lettered OneHots::merged(const Lettered &mask) {
  if (mask.letters.size() < 2)
    return mask;
  size_t dim = mask.letters.size() - 2;
  dim -= p.choices.below(dim + 1);
  char letter =
      fresh(sizeOf(mask.letters[dim]) * sizeOf(mask.letters[dim + 1]));
  std::string letters = mask.letters;
  letters.replace(dim, 2, 1, letter);
  Value value = ReshapeOp::create(p.builder, p.loc, type(letters, element),
                                  mask.known.value);
  return {{value, mask.known.range}, letters};
}

/// Without the first rows of the last dimension, as slot 0 of places from 1.
Lettered OneHots::cut(const Lettered &mask) {
  SmallVector<int64_t> limits(mask.known.shape()), starts(limits.size(), 0),
      strides(limits.size(), 1);
  if (limits.back() == 0)
    return mask;
  starts.back() = p.choices.below(limits.back());
  std::string letters = mask.letters;
  letters.back() = fresh(limits.back() - starts.back());
  Value value = SliceOp::create(p.builder, p.loc, type(letters, element),
                                mask.known.value, starts, limits, strides);
  return {{value, mask.known.range}, letters};
}

/// Zeros around one dimension, as the gradient of a slice.
Lettered OneHots::padded(const Lettered &mask) {
  size_t dim = p.choices.below(mask.letters.size());
  SmallVector<int64_t> low(mask.letters.size(), 0), high(low), interior(low);
  low[dim] = p.choices.below(3);
  high[dim] = p.choices.below(3);
  std::string letters = mask.letters;
  letters[dim] = fresh(low[dim] + mask.known.shape()[dim] + high[dim]);
  Value zero = p.constant(p.tensor({}, element), 0).value;
  Value value = PadOp::create(p.builder, p.loc, type(letters, element),
                              mask.known.value, zero, low, high, interior);
  return {{value, mask.known.range}, letters};
}

Lettered OneHots::reversed(const Lettered &mask) {
  int64_t dim = p.choices.below(mask.letters.size());
  Value value = ReverseOp::create(p.builder, p.loc, mask.known.type(),
                                  mask.known.value, dim);
  return {{value, mask.known.range}, mask.letters};
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emit.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// An index of the whole dimension, and not of a part of it.
static bool isPlain(Term place, int64_t size) {
  return place->isIndex() && place->size == size;
}

Value Emitter::readTensor(Value tensor) {
  read.insert(tensor);
  Value by = replaced.lookup(tensor);
  return by ? by : tensor;
}

Tensor Emitter::emit(Term term) {
  for (const auto &known : llvm::reverse(memo))
    if (auto found = known.find(term); found != known.end())
      return found->second;
  Tensor tensor;
  switch (term->kind) {
  case TermKind::Index:
    tensor = writer.iota(term);
    break;
  case TermKind::Number:
    return {writer.splat(term->number, {}), {}, term->number};
  case TermKind::Element:
    tensor = emitElement(term);
    break;
  case TermKind::Op:
    tensor = emitOp(term);
    break;
  case TermKind::Sum:
    tensor = emitSum(term);
    break;
  }
  return memo.back()[term] = tensor;
}

/// The operand of most dimensions says their order.
Tensor Emitter::emitOp(Term term) {
  SmallVector<Tensor> operands;
  for (Term operand : term->operands)
    operands.push_back(emit(operand));
  TermList dims;
  for (const Tensor &operand : operands)
    if (operand.dims.size() > dims.size())
      dims = operand.dims;
  for (const Tensor &operand : operands)
    addDims(dims, operand.dims);
  for (Tensor &operand : operands)
    operand = writer.spread(operand, dims);
  return writer.elementwise(term, operands, dims);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Tensor Emitter::emitSum(Term term) {
  TermList factors = term->operands;
  // Rounded once, behind the sum.
  for (Term factor : factors)
    if (factor->type.getIntOrFloatBitWidth() >
        term->type.getIntOrFloatBitWidth())
      return emit(terms.convert(terms.sum(term->bound, factors, factor->type),
                                term->type));
  // Einsums have two operands: the small ones are multiplied first.
  while (factors.size() > 2) {
    auto takeSmallest = [&] {
      auto *smallest = llvm::min_element(factors, [](Term a, Term b) {
        return sizeOf(a->free) < sizeOf(b->free);
      });
      Term taken = *smallest;
      factors.erase(smallest);
      return taken;
    };
    Type wide = getAccumulator(ReduceKind::Sum, term->type);
    Term first = takeSmallest(), second = takeSmallest();
    Term small = terms.product({first, second}, wide);
    factors.push_back(small);
  }
  if (factors.size() == 1) {
    // An index that turns out to change nothing is summed over all the same.
    Tensor tensor = emit(factors[0]);
    TermList dims = tensor.dims;
    addDims(dims, term->bound);
    tensor = writer.spread(tensor, dims);
    return writer.sum(tensor, term->bound, term->type);
  }
  if (factors[0]->type != factors[1]->type)
    for (Term &factor : factors)
      factor = terms.convert(factor, term->type);
  auto isKeptBy = [&](Term factor, Term other) {
    return llvm::any_of(factor->free, [&](Term index) {
      return !llvm::is_contained(term->bound, index) &&
             !other->dependsOn(index);
    });
  };
  // Products of single rows are no matrix products.
  if (!isKeptBy(factors[0], factors[1]) && !isKeptBy(factors[1], factors[0])) {
    Type wide = getAccumulator(ReduceKind::Sum, term->type);
    Term product = terms.product(factors, wide);
    Term sum = terms.sum(term->bound, {product}, wide);
    return emit(terms.convert(sum, term->type));
  }
  TermList order = wanted;
  Tensor first = emit(factors[0]), second = emit(factors[1]);
  TermList dims, kept;
  addDims(dims, first.dims);
  addDims(dims, second.dims);
  TermList missing = first.dims;
  for (Term index : term->bound)
    if (!llvm::is_contained(dims, index))
      missing.push_back(index);
  first = writer.spread(first, missing);
  for (Term dim : dims)
    if (!llvm::is_contained(term->bound, dim))
      kept.push_back(dim);
  if (order.size() == kept.size() && llvm::all_of(order, [&](Term dim) {
        return llvm::is_contained(kept, dim);
      }))
    kept = order;
  return writer.einsum({first, second}, kept, term->type);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// What the element is made of, if making it at its places takes less than to
/// have the tensor; else null.
Term Emitter::expand(Term element) {
  Value tensor = element->value;
  if (whole.contains(tensor) || read.contains(tensor))
    return nullptr;
  if (forms.lookup(tensor))
    return forms.element(tensor, element->operands);
  Term original = terms.definition(tensor);
  if (const Rewrite *rewrite = forms.lookupRewrite(tensor))
    if (rewrite->term)
      original = rewrite->term;
  Term definition =
      original ? terms.at(original, tensor, element->operands) : nullptr;
  if (!definition)
    return nullptr;
  double places = sizeOf(element->free);
  if (definition->kind == TermKind::Element)
    return definition;
  if (definition->kind != TermKind::Sum)
    return places <= double(tensorType(tensor).getNumElements()) ? definition
                                                                 : nullptr;
  double dense = sizeOf(original->free) * sizeOf(original->bound);
  double sparse = places * sizeOf(definition->bound);
  for (Term factor : definition->operands)
    sparse += sizeOf(factor->free);
  // Products run at the speed of a library, reductions at that of memory.
  double needed = definition->operands.size() > 1
                      ? std::clamp(forms.getMinGain() / 2, 2., 16.)
                      : 1;
  if (dense < needed * sparse)
    return nullptr;
  noteSample(element, definition);
  return definition;
}

/// Whether the element is read by index, and not as the tensor lies.
static bool isReadByPlace(Term factor) {
  return factor->isElement() &&
         !llvm::all_of(llvm::zip_equal(factor->operands,
                                       tensorType(factor->value).getShape()),
                       [](auto pair) {
                         auto [place, size] = pair;
                         return isPlain(place, size);
                       });
}

/// Rows of the sum's factors are moved; others are read where they lie.
void Emitter::noteSample(Term element, Term sum) {
  Moves &moves = sampled[element->value];
  if (moves.elements == 0)
    for (auto [dim, size] :
         llvm::enumerate(tensorType(element->value).getShape()))
      if (!isPlain(element->operands[dim], size))
        moves.readByPlace.push_back({Moves::Dim::kResult, unsigned(dim)});
  moves.elements += sizeOf(element->free);
  for (Term factor : sum->operands) {
    if (!isReadByPlace(factor))
      continue;
    moves.elements += sizeOf(factor->free);
    moves.rows += sizeOf(factor->free) / sizeOf(sum->bound);
  }
}

Tensor Emitter::emitElement(Term term) {
  ArrayRef<int64_t> shape = tensorType(term->value).getShape();
  bool isWhole = true;
  for (auto [i, place] : llvm::enumerate(term->operands))
    isWhole &=
        isPlain(place, shape[i]) &&
        !llvm::is_contained(ArrayRef(term->operands).take_front(i), place);
  if (isWhole)
    return {readTensor(term->value), term->operands, {}};
  // Each expansion may ask for others.
  constexpr unsigned kMaxExpansions = 200;
  if (numExpansions < kMaxExpansions) {
    if (Term expanded = expand(term)) {
      ++numExpansions;
      Tensor tensor = emit(expanded);
      --numExpansions;
      return tensor;
    }
  }
  return gather(term);
}

Value Emitter::emitPlaces(TermRange places, TermList &dims) {
  SmallVector<Tensor> tensors;
  for (Term place : places)
    tensors.push_back(emit(place));
  for (const Tensor &tensor : tensors)
    if (dims.empty() || tensor.dims.size() > dims.size()) {
      TermList more = dims;
      dims = tensor.dims;
      addDims(dims, more);
    }
  for (const Tensor &tensor : tensors)
    addDims(dims, tensor.dims);
  SmallVector<Value> arrays;
  for (const Tensor &tensor : tensors)
    arrays.push_back(writer.spread(tensor, dims).value);
  return writer.stack(arrays);
}

/// The tensor's dimensions are read in its own order: none is transposed.
Tensor Emitter::gather(Term term) {
  Value tensor = readTensor(term->value);
  SmallVector<std::optional<int64_t>> rows;
  TermList places, left;
  SmallVector<int64_t> shape, placeDims;
  for (auto [place, size] :
       llvm::zip_equal(term->operands, tensorType(term->value).getShape())) {
    rows.emplace_back();
    if (place->isNumber()) {
      rows.back() = cast<IntegerAttr>(place->number).getInt();
      continue;
    }
    if (!isPlain(place, size) || llvm::is_contained(left, place)) {
      placeDims.push_back(int64_t(left.size()));
      places.push_back(place);
    }
    left.push_back(place);
    shape.push_back(size);
  }
  tensor = writer.takeRows(tensor, rows);
  if (places.empty())
    return {tensor, left, {}};
  TermList dims;
  Value indices = emitPlaces(places, dims);
  int64_t numDims = int64_t(dims.size());
  SmallVector<int64_t> sizes(shape), batching, indexBatching, offsets;
  for (auto [dim, place] : llvm::enumerate(left)) {
    if (llvm::is_contained(placeDims, int64_t(dim))) {
      sizes[dim] = 1;
      continue;
    }
    const Term *found = llvm::find(ArrayRef(dims).take_front(numDims), place);
    if (found != dims.begin() + numDims) {
      sizes[dim] = 1;
      batching.push_back(int64_t(dim));
      indexBatching.push_back(found - dims.begin());
    } else {
      offsets.push_back(int64_t(dims.size()));
      dims.push_back(place);
    }
  }
  if (writer.isDry())
    return {{}, dims, {}};
  auto type = RankedTensorType::get(sizesOf(dims), term->type);
  Value rowsRead = GatherOp::create(writer.get(), writer.getLoc(), type, tensor,
                                    indices, offsets, placeDims, batching,
                                    indexBatching, placeDims, numDims, sizes);
  return {rowsRead, dims, {}};
}

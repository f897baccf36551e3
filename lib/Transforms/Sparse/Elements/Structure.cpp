// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views, and iota, whose elements are indices.

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

using IndexMap = std::optional<TermList>;

struct Broadcast
    : ElementOpInterface::ExternalModel<Broadcast, BroadcastInDimOp> {
  IndexMap mapIndex(Operation *op, Terms &terms, TermRange index) const {
    auto broadcast = cast<BroadcastInDimOp>(op);
    TermList map;
    RankedTensorType result = tensorType(broadcast.getResult());
    for (auto [dim, size] : llvm::zip_equal(
             broadcast.getDims(), tensorType(broadcast.getInput()).getShape()))
      map.push_back(size == result.getDimSize(dim) ? index[dim]
                                                   : terms.integer(0));
    return map;
  }
};

struct Transpose : ElementOpInterface::ExternalModel<Transpose, TransposeOp> {
  IndexMap mapIndex(Operation *op, Terms &, TermRange index) const {
    auto transpose = cast<TransposeOp>(op);
    TermList map(index.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      map[dim] = index[i];
    return map;
  }
};

/// Steps of more than one row are not moved backwards.
struct Slice : ElementOpInterface::ExternalModel<Slice, SliceOp> {
  IndexMap mapIndex(Operation *op, Terms &terms, TermRange index) const {
    auto slice = cast<SliceOp>(op);
    TermList map;
    for (auto [dim, at] : llvm::enumerate(index)) {
      int64_t start = slice.getStarts()[dim], stride = slice.getStrides()[dim];
      if (tensorType(slice.getInput()).getDimSize(dim) == 1) {
        map.push_back(at);
        continue;
      }
      if (tensorType(slice.getResult()).getDimSize(dim) == 1) {
        map.push_back(terms.integer(start));
        continue;
      }
      Term step =
          stride == 1
              ? at
              : terms.op<arith::MulIOp>(at->type, {at, terms.integer(stride)});
      map.push_back(start == 0 ? step : terms.add(step, terms.integer(start)));
    }
    return map;
  }
};

struct Reverse : ElementOpInterface::ExternalModel<Reverse, ReverseOp> {
  IndexMap mapIndex(Operation *op, Terms &terms, TermRange index) const {
    auto reverse = cast<ReverseOp>(op);
    TermList map(index);
    for (int64_t dim : reverse.getDims())
      map[dim] = terms.subtract(
          terms.integer(tensorType(reverse.getResult()).getDimSize(dim) - 1),
          index[dim]);
    return map;
  }
};

struct Iota : ElementOpInterface::ExternalModel<Iota, IotaOp> {
  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto iota = cast<IotaOp>(op);
    Term at = index[iota.getDim()];
    Type type = tensorType(iota.getResult()).getElementType();
    if (type == at->type)
      return at;
    if (isa<FloatType>(type))
      return terms.op<arith::SIToFPOp>(type, {at});
    return isa<IntegerType>(type) ? terms.convert(at, type) : nullptr;
  }
};

/// The form of an operand that is all background has no exceptions.
std::optional<Form> formOrBackground(Forms &forms, Value input,
                                     const Form &like) {
  Terms &terms = forms.terms;
  if (const Form *form = forms.lookup(input))
    return form->dims == like.dims && form->background == like.background
               ? std::optional(*form)
               : std::nullopt;
  if (terms.element(input, terms.indicesOf(input)) !=
      terms.number(like.background))
    return std::nullopt;
  Form empty;
  empty.dims = like.dims;
  empty.background = like.background;
  return empty;
}

/// Which operand an element is of is known of rows alone. Forms that have no
/// places along the rows are one, whose places and values are those of the
/// operand that a row is of.
struct Concatenate
    : ElementOpInterface::ExternalModel<Concatenate, ConcatenateOp> {
  Outcome getForm(Operation *op, Forms &forms) const {
    auto concatenate = cast<ConcatenateOp>(op);
    Value result = concatenate.getResult();
    const Form *like = nullptr;
    for (Value input : concatenate.getInputs())
      if (const Form *form = like ? nullptr : forms.lookup(input))
        like = form;
    if (!like)
      return {};
    Term row = forms.terms.indicesOf(result)[concatenate.getDim()];
    if (llvm::any_of(like->dims, [&](Term dim) { return dim->id == row->id; }))
      return "places along what is concatenated";
    Form joined;
    joined.dims = like->dims;
    joined.background = like->background;
    int64_t end = tensorType(result).getDimSize(row->id);
    for (Value input : llvm::reverse(concatenate.getInputs())) {
      auto own = formOrBackground(forms, input, *like);
      if (!own)
        return "an operand has no places in the same dimensions";
      Term index = forms.terms.indicesOf(input)[row->id];
      Term begin = forms.terms.integer(end - index->size);
      putInFront(forms.terms, joined,
                 substitute(forms.terms, *own,
                            {{index, forms.terms.subtract(row, begin)}}),
                 forms.terms.compare(arith::CmpIPredicate::slt, row,
                                     forms.terms.integer(end)));
      end -= index->size;
    }
    return joined;
  }

  /// `own` where `isOwn`, else what is joined already.
  static void putInFront(Terms &terms, Form &joined, const Form &own,
                         Term isOwn) {
    Exception none{TermList(joined.dims.size(), terms.integer(-1)),
                   terms.number(joined.background)};
    joined.isDistinct &= own.isDistinct;
    joined.exceptions.resize(
        std::max(joined.exceptions.size(), own.exceptions.size()), none);
    for (auto [i, exception] : llvm::enumerate(joined.exceptions)) {
      bool isThere = i < own.exceptions.size();
      const Exception &mine = isThere ? own.exceptions[i] : none;
      for (auto [place, at] : llvm::zip_equal(exception.places, mine.places))
        place = terms.select(isOwn, at, place);
      if (isThere)
        exception.value = terms.select(isOwn, mine.value, exception.value);
    }
  }

  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto concatenate = cast<ConcatenateOp>(op);
    int64_t dim = concatenate.getDim();
    if (!index[dim]->isNumber())
      return nullptr;
    int64_t row = cast<IntegerAttr>(index[dim]->number).getInt();
    TermList at(index);
    for (Value input : concatenate.getInputs()) {
      int64_t size = tensorType(input).getDimSize(dim);
      at[dim] = terms.integer(row);
      if (row >= 0 && row < size)
        return terms.element(input, at);
      row -= size;
    }
    return nullptr;
  }
};

/// Places move by what is added in front. Those that were out of range stay so.
struct Pad : ElementOpInterface::ExternalModel<Pad, PadOp> {
  Term getElement(Operation *op, Terms &terms, unsigned,
                  TermRange index) const {
    auto pad = cast<PadOp>(op);
    TermList at;
    Term isInside = terms.boolean(true);
    for (auto [dim, size] :
         llvm::enumerate(tensorType(pad.getInput()).getShape())) {
      if (pad.getInterior()[dim] != 0)
        return nullptr;
      at.push_back(index[dim]);
      if (!pad.touches(dim))
        continue;
      at.back() = terms.subtract(index[dim], terms.integer(pad.getLow()[dim]));
      isInside = terms.conjunction(isInside, terms.isInRange(at.back(), size));
    }
    return terms.select(isInside, terms.element(pad.getInput(), at),
                        terms.element(pad.getValue(), {}));
  }

  Outcome getForm(Operation *op, Forms &forms) const {
    auto pad = cast<PadOp>(op);
    const Form *form = forms.lookup(pad.getInput());
    Term value = forms.terms.element(pad.getValue(), {});
    if (!form)
      return {};
    if (!value->isNumber() || value != forms.terms.number(form->background))
      return "the padding is another number than the background";
    Terms &terms = forms.terms;
    TermList from = terms.indicesOf(pad.getInput()),
             to = terms.indicesOf(pad.getResult());
    Form result = *form;
    Substitution moved;
    for (auto [dim, index] : llvm::enumerate(from)) {
      if (!pad.touches(dim))
        continue;
      if (pad.getInterior()[dim] != 0)
        return "padding between elements";
      moved[index] = terms.subtract(to[dim], terms.integer(pad.getLow()[dim]));
      const auto *place = llvm::find(form->dims, index);
      if (place == form->dims.end())
        return "padding of a dimension without places";
      unsigned k = place - form->dims.begin();
      for (Exception &exception : result.exceptions) {
        Term &at = exception.places[k];
        Term there = terms.add(at, terms.integer(pad.getLow()[dim]));
        at = terms.select(terms.isInRange(at, index->size), there,
                          terms.integer(-1));
      }
    }
    for (Term &dim : result.dims)
      dim = to[dim->id];
    return result;
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerStructureElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ConcatenateOp::attachInterface<Concatenate>(*context);
    BroadcastInDimOp::attachInterface<Broadcast>(*context);
    TransposeOp::attachInterface<Transpose>(*context);
    SliceOp::attachInterface<Slice>(*context);
    ReverseOp::attachInterface<Reverse>(*context);
    IotaOp::attachInterface<Iota>(*context);
    PadOp::attachInterface<Pad>(*context);
  });
}

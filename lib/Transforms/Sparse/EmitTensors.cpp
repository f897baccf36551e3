// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whole tensors: by their rewrite, by rows that are added up, or by
// comparisons.

#include "Emit.h"
#include "Unique.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// `result` with the row added at its places.
Value Emitter::addRow(const Form &rows, const Exception &row, Value result,
                      TermRange index) {
  TermList dims;
  emitPlaces(row.places, dims);
  Tensor value = emit(row.value);
  // Rows are told apart by what is summed, whether or not places depend on it.
  TermList told = value.dims;
  addDims(told, row.value->free);
  for (Term place : row.places)
    addDims(told, place->free);
  for (Term dim : told)
    if (!llvm::is_contained(index, dim))
      addDims(dims, dim);
  Value indices = emitPlaces(row.places, dims);
  int64_t numDims = int64_t(dims.size());
  SmallVector<int64_t> inserted, batching, indexBatching, windows;
  for (Term dim : index) {
    const Term *found = llvm::find(ArrayRef(dims).take_front(numDims), dim);
    if (llvm::is_contained(rows.dims, dim)) {
      inserted.push_back(dim->id);
    } else if (found != dims.begin() + numDims) {
      batching.push_back(dim->id);
      indexBatching.push_back(found - dims.begin());
    } else {
      windows.push_back(int64_t(dims.size()));
      dims.push_back(dim);
    }
  }
  // Rows of one token each, whose places differ?
  TermList tokens;
  for (Term dim : ArrayRef(dims).take_front(numDims))
    if (!llvm::is_contained(index, dim))
      tokens.push_back(dim);
  bool isUnique =
      tokens.empty() || (tokens.size() == 1 &&
                         areUnique(forms, rows.dims, row.places, tokens[0]));
  Value updates = writer.spread(value, dims).value;
  if (writer.isDry())
    return {};
  auto sum = ReduceKindAttr::get(terms.getContext(), ReduceKind::Sum);
  return ScatterOp::create(writer.get(), writer.getLoc(), result.getType(), sum,
                           result, indices, updates, windows, inserted,
                           batching, indexBatching, inserted, numDims,
                           isUnique);
}

Value Emitter::emitRows(const Form &rows, Value result) {
  TermList index = terms.indicesOf(result);
  Type type = tensorType(result).getElementType();
  Type wide = rows.exceptions.empty() ? type : rows.exceptions[0].value->type;
  Value sum =
      writer.splat(terms.zero(wide)->number, tensorType(result).getShape());
  for (const Exception &row : rows.exceptions)
    sum = addRow(rows, row, sum, index);
  return writer.convert(sum, type);
}

Value Emitter::emitTensor(Value tensor) {
  const Rewrite *rewrite = forms.lookupRewrite(tensor);
  if (rewrite && rewrite->rows)
    return emitRows(*rewrite->rows, tensor);
  Term term = rewrite ? rewrite->term
                      : forms.sample(*forms.lookup(tensor), Substitution());
  wanted = terms.indicesOf(tensor);
  Tensor emitted = emit(term);
  Value value = writer.spread(emitted, wanted).value;
  wanted.clear();
  return value;
}

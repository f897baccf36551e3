// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpWriter.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

SmallVector<int64_t> sparse::sizesOf(TermRange dims) {
  return llvm::map_to_vector(dims, [](Term dim) { return dim->size; });
}

void sparse::addDims(TermList &dims, TermRange more) {
  for (Term dim : more)
    if (!llvm::is_contained(dims, dim))
      dims.push_back(dim);
}

Value OpWriter::splat(TypedAttr number, ArrayRef<int64_t> shape) {
  if (isDry())
    return {};
  auto type = RankedTensorType::get(shape, number.getType());
  return arith::ConstantOp::create(*builder, *loc,
                                   DenseElementsAttr::get(type, number));
}

Tensor OpWriter::spread(const Tensor &tensor, TermRange dims) {
  if (tensor.number)
    return {splat(tensor.number, sizesOf(dims)), TermList(dims), tensor.number};
  if (isDry() || ArrayRef(tensor.dims) == dims)
    return {tensor.value, TermList(dims), {}};
  SmallVector<int64_t> map;
  for (Term dim : tensor.dims)
    map.push_back(llvm::find(dims, dim) - dims.begin());
  auto type = tensorType(tensor.value).clone(sizesOf(dims));
  Value value;
  if (tensor.dims.size() == dims.size()) {
    SmallVector<int64_t> permutation(map.size());
    for (auto [from, to] : llvm::enumerate(map))
      permutation[to] = int64_t(from);
    value =
        TransposeOp::create(*builder, *loc, type, tensor.value, permutation);
  } else {
    value = BroadcastInDimOp::create(*builder, *loc, type, tensor.value, map);
  }
  return {value, TermList(dims), {}};
}

Tensor OpWriter::iota(Term index) {
  if (isDry())
    return {{}, {index}, {}};
  auto type = RankedTensorType::get({index->size}, index->type);
  return {IotaOp::create(*builder, *loc, type, 0), {index}, {}};
}

Tensor OpWriter::elementwise(Term op, ArrayRef<Tensor> operands,
                             TermRange dims) {
  if (isDry())
    return {{}, TermList(dims), {}};
  OperationState state(*loc, *op->name);
  for (const Tensor &operand : operands)
    state.addOperands(operand.value);
  state.addTypes(RankedTensorType::get(sizesOf(dims), op->type));
  state.addAttributes(op->attributes.getValue());
  return {builder->create(state)->getResult(0), TermList(dims), {}};
}

Value OpWriter::takeRows(Value tensor, ArrayRef<std::optional<int64_t>> rows) {
  if (isDry())
    return {};
  RankedTensorType type = tensorType(tensor);
  SmallVector<int64_t> starts(rows.size(), 0), limits(type.getShape()),
      strides(rows.size(), 1), sizes(type.getShape()), left;
  for (auto [dim, row] : llvm::enumerate(rows)) {
    if (!row) {
      left.push_back(sizes[dim]);
      continue;
    }
    starts[dim] = std::clamp<int64_t>(*row, 0, sizes[dim] - 1);
    limits[dim] = starts[dim] + 1;
    sizes[dim] = 1;
  }
  if (left.size() == rows.size())
    return tensor;
  Value slice = SliceOp::create(*builder, *loc, type.clone(sizes), tensor,
                                starts, limits, strides);
  return ReshapeOp::create(*builder, *loc, type.clone(left), slice);
}

Tensor OpWriter::sum(const Tensor &tensor, TermRange bound, Type type) {
  TermList left;
  SmallVector<int64_t> dims;
  for (auto [i, dim] : llvm::enumerate(tensor.dims)) {
    if (llvm::is_contained(bound, dim))
      dims.push_back(int64_t(i));
    else
      left.push_back(dim);
  }
  if (isDry())
    return {{}, left, {}};
  if (tensorType(tensor.value).getElementType() != type)
    return einsum({tensor}, left, type);
  auto resultType = RankedTensorType::get(sizesOf(left), type);
  return {ReduceOp::create(*builder, *loc, resultType, ReduceKind::Sum,
                           tensor.value, dims),
          left,
          {}};
}

Tensor OpWriter::einsum(ArrayRef<Tensor> factors, TermRange dims, Type type) {
  if (isDry())
    return {{}, TermList(dims), {}};
  TermList all;
  std::string spec;
  auto letter = [&](Term dim) {
    addDims(all, dim);
    size_t i = llvm::find(all, dim) - all.begin();
    return char(i < 26 ? 'a' + i : 'A' + (i - 26));
  };
  SmallVector<Value> values;
  for (const Tensor &factor : factors) {
    // A scalar has no letters.
    if (!values.empty())
      spec += ',';
    for (Term dim : factor.dims)
      spec += letter(dim);
    values.push_back(factor.value);
  }
  spec += "->";
  for (Term dim : dims)
    spec += letter(dim);
  auto resultType = RankedTensorType::get(sizesOf(dims), type);
  return {EinsumOp::create(*builder, *loc, resultType, spec, values),
          TermList(dims),
          {}};
}

Value OpWriter::stack(ArrayRef<Value> arrays) {
  if (isDry())
    return {};
  if (arrays.size() == 1)
    return arrays.front();
  SmallVector<Value> columns;
  RankedTensorType type = tensorType(arrays.front());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  for (Value array : arrays)
    columns.push_back(
        ReshapeOp::create(*builder, *loc, type.clone(shape), array));
  shape.back() = int64_t(arrays.size());
  return ConcatenateOp::create(*builder, *loc, type.clone(shape), columns,
                               type.getRank());
}

Value OpWriter::convert(Value tensor, Type type) {
  if (isDry() || tensorType(tensor).getElementType() == type)
    return tensor;
  auto result = tensorType(tensor).clone(type);
  return arith::TruncFOp::create(*builder, *loc, result, tensor);
}

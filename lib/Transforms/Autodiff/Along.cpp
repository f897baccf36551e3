// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Along.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

using namespace mlir;
using namespace shoal;

Value shoal::scatterAlong(TensorBuilder &b, Type type, Value places,
                          Value updates, int64_t dim) {
  auto result = cast<RankedTensorType>(type);
  int64_t rank = result.getRank();
  Type element = b.sumElement(result.getElementType());
  type = result.clone(element);
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim)
      others.push_back(d);
  Value sums = ScatterOp::create(
      b, type, ReduceKindAttr::get(b.getContext(), ReduceKind::Sum),
      b.zeros(type), places, b.convert(updates, element),
      /*update_window_dims=*/{},
      /*inserted_window_dims=*/ArrayRef(dim), others, others,
      /*scatter_dims_to_operand_dims=*/ArrayRef(dim),
      /*index_vector_dim=*/rank);
  return b.convert(sums, result.getElementType());
}

Value shoal::shiftDown(TensorBuilder &b, Value x, int64_t dim, int64_t by) {
  SmallVector<int64_t> low(tensorTypeOf(x).getRank(), 0), zeros(low), high(low);
  low[dim] = -by;
  high[dim] = by;
  return b.pad(x, low, high, zeros);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/RaggedProduct.h"
#include "shoal/Calls/Scratch.h"

namespace shoal::products {

RaggedProduct::RaggedProduct(const RaggedEinsumCall &call,
                             const ProductModel &model)
    : boundType(call.boundType), sizes(call.sizes), rowLetter(call.rowLetter),
      terms(call.terms), model(model) {
  part.types = {{call.typeIn, call.typeIn}, call.typeOut};
  part.sizes = sizes;
  for (size_t t = 0; t < numTensors; ++t)
    strides[t] = letterStrides(part, terms[t]);
  for (int64_t letter : terms[Bounds])
    part.sizes[letter] = 1;
  part.operands = {terms[In0], terms[In1]};
  part.result = terms[Out];
  auto isIndexed = [&](int64_t letter) { return isInBounds(letter); };
  for (Letters *term : {&part.operands[0], &part.operands[1], &part.result})
    std::erase_if(*term, isIndexed);
  // A device multiplies integers by loops over all groups.
  bool usesPlans = !model.isDevice || support::isFloat(part.types.in[0]);
  if (!isEmpty() && usesPlans)
    limit = sumOf(planWithin(sizes[rowLetter], INT64_MAX).scratch);
}

RaggedProduct::GroupPlan RaggedProduct::planWithin(int64_t rows,
                                                   int64_t bytes) const {
  EinsumSpec group = part;
  group.sizes[rowLetter] = rows;
  ProductPlan plan =
      planStrided(group, {strides[In0], strides[In1]}, model,
                  [&](const ProductPlan &candidate) {
                    return sumOf(scratchOf(part.types, candidate)) <= bytes;
                  });
  ProductScratch scratch = scratchOf(part.types, plan);
  return {std::move(plan), scratch};
}

Loops<2> RaggedProduct::partLoops(int64_t rows) const {
  Loops<2> loops;
  int64_t dense = 1;
  for (size_t d = part.result.size(); d-- > 0;) {
    int64_t letter = part.result[d];
    int64_t size = letter == rowLetter ? rows : sizes[letter];
    loops.push_back({size, {dense, strides[Out][letter]}});
    dense *= size;
  }
  return simplify(loops, /*leader=*/1);
}

bool RaggedProduct::isDensePart(int64_t rows) const {
  Loops<2> loops = partLoops(rows);
  return loops.empty() ||
         (loops.size() == 1 && loops[0].strides == Offsets<2>{1, 1});
}

int64_t RaggedProduct::partBytes() const {
  if (model.isDevice || isEmpty())
    return 0;
  // Each group has a part of its own where the result has all their letters.
  // Where a part of one row is dense, and one of two, rows lie one behind the
  // other with nothing between them, so that those of more rows are dense, too.
  bool areApart =
      std::all_of(terms[Bounds].begin(), terms[Bounds].end(),
                  [&](int64_t letter) { return contains(terms[Out], letter); });
  if (areApart && isDensePart(1) && isDensePart(2))
    return 0;
  return iterations(partLoops(sizes[rowLetter])) *
         static_cast<int64_t>(support::elementSize(part.types.out));
}

} // namespace shoal::products

int64_t shoal::calls::scratchBytes(const RaggedEinsumCall &call,
                                   bool onDevice) {
  products::RaggedProduct product(call, onDevice ? products::deviceModel
                                                 : products::cpuModel);
  return sumOfPieces({product.partBytes(), product.productBytes()});
}

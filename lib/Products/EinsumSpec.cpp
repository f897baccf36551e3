// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/EinsumSpec.h"

namespace shoal::products {

ElementType computeType(const ProductTypes &types) {
  if (!support::isFloat(types.out))
    return types.out;
  bool wide = types.in[0] == ElementType::F64 || types.out == ElementType::F64;
  return wide ? ElementType::F64 : ElementType::F32;
}

int64_t elementsOf(const EinsumSpec &spec, const Letters &letters) {
  int64_t count = 1;
  for (int64_t letter : letters)
    count *= spec.sizes[letter];
  return count;
}

std::vector<int64_t> letterStrides(const EinsumSpec &spec,
                                   const Letters &letters) {
  std::vector<int64_t> strides(spec.sizes.size(), 0);
  int64_t stride = 1;
  for (size_t d = letters.size(); d-- > 0;) {
    strides[letters[d]] += stride;
    stride *= spec.sizes[letters[d]];
  }
  return strides;
}

bool contains(const Letters &letters, int64_t letter) {
  return std::find(letters.begin(), letters.end(), letter) != letters.end();
}

Contraction classify(const EinsumSpec &spec,
                     const std::array<std::vector<int64_t>, 3> &strides) {
  Contraction contraction;
  for (size_t l = 0; l < spec.sizes.size(); ++l) {
    Loop<3> loop{spec.sizes[l], {strides[0][l], strides[1][l], strides[2][l]}};
    auto letter = static_cast<int64_t>(l);
    bool in0 = contains(spec.operands[0], letter);
    bool in1 = contains(spec.operands[1], letter);
    if (spec.sizes[l] == 1 || (!in0 && !in1))
      continue;
    if (!contains(spec.result, letter))
      contraction.summed.push_back(loop);
    else if (in0 && in1)
      contraction.batch.push_back(loop);
    else
      (in0 ? contraction.rows : contraction.columns).push_back(loop);
  }
  return contraction;
}

} // namespace shoal::products

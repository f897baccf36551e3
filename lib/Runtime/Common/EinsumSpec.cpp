// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EinsumSpec.h"
#include "Descriptor.h"

namespace shoal::rt {

/// One type for all operands, or a pair of f8.
static void setTypesIn(EinsumSpec &spec, int64_t code) {
  using enum ElementType;
  bool isPair =
      code == SHOAL_RT_F8E4M3FN_F8E5M2 || code == SHOAL_RT_F8E5M2_F8E4M3FN;
  if (!isPair) {
    spec.typeIn = static_cast<ElementType>(code);
    return;
  }
  bool isFirst = code == SHOAL_RT_F8E4M3FN_F8E5M2;
  spec.typeIn = isFirst ? F8E4M3FN : F8E5M2;
  spec.otherIn = isFirst ? F8E5M2 : F8E4M3FN;
}

EinsumSpec parseEinsum(const int64_t *desc) {
  Descriptor reader(desc);
  EinsumSpec spec;
  setTypesIn(spec, reader.number());
  spec.typeOut = reader.type();
  spec.sizes = reader.numbers(reader.number());
  spec.operands.resize(reader.number());
  for (Letters &letters : spec.operands)
    letters = reader.numbers(reader.number());
  spec.result = reader.numbers(reader.number());
  spec.encoded.assign(desc, reader.position());
  if (support::isFloat(spec.typeIn) != support::isFloat(spec.typeOut))
    fatal("einsum from " + std::string(elementTypeName(spec.typeIn)) + " to " +
          std::string(elementTypeName(spec.typeOut)) + " is not supported");
  return spec;
}

bool describes(const int64_t *desc, const EinsumSpec &spec) {
  // An encoding says where it ends: the first difference comes before that.
  return std::equal(spec.encoded.begin(), spec.encoded.end(), desc);
}

ElementType computeType(const EinsumSpec &spec) {
  if (!support::isFloat(spec.typeOut))
    return spec.typeOut;
  bool wide =
      spec.typeIn == ElementType::F64 || spec.typeOut == ElementType::F64;
  return wide ? ElementType::F64 : ElementType::F32;
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

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PreparedEinsum.h"
#include "Descriptor.h"

#include <unordered_map>

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

EinsumSpec readEinsum(Descriptor &reader) {
  EinsumSpec spec;
  setTypesIn(spec, reader.number());
  spec.typeOut = reader.type();
  spec.sizes = reader.numbers(reader.number());
  spec.operands.resize(reader.number());
  for (Letters &letters : spec.operands)
    letters = reader.numbers(reader.number());
  spec.result = reader.numbers(reader.number());
  if (support::isFloat(spec.typeIn) != support::isFloat(spec.typeOut))
    fatal("einsum from " + std::string(elementTypeName(spec.typeIn)) + " to " +
          std::string(elementTypeName(spec.typeOut)) + " is not supported");
  return spec;
}

int64_t elementsOf(const EinsumSpec &spec, const Letters &letters) {
  int64_t count = 1;
  for (int64_t letter : letters)
    count *= spec.sizes[letter];
  return count;
}

/// One operand: a copy, or a sum as a product by one.
static void prepareUnary(PreparedEinsum &prepared) {
  const EinsumSpec &spec = prepared.spec;
  std::vector<int64_t> in = letterStrides(spec, spec.operands[0]);
  std::vector<int64_t> out = letterStrides(spec, spec.result);
  LoopProduct &loops = prepared.sum;
  loops = {{}, {}, spec.typeIn, spec.typeOut};
  for (size_t l = 0; l < spec.sizes.size(); ++l) {
    Loop<3> loop{spec.sizes[l], {in[l], 0, out[l]}};
    bool kept = contains(spec.result, static_cast<int64_t>(l));
    (kept ? loops.outer : loops.summed).push_back(loop);
    if (kept)
      prepared.copy.push_back({loop.size, {in[l], out[l]}});
  }
  prepared.isCopy = simplify(loops.summed, 0).empty();
}

/// Kernels take equal types, or a small float into f32, or f8 into any of them.
static void useComputeTypes(PreparedEinsum &prepared) {
  EinsumSpec &spec = prepared.spec;
  ElementType in = spec.typeIn, out = spec.typeOut, compute = computeType(spec);
  bool small = support::isSmallFloat(in) && out == ElementType::F32;
  bool small8 = support::isFloat8(in) && support::isSmallFloat(out);
  if (in == out || small || small8)
    return;
  prepared.declaredTypes = {{spec.typeOf(0), spec.typeOf(1)}, out};
  spec.typeIn = spec.typeOut = compute;
  spec.otherIn.reset();
}

PreparedEinsum prepareEinsum(const int64_t *desc, const ProductModel &model) {
  Descriptor reader(desc);
  PreparedEinsum prepared;
  prepared.spec = readEinsum(reader);
  prepared.encoded.assign(desc, reader.position());
  useComputeTypes(prepared);
  const EinsumSpec &spec = prepared.spec;
  prepared.resultElements = elementsOf(spec, spec.result);
  prepared.emptySum = contains(spec.sizes, 0);
  if (prepared.emptySum)
    return prepared;
  if (spec.operands.size() == 1)
    prepareUnary(prepared);
  else
    prepared.product = BinaryEinsum(spec,
                                    {letterStrides(spec, spec.operands[0]),
                                     letterStrides(spec, spec.operands[1])},
                                    model);
  return prepared;
}

const PreparedEinsum &lookUpEinsum(const int64_t *desc,
                                   const ProductModel &model) {
  static std::unordered_map<const int64_t *, PreparedEinsum> cache;
  auto entry = cache.find(desc);
  // The address says it all for a program; a test may reuse one.
  if (entry == cache.end() || !entry->second.isOf(desc))
    entry = cache.insert_or_assign(desc, prepareEinsum(desc, model)).first;
  return entry->second;
}

} // namespace shoal::rt

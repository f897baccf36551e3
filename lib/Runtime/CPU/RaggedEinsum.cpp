// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum: a matrix product a group.

#include "../Common/Descriptor.h"
#include "../Common/Recorder.h"
#include "BinaryEinsum.h"
#include "StridedCopy.h"

#include <cstring>
#include <map>
#include <unordered_map>

namespace shoal::rt {

namespace {

class RaggedEinsum {
public:
  explicit RaggedEinsum(const int64_t *desc);

  void run(const void *in0, const void *in1, const void *begins,
           const void *ends, void *out);
  bool isOf(const int64_t *desc) const {
    return std::equal(encoded.begin(), encoded.end(), desc);
  }

private:
  enum Tensor { In0, In1, Bounds, Out, numTensors };
  struct Group {
    /// Of its part in each tensor, in elements.
    std::array<int64_t, numTensors> offsets;
    int64_t begin, count;
  };

  std::vector<Group> listGroups(const void *begins, const void *ends) const;
  bool areDisjoint(const std::vector<Group> &groups) const;
  const BinaryEinsum &productOf(int64_t rows);
  void runGroup(const Group &group, bool mayWrite, const void *in0,
                const void *in1, void *out);
  void addPart(const Group &group, const void *part, void *out) const;
  /// The loops over a group's part, by dense strides and those of the result.
  Loops<2> partLoops(int64_t rows) const;
  bool isInBounds(int64_t letter) const {
    return contains(terms[Bounds], letter);
  }
  int64_t boundAt(const void *bounds, int64_t place) const;

  /// The product of one group; the sizes of its rows are set for each.
  EinsumSpec part;
  ElementType boundType;
  std::vector<int64_t> sizes;
  int64_t rowLetter;
  std::array<Letters, numTensors> terms;
  std::array<std::vector<int64_t>, numTensors> strides;
  int64_t resultElements = 1;
  std::vector<int64_t> encoded;
  /// By the number of rows.
  std::unordered_map<int64_t, BinaryEinsum> products;
};

} // namespace

RaggedEinsum::RaggedEinsum(const int64_t *desc) {
  Descriptor reader(desc);
  part.typeIn = reader.type();
  part.typeOut = reader.type();
  boundType = reader.type();
  sizes = reader.numbers(reader.number());
  rowLetter = reader.number();
  for (Letters &term : terms)
    term = reader.numbers(reader.number());
  encoded.assign(desc, reader.position());

  part.sizes = sizes;
  for (size_t t = 0; t < numTensors; ++t)
    strides[t] = letterStrides(part, terms[t]);
  for (int64_t letter : terms[Out])
    resultElements *= sizes[letter];
  for (int64_t letter : terms[Bounds])
    part.sizes[letter] = 1;
  part.operands = {terms[In0], terms[In1]};
  part.result = terms[Out];
  auto isIndexed = [&](int64_t letter) { return isInBounds(letter); };
  for (Letters *term : {&part.operands[0], &part.operands[1], &part.result})
    std::erase_if(*term, isIndexed);
}

int64_t RaggedEinsum::boundAt(const void *bounds, int64_t place) const {
  int64_t bound = boundType == ElementType::I64
                      ? static_cast<const int64_t *>(bounds)[place]
                      : static_cast<const int32_t *>(bounds)[place];
  return std::clamp<int64_t>(bound, 0, sizes[rowLetter]);
}

/// Those with rows, in the order of the bounds.
std::vector<RaggedEinsum::Group>
RaggedEinsum::listGroups(const void *begins, const void *ends) const {
  Loops<numTensors> loops;
  for (int64_t letter : terms[Bounds]) {
    if (sizes[letter] == 0)
      return {};
    Loop<numTensors> loop{sizes[letter], {}};
    for (size_t t = 0; t < numTensors; ++t)
      loop.strides[t] = strides[t][letter];
    loops.push_back(loop);
  }
  std::vector<Group> groups;
  forEach<numTensors>(loops, [&](const Offsets<numTensors> &at) {
    int64_t begin = boundAt(begins, at[Bounds]);
    int64_t count = boundAt(ends, at[Bounds]) - begin;
    if (count <= 0)
      return;
    Group group{at, begin, count};
    for (size_t t = 0; t < numTensors; ++t)
      group.offsets[t] += begin * strides[t][rowLetter];
    groups.push_back(group);
  });
  return groups;
}

/// Whether no element of the result belongs to two groups; false where finding
/// out would cost more than adding.
bool RaggedEinsum::areDisjoint(const std::vector<Group> &groups) const {
  bool keepsRows = contains(terms[Out], rowLetter);
  std::map<int64_t, int64_t> endOf; // by the place of row 0
  for (const Group &group : groups) {
    int64_t place = group.offsets[Out] - group.begin * strides[Out][rowLetter];
    auto [end, isFirst] = endOf.try_emplace(place, 0);
    if (!isFirst && (!keepsRows || group.begin < end->second))
      return false;
    end->second = group.begin + group.count;
  }
  return true;
}

const BinaryEinsum &RaggedEinsum::productOf(int64_t rows) {
  constexpr size_t maxProducts = 4096;
  if (auto known = products.find(rows); known != products.end())
    return known->second;
  if (products.size() >= maxProducts)
    products.clear();
  part.sizes[rowLetter] = rows;
  return products
      .try_emplace(rows, part, std::array{strides[In0], strides[In1]})
      .first->second;
}

Loops<2> RaggedEinsum::partLoops(int64_t rows) const {
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

/// Types of elements and sizes of the part have been checked.
void RaggedEinsum::addPart(const Group &group, const void *partial,
                           void *out) const {
  dispatchType(part.typeOut, [&]<typename T>() {
    const T *from = static_cast<const T *>(partial);
    T *to = static_cast<T *>(out) + group.offsets[Out];
    forEach<2>(partLoops(group.count), [&](const Offsets<2> &at) {
      to[at[1]] = combine<Kind::Sum>(to[at[1]], from[at[0]]);
    });
  });
}

void RaggedEinsum::runGroup(const Group &group, bool mayWrite, const void *in0,
                            const void *in1, void *out) {
  auto at = [](auto *tensor, ElementType type, int64_t offset) {
    using Byte = std::conditional_t<
        std::is_const_v<std::remove_pointer_t<decltype(tensor)>>, const char,
        char>;
    return static_cast<Byte *>(tensor) +
           offset * static_cast<int64_t>(support::elementSize(type));
  };
  const void *a = at(in0, part.typeIn, group.offsets[In0]);
  const void *b = at(in1, part.typeIn, group.offsets[In1]);
  const BinaryEinsum &product = productOf(group.count);
  Loops<2> loops = partLoops(group.count);
  bool isDense = loops.empty() ||
                 (loops.size() == 1 && loops[0].strides == Offsets<2>{1, 1});
  if (mayWrite && isDense)
    return product.run(a, b, at(out, part.typeOut, group.offsets[Out]));
  int64_t elements = 1;
  for (const Loop<2> &loop : loops)
    elements *= loop.size;
  void *partial = Staging::get().at(
      Staging::WideResult, elements * support::elementSize(part.typeOut));
  product.run(a, b, partial);
  addPart(group, partial, out);
}

void RaggedEinsum::run(const void *in0, const void *in1, const void *begins,
                       const void *ends, void *out) {
  std::memset(out, 0, resultElements * support::elementSize(part.typeOut));
  if (contains(sizes, 0))
    return;
  std::vector<Group> groups = listGroups(begins, ends);
  bool mayWrite = areDisjoint(groups);
  for (const Group &group : groups)
    runGroup(group, mayWrite, in0, in1, out);
}

static RaggedEinsum &lookUp(const int64_t *desc) {
  static std::unordered_map<const int64_t *, RaggedEinsum> cache;
  auto entry = cache.find(desc);
  // The address says it all for a program; a test may reuse one.
  if (entry == cache.end() || !entry->second.isOf(desc))
    entry = cache.insert_or_assign(desc, RaggedEinsum(desc)).first;
  return entry->second;
}

} // namespace shoal::rt

extern "C" void shoal_rt_ragged_einsum(const int64_t *desc, const void *in0,
                                       const void *in1, const void *begins,
                                       const void *ends, void *out) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  lookUp(desc).run(in0, in1, begins, ends, out);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum: a matrix product a group.

#include "../Products/RaggedPlan.h"
#include "../Program/Recorder.h"
#include "RunProduct.h"
#include "StridedCopy.h"
#include "Threads.h"
#include "shoal/Calls/Scratch.h"

namespace shoal::rt {

namespace {

class RaggedEinsum : public RaggedPlan {
public:
  explicit RaggedEinsum(const RaggedEinsumCall &call)
      : RaggedPlan(call, cpuModel) {}

  void run(const void *in0, const void *in1, const void *begins,
           const void *ends, void *out, void *scratch);

private:
  /// For a part, null where none is needed, and for the product of a group.
  struct Memory {
    void *part, *product;
  };

  void runGroup(const Group &group, const GroupPlan &product, bool mayWrite,
                const void *in0, const void *in1, void *out,
                const Memory &memory);
  /// Whether groups that are written where they belong may be so at the same
  /// time: no product has memory, all are known, and none is most of the work,
  /// which threads would better share.
  bool areApart(const std::vector<Group> &groups);
  /// What one group costs.
  double meanBytes(const std::vector<Group> &groups) const;
  void addPart(const Group &group, const void *part, void *out) const;
};

} // namespace

/// Types of elements and sizes of the part have been checked.
void RaggedEinsum::addPart(const Group &group, const void *partial,
                           void *out) const {
  dispatchType(part.types.out, [&]<typename T>() {
    const T *from = static_cast<const T *>(partial);
    T *to = static_cast<T *>(out) + group.offsets[Out];
    forEach<2>(partLoops(group.count), [&](const Offsets<2> &at) {
      to[at[1]] = combine<Kind::Sum>(to[at[1]], from[at[0]]);
    });
  });
}

bool RaggedEinsum::areApart(const std::vector<Group> &groups) {
  int64_t all = 0, most = 0;
  for (const Group &group : groups) {
    all += group.count;
    most = std::max(most, group.count);
    if (!isDensePart(group.count) || sumOf(productOf(group.count).scratch) != 0)
      return false;
  }
  auto isKnown = [&](const Group &group) { return knows(group.count); };
  return most * threads() <= 2 * all &&
         std::all_of(groups.begin(), groups.end(), isKnown);
}

double RaggedEinsum::meanBytes(const std::vector<Group> &groups) const {
  double terms = 0;
  for (const Group &group : groups)
    terms += static_cast<double>(group.count);
  for (size_t letter = 0; letter < sizes.size(); ++letter)
    if (auto number = static_cast<int64_t>(letter);
        number != rowLetter && !isInBounds(number))
      terms *= static_cast<double>(sizes[letter]);
  return terms * bytesPerTerm / static_cast<double>(groups.size());
}

void RaggedEinsum::runGroup(const Group &group, const GroupPlan &product,
                            bool mayWrite, const void *in0, const void *in1,
                            void *out, const Memory &memory) {
  auto offsetOf = [&](Tensor tensor, ElementType type) {
    return group.offsets[tensor] *
           static_cast<int64_t>(support::elementSize(type));
  };
  const void *a =
      static_cast<const char *>(in0) + offsetOf(In0, part.types.in[0]);
  const void *b =
      static_cast<const char *>(in1) + offsetOf(In1, part.types.in[1]);
  bool writes = mayWrite && isDensePart(group.count);
  void *result = writes
                     ? static_cast<char *>(out) + offsetOf(Out, part.types.out)
                     : memory.part;
  Scratch pieces(memory.product, productBytes());
  runProduct(product.plan, part.types, a, b, result,
             takeMemory(pieces, product.scratch, /*onDevice=*/false));
  if (!writes)
    addPart(group, result, out);
}

void RaggedEinsum::run(const void *in0, const void *in1, const void *begins,
                       const void *ends, void *out, void *scratch) {
  zeroBytes(out, resultElements * static_cast<int64_t>(
                                      support::elementSize(part.types.out)));
  if (isEmpty())
    return;
  std::vector<Group> groups = listGroups(begins, ends);
  bool mayWrite = areDisjoint(groups);
  Scratch pieces(scratch, sumOfPieces({partBytes(), productBytes()}));
  Memory memory = {pieces.take(partBytes()), pieces.take(productBytes())};
  auto runAll = [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g)
      runGroup(groups[g], productOf(groups[g].count), mayWrite, in0, in1, out,
               memory);
  };
  if (!mayWrite || !areApart(groups))
    return runAll(0, std::ssize(groups));
  // Their products are known: nothing is planned at the same time.
  parallelFor({std::ssize(groups), meanBytes(groups)}, runAll);
}

} // namespace shoal::rt

extern "C" void shoal_rt_ragged_einsum(const int64_t *desc, const void *in0,
                                       const void *in1, const void *begins,
                                       const void *ends, void *out,
                                       void *scratch) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  static PlanCache<RaggedEinsum> plans;
  auto plan = [](const RaggedEinsumCall &call) { return RaggedEinsum(call); };
  plans.get<RaggedEinsumCall>(desc, plan)
      .run(in0, in1, begins, ends, out, scratch);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum: a matrix product a group.

#include "../Common/RaggedPlan.h"
#include "../Common/Recorder.h"
#include "RunProduct.h"
#include "shoal/Calls/Scratch.h"

#include <cstring>

namespace shoal::rt {

namespace {

class RaggedEinsum : public RaggedPlan {
public:
  explicit RaggedEinsum(const RaggedEinsumCall &call)
      : RaggedPlan(call, hostModel) {}

  void run(const void *in0, const void *in1, const void *begins,
           const void *ends, void *out, void *scratch);

private:
  /// For a part, null where none is needed, and for the product of a group.
  struct Memory {
    void *part, *product;
  };

  void runGroup(const Group &group, bool mayWrite, const void *in0,
                const void *in1, void *out, const Memory &memory);
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

void RaggedEinsum::runGroup(const Group &group, bool mayWrite, const void *in0,
                            const void *in1, void *out, const Memory &memory) {
  auto offsetOf = [&](Tensor tensor, ElementType type) {
    return group.offsets[tensor] *
           static_cast<int64_t>(support::elementSize(type));
  };
  const void *a =
      static_cast<const char *>(in0) + offsetOf(In0, part.types.in[0]);
  const void *b =
      static_cast<const char *>(in1) + offsetOf(In1, part.types.in[1]);
  const GroupPlan &product = productOf(group.count);
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
  std::memset(out, 0, resultElements * support::elementSize(part.types.out));
  if (isEmpty())
    return;
  std::vector<Group> groups = listGroups(begins, ends);
  bool mayWrite = areDisjoint(groups);
  Scratch pieces(scratch, sumOfPieces({partBytes(), productBytes()}));
  Memory memory = {pieces.take(partBytes()), pieces.take(productBytes())};
  for (const Group &group : groups)
    runGroup(group, mayWrite, in0, in1, out, memory);
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

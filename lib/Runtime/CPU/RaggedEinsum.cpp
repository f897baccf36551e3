// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum: a matrix product a group.

#include "../Common/RaggedPlan.h"
#include "../Common/Recorder.h"
#include "RunProduct.h"

#include <cstring>

namespace shoal::rt {

namespace {

class RaggedEinsum : public RaggedPlan {
public:
  explicit RaggedEinsum(const RaggedEinsumCall &call)
      : RaggedPlan(call, hostModel) {}

  void run(const void *in0, const void *in1, const void *begins,
           const void *ends, void *out);

private:
  void runGroup(const Group &group, bool mayWrite, const void *in0,
                const void *in1, void *out);
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
                            const void *in1, void *out) {
  auto at = [](auto *tensor, ElementType type, int64_t offset) {
    using Byte = std::conditional_t<
        std::is_const_v<std::remove_pointer_t<decltype(tensor)>>, const char,
        char>;
    return static_cast<Byte *>(tensor) +
           offset * static_cast<int64_t>(support::elementSize(type));
  };
  const void *a = at(in0, part.types.in[0], group.offsets[In0]);
  const void *b = at(in1, part.types.in[0], group.offsets[In1]);
  const ProductPlan &product = productOf(group.count);
  Loops<2> loops = partLoops(group.count);
  bool isDense = loops.empty() ||
                 (loops.size() == 1 && loops[0].strides == Offsets<2>{1, 1});
  if (mayWrite && isDense)
    return runProduct(product, part.types, a, b,
                      at(out, part.types.out, group.offsets[Out]));
  int64_t elements = 1;
  for (const Loop<2> &loop : loops)
    elements *= loop.size;
  void *partial = Staging::get().at(
      Staging::WideResult, elements * support::elementSize(part.types.out));
  runProduct(product, part.types, a, b, partial);
  addPart(group, partial, out);
}

void RaggedEinsum::run(const void *in0, const void *in1, const void *begins,
                       const void *ends, void *out) {
  std::memset(out, 0, resultElements * support::elementSize(part.types.out));
  if (contains(sizes, 0))
    return;
  std::vector<Group> groups = listGroups(begins, ends);
  bool mayWrite = areDisjoint(groups);
  for (const Group &group : groups)
    runGroup(group, mayWrite, in0, in1, out);
}

} // namespace shoal::rt

extern "C" void shoal_rt_ragged_einsum(const int64_t *desc, const void *in0,
                                       const void *in1, const void *begins,
                                       const void *ends, void *out,
                                       void * /*scratch*/) {
  using namespace shoal::rt;
  Timed timed(Activity::Einsum);
  static PlanCache<RaggedEinsum> plans;
  auto plan = [](const RaggedEinsumCall &call) { return RaggedEinsum(call); };
  plans.get<RaggedEinsumCall>(desc, plan).run(in0, in1, begins, ends, out);
}

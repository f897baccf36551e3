// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum. The bounds are on the device, and a kernel that reads
// them there needs no wait. Of cuBLASLt a product for each group is faster
// where products are long, but takes the bounds on the host: the call then
// waits for the compute stream, once, and cannot be part of a CUDA graph.

#include "RaggedEinsum.h"
#include "../Products/RaggedPlan.h"
#include "Combine.h"
#include "Device.h"
#include "GroupedProduct.h"
#include "KernelLibrary.h"
#include "RunProduct.h"
#include "Timeline.h"
#include "shoal/Machine/Machine.h"

namespace shoal::rt {

namespace {

class RaggedEinsum : public RaggedPlan {
public:
  explicit RaggedEinsum(const RaggedEinsumCall &call)
      : RaggedPlan(call, deviceModel) {
    if (!isEmpty())
      grouped = planGrouped(*this);
  }

  void zero(void *out) const;
  RaggedWay choose() const;
  bool runGroups(const RaggedTensors &t);
  bool runGrouped(const RaggedTensors &t) const;
  void runLoops(const RaggedTensors &t) const;

private:
  int64_t numBounds() const;
  RaggedParameters describe() const;
  /// From the first to the last element of a tensor.
  int64_t bytesOf(Tensor tensor) const;

  std::optional<GroupedProduct> grouped;
  cudaStream_t stream = Device::get().compute();
};

/// Operations a second.
struct GroupRates {
  double cublas, grouped;
};

} // namespace

int64_t RaggedEinsum::numBounds() const {
  int64_t count = 1;
  for (int64_t letter : terms[Bounds])
    count *= sizes[letter];
  return count;
}

/// If the groups share the rows, as they mostly do, there is one term for each
/// index of the letters that are not the bounds'.
RaggedWay RaggedEinsum::choose() const {
  if (!support::isFloat(part.types.in[0]))
    return RaggedWay::Loops;
  RaggedWay withoutWait = grouped ? RaggedWay::Grouped : RaggedWay::Loops;
  if (!Device::get().mayWait())
    return withoutWait;
  double flops = 2;
  for (size_t l = 0; l < sizes.size(); ++l)
    if (!isInBounds(static_cast<int64_t>(l)))
      flops *= static_cast<double>(sizes[l]);
  constexpr GroupRates small = {gpuMachine.narrowGroupFlops,
                                gpuMachine.narrowTileFlops},
                       wide = {gpuMachine.flops, gpuMachine.tileFlops};
  constexpr double secondsToWait = gpuMachine.waitSeconds;
  bool isSmall = part.types.in[0] == ElementType::BF16 ||
                 part.types.in[0] == ElementType::F16;
  const GroupRates &rates = isSmall ? small : wide;
  double calls = secondsToWait +
                 static_cast<double>(numBounds()) * deviceModel.secondsPerCall +
                 flops / rates.cublas;
  double kernel =
      deviceModel.secondsPerLoopCall +
      flops / (grouped ? rates.grouped : 2 * deviceModel.loopTermsPerSecond);
  return calls < kernel ? RaggedWay::Calls : withoutWait;
}

/// False if the parts of groups are not dense or share elements; then nothing
/// was done.
bool RaggedEinsum::runGroups(const RaggedTensors &t) {
  auto bytes =
      numBounds() * static_cast<int64_t>(support::elementSize(boundType));
  std::vector<char> bounds(2 * bytes);
  const void *sources[] = {t.begins, t.ends};
  for (int i = 0; i < 2; ++i)
    check(api.cudaMemcpyAsync(bounds.data() + i * bytes, sources[i], bytes,
                              cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
  Timeline::get().waitFor(stream);
  std::vector<Group> groups = listGroups(bounds.data(), bounds.data() + bytes);
  bool mayWrite = areDisjoint(groups);
  for (const Group &group : groups)
    mayWrite = mayWrite && isDensePart(group.count);
  if (!mayWrite)
    return false;
  zero(t.out);
  auto at = [](const void *tensor, ElementType type, int64_t offset) {
    return static_cast<char *>(const_cast<void *>(tensor)) +
           offset * static_cast<int64_t>(support::elementSize(type));
  };
  for (const Group &group : groups) {
    const GroupPlan &product = productOf(group.count);
    Scratch pieces(t.scratch, productBytes());
    runProduct(product.plan, part.types,
               at(t.in0, part.types.in[0], group.offsets[In0]),
               at(t.in1, part.types.in[1], group.offsets[In1]),
               at(t.out, part.types.out, group.offsets[Out]),
               takeMemory(pieces, product.scratch, /*onDevice=*/true));
  }
  return true;
}

int64_t RaggedEinsum::bytesOf(Tensor tensor) const {
  ElementType type = tensor == Bounds ? boundType
                     : tensor == Out  ? part.types.out
                                      : part.types.in[0];
  auto count = static_cast<int64_t>(support::elementSize(type));
  for (int64_t letter : terms[tensor])
    count *= sizes[letter];
  return count;
}

RaggedParameters RaggedEinsum::describe() const {
  RaggedParameters p{};
  Loops<3> outer, groups;
  Loops<2> summed;
  auto loopOf = [&](int64_t letter) {
    return Loop<3>{
        sizes[letter],
        {strides[In0][letter], strides[In1][letter], strides[Bounds][letter]}};
  };
  p.rowLoop = -1;
  for (int64_t letter : terms[Out]) {
    if (letter == rowLetter)
      p.rowLoop = static_cast<int32_t>(outer.size());
    outer.push_back(loopOf(letter));
  }
  for (int64_t letter : terms[Bounds])
    if (!contains(terms[Out], letter))
      groups.push_back(loopOf(letter));
  for (size_t l = 0; l < sizes.size(); ++l) {
    auto letter = static_cast<int64_t>(l);
    bool isTerm = contains(terms[In0], letter) || contains(terms[In1], letter);
    if (isTerm && letter != rowLetter && !isInBounds(letter) &&
        !contains(terms[Out], letter))
      summed.push_back(
          {sizes[l], {strides[In0][letter], strides[In1][letter]}});
  }
  p.outer = nestOf(outer);
  p.groups = nestOf(groups);
  p.summed = nestOf(summed);
  p.rows = sizes[rowLetter];
  p.rowStrides[0] = strides[In0][rowLetter];
  p.rowStrides[1] = strides[In1][rowLetter];
  return p;
}

void RaggedEinsum::runLoops(const RaggedTensors &t) const {
  RaggedParameters p = describe();
  p.typeIn = static_cast<int32_t>(part.types.in[0]);
  p.typeOut = static_cast<int32_t>(part.types.out);
  p.boundType = static_cast<int32_t>(boundType);
  p.sum = static_cast<int32_t>(kindOn(part.types.in[0], Kind::Sum));
  p.product = static_cast<int32_t>(kindOn(part.types.in[0], Kind::Prod));
  p.in0 = t.in0;
  p.in1 = t.in1;
  p.begins = t.begins;
  p.ends = t.ends;
  p.out = t.out;
  launch(stream, SHOAL_WIDE_NAMES("shoal_ragged").of(part.types.in[0]),
         blocksFor(p.outer.count, blockThreads), p,
         {{t.in0, bytesOf(In0), Access::Read},
          {t.in1, bytesOf(In1), Access::Read},
          {t.begins, bytesOf(Bounds), Access::Read},
          {t.ends, bytesOf(Bounds), Access::Read},
          {t.out, bytesOf(Out), Access::Write}});
}

bool RaggedEinsum::runGrouped(const RaggedTensors &t) const {
  if (!grouped)
    return false;
  GroupedParameters p = grouped->parameters;
  p.a = grouped->swaps ? t.in1 : t.in0;
  p.b = grouped->swaps ? t.in0 : t.in1;
  p.begins = t.begins;
  p.ends = t.ends;
  p.out = t.out;
  launch(stream, grouped->kernel, grouped->blocks, p,
         {{t.in0, bytesOf(In0), Access::Read},
          {t.in1, bytesOf(In1), Access::Read},
          {t.begins, bytesOf(Bounds), Access::Read},
          {t.ends, bytesOf(Bounds), Access::Read},
          {t.out, bytesOf(Out), Access::ReadWrite}});
  return true;
}

void RaggedEinsum::zero(void *out) const {
  check(api.cudaMemsetAsync(out, 0, bytesOf(Out), stream), "cudaMemsetAsync");
}

static RaggedEinsum &lookUpPlan(const int64_t *desc) {
  static PlanCache<RaggedEinsum> plans;
  return plans.get<RaggedEinsumCall>(
      desc, [](const RaggedEinsumCall &call) { return RaggedEinsum(call); });
}

RaggedWay chooseRaggedWay(const int64_t *desc) {
  return lookUpPlan(desc).choose();
}

bool runRagged(const int64_t *desc, const RaggedTensors &tensors,
               RaggedWay way) {
  RaggedEinsum &einsum = lookUpPlan(desc);
  if (einsum.resultElements == 0)
    return true;
  if (einsum.isEmpty()) {
    einsum.zero(tensors.out);
    return true;
  }
  switch (way) {
  case RaggedWay::Calls:
    return einsum.runGroups(tensors);
  case RaggedWay::Grouped:
    return einsum.runGrouped(tensors);
  case RaggedWay::Loops:
    einsum.runLoops(tensors);
  }
  return true;
}

} // namespace shoal::rt

extern "C" void shoal_rt_ragged_einsum(const int64_t *desc, const void *in0,
                                       const void *in1, const void *begins,
                                       const void *ends, void *out,
                                       void *scratch) {
  using namespace shoal::rt;
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  RaggedTensors tensors = {in0, in1, begins, ends, out, scratch};
  RaggedWay way = chooseRaggedWay(desc);
  // Groups that overlap are no products of cuBLASLt.
  if (!runRagged(desc, tensors, way) &&
      (way == RaggedWay::Grouped ||
       !runRagged(desc, tensors, RaggedWay::Grouped)))
    runRagged(desc, tensors, RaggedWay::Loops);
}

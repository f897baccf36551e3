// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_ragged_einsum. The bounds are on the device. A product worth a call
// of cuBLASLt for each group needs them on the host: the call then waits for
// the compute stream, once, and cannot be part of a CUDA graph. Other products
// go to a kernel that reads the bounds itself.

#include "../Common/RaggedPlan.h"
#include "BinaryEinsum.h"
#include "Combine.h"
#include "Device.h"
#include "KernelLibrary.h"
#include "Timeline.h"

namespace shoal::rt {

namespace {

class RaggedEinsum : public RaggedPlan {
public:
  explicit RaggedEinsum(const int64_t *desc)
      : RaggedPlan(desc, deviceModel), stream(Device::get().compute()) {}

  void run(const void *in0, const void *in1, const void *begins,
           const void *ends, void *out);

private:
  int64_t numBounds() const;
  bool isWorthCalls() const;
  bool runGroups(const void *in0, const void *in1, const void *begins,
                 const void *ends, void *out);
  RaggedParameters describe() const;
  void runLoops(const void *in0, const void *in1, const void *begins,
                const void *ends, void *out) const;
  /// From the first to the last element of a tensor.
  int64_t bytesOf(Tensor tensor) const;

  cudaStream_t stream;
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
bool RaggedEinsum::isWorthCalls() const {
  if (!support::isFloat(part.typeIn))
    return false;
  double rowTerms = 1;
  for (size_t l = 0; l < sizes.size(); ++l)
    if (!isInBounds(static_cast<int64_t>(l)))
      rowTerms *= static_cast<double>(sizes[l]);
  constexpr double secondsToWait = 2e-5;
  return rowTerms / deviceModel.loopTermsPerSecond >
         secondsToWait +
             static_cast<double>(numBounds()) * deviceModel.secondsPerCall;
}

/// False if the parts of groups are not dense or share elements; then nothing
/// was done.
bool RaggedEinsum::runGroups(const void *in0, const void *in1,
                             const void *begins, const void *ends, void *out) {
  auto bytes =
      numBounds() * static_cast<int64_t>(support::elementSize(boundType));
  std::vector<char> bounds(2 * bytes);
  const void *sources[] = {begins, ends};
  for (int i = 0; i < 2; ++i)
    check(api.cudaMemcpyAsync(bounds.data() + i * bytes, sources[i], bytes,
                              cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
  Timeline::get().waitFor(stream);
  std::vector<Group> groups = listGroups(bounds.data(), bounds.data() + bytes);
  bool mayWrite = areDisjoint(groups);
  for (const Group &group : groups) {
    Loops<2> loops = partLoops(group.count);
    mayWrite = mayWrite &&
               (loops.empty() ||
                (loops.size() == 1 && loops[0].strides == Offsets<2>{1, 1}));
  }
  if (!mayWrite)
    return false;
  check(api.cudaMemsetAsync(out, 0,
                            resultElements * support::elementSize(part.typeOut),
                            stream),
        "cudaMemsetAsync");
  auto at = [](const void *tensor, ElementType type, int64_t offset) {
    return static_cast<char *>(const_cast<void *>(tensor)) +
           offset * static_cast<int64_t>(support::elementSize(type));
  };
  for (const Group &group : groups)
    runBinary(productOf(group.count), at(in0, part.typeIn, group.offsets[In0]),
              at(in1, part.typeIn, group.offsets[In1]),
              at(out, part.typeOut, group.offsets[Out]));
  return true;
}

int64_t RaggedEinsum::bytesOf(Tensor tensor) const {
  ElementType type = tensor == Bounds ? boundType
                     : tensor == Out  ? part.typeOut
                                      : part.typeIn;
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

void RaggedEinsum::runLoops(const void *in0, const void *in1,
                            const void *begins, const void *ends,
                            void *out) const {
  RaggedParameters p = describe();
  p.typeIn = static_cast<int32_t>(part.typeIn);
  p.typeOut = static_cast<int32_t>(part.typeOut);
  p.boundType = static_cast<int32_t>(boundType);
  p.sum = static_cast<int32_t>(kindOn(part.typeIn, Kind::Sum));
  p.product = static_cast<int32_t>(kindOn(part.typeIn, Kind::Prod));
  p.in0 = in0;
  p.in1 = in1;
  p.begins = begins;
  p.ends = ends;
  p.out = out;
  launch(stream, SHOAL_WIDE_NAMES("shoal_ragged").of(part.typeIn),
         blocksFor(p.outer.count, blockThreads), p,
         {{in0, bytesOf(In0), Access::Read},
          {in1, bytesOf(In1), Access::Read},
          {begins, bytesOf(Bounds), Access::Read},
          {ends, bytesOf(Bounds), Access::Read},
          {out, bytesOf(Out), Access::Write}});
}

void RaggedEinsum::run(const void *in0, const void *in1, const void *begins,
                       const void *ends, void *out) {
  if (resultElements == 0)
    return;
  if (contains(sizes, 0)) {
    check(api.cudaMemsetAsync(out, 0, bytesOf(Out), stream), "cudaMemsetAsync");
    return;
  }
  if (!isWorthCalls() || !runGroups(in0, in1, begins, ends, out))
    runLoops(in0, in1, begins, ends, out);
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
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  lookUp(desc).run(in0, in1, begins, ends, out);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collectives that keep shapes.

#include "../Common/Calls.h"
#include "../Common/Recorder.h"
#include "Reductions.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

extern "C" void shoal_rt_axis_index(const int64_t *desc, int32_t *out) {
  const auto &call = lookUp<AxisIndexCall>(desc);
  *out = static_cast<int32_t>(Device::get().indexOver(call.mesh, call.axes));
}

extern "C" void shoal_rt_all_reduce(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllReduceCall>(desc);
  int64_t count = call.count;
  int64_t p = shardCount(call.axes), bytes = bytesOf(call.type, {&count, 1});
  Timed timed(Activity::AllReduce, call.id,
              shoal::support::allReduceSize(bytes, p));
  if (bytes == 0)
    return;
  if (p == 1) {
    std::memcpy(out, in, bytes);
    return;
  }
  Reduction reduction = reductionFor(call.type, call.kind);
  MPI_Comm group = Device::get().group(call.mesh, call.axes);
  constexpr int64_t chunk = int64_t(1) << 30;
  int64_t width = bytes / count;
  for (int64_t done = 0; done < count; done += chunk)
    check(MPI_Allreduce(static_cast<const char *>(in) + done * width,
                        static_cast<char *>(out) + done * width,
                        static_cast<int>(std::min(chunk, count - done)),
                        reduction.type, reduction.op, group),
          "MPI_Allreduce");
}

extern "C" void shoal_rt_collective_permute(const int64_t *desc, const void *in,
                                            void *out) {
  const auto &call = lookUp<CollectivePermuteCall>(desc);
  int64_t bytes = bytesOf(call.type, {&call.count, 1});
  const Device &device = Device::get();
  int to = static_cast<int>(device.receiverOf(call));
  int from = static_cast<int>(device.senderTo(call));
  int me = static_cast<int>(device.rank());
  Timed timed(Activity::CollectivePermute, call.id, to == me ? 0 : bytes);
  if (bytes == 0)
    return;
  if (to == me) { // then nothing else comes either
    std::memcpy(out, in, bytes);
    return;
  }
  BlockType block(bytes);
  constexpr int tag = 1;
  check(MPI_Sendrecv(in, 1, block, to, tag, out, 1, block, from, tag,
                     worldCommunicator(), MPI_STATUS_IGNORE),
        "MPI_Sendrecv");
}

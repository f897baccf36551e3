// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collectives that keep shapes.

#include "../Common/CallSpecs.h"
#include "../Common/Recorder.h"
#include "Reductions.h"
#include "Transfer.h"
#include "shoal/Support/CollectiveBytes.h"

#include <cstring>

using namespace shoal::rt;

extern "C" void shoal_rt_axis_index(const int64_t *desc, int32_t *out) {
  Descriptor reader(desc);
  int64_t mesh = reader.number();
  *out = static_cast<int32_t>(Device::get().indexOver(mesh, reader.axes()));
}

extern "C" void shoal_rt_all_reduce(const int64_t *desc, const void *in,
                                    void *out) {
  AllReduceSpec spec(desc);
  int64_t count = spec.count;
  int64_t p = shardCount(spec.axes), bytes = bytesOf(spec.type, {&count, 1});
  Timed timed(Activity::AllReduce, spec.id,
              shoal::support::allReduceSize(bytes, p));
  if (bytes == 0)
    return;
  if (p == 1) {
    std::memcpy(out, in, bytes);
    return;
  }
  Reduction reduction = reductionFor(spec.type, spec.kind);
  MPI_Comm group = Device::get().group(spec.mesh, spec.axes);
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
  PermuteSpec spec(desc);
  int64_t bytes = bytesOf(spec.type, {&spec.count, 1});
  const Device &device = Device::get();
  int to = static_cast<int>(spec.to(device));
  int from = static_cast<int>(spec.from(device));
  int me = static_cast<int>(device.rank());
  Timed timed(Activity::CollectivePermute, spec.id, to == me ? 0 : bytes);
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

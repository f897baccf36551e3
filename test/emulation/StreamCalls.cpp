// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the CUDA runtime for streams, events and copies.

#include "Error.h"
#include "Faults.h"
#include "Graphs.h"
#include "Memory.h"
#include "Streams.h"

#include <cstring>

using namespace shoal::emulation;

static Range rangeOf(const void *pointer, size_t bytes, bool writes) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  return {begin, begin + bytes, writes};
}

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!stream || flags > cudaStreamNonBlocking)
    return cudaErrorInvalidValue;
  *stream = Streams::get().create(flags != cudaStreamNonBlocking);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  return Streams::get().destroy(stream) ? cudaSuccess
                                        : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  const Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (found->graph)
    return cudaErrorStreamCaptureUnsupported;
  Streams::get().synchronize(found->clock);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  Streams::get().synchronize(Streams::get().everything());
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  const Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (found->graph)
    return cudaErrorStreamCaptureUnsupported;
  if (!Streams::get().isDone(found->clock))
    return cudaErrorNotReady;
  Streams::get().learn(found->clock);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *waiting = Streams::get().find(stream);
  const Event *awaited = Streams::get().find(event);
  if (!waiting || !awaited)
    return cudaErrorInvalidResourceHandle;
  if (flags != cudaEventWaitDefault)
    return cudaErrorInvalidValue;
  if (waiting->graph && awaited->graph != waiting->graph)
    return cudaErrorStreamCaptureIsolation;
  if (awaited->graph && !awaited->graph->isCapturing())
    return cudaErrorCapturedEvent;
  if (awaited->graph && !waiting->graph)
    awaited->graph->join(*waiting);
  if (injectedSkip(__func__))
    return cudaSuccess;
  if (waiting->graph)
    waiting->graph->wait(*waiting, *awaited);
  else
    Streams::get().wait(*waiting, *awaited);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
  if (!event || (flags & ~known) != 0)
    return cudaErrorInvalidValue;
  *event = Streams::get().createEvent((flags & cudaEventDisableTiming) == 0);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  return Streams::get().destroyEvent(event) ? cudaSuccess
                                            : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *recorded = Streams::get().find(stream);
  Event *found = Streams::get().find(event);
  if (!recorded || !found)
    return cudaErrorInvalidResourceHandle;
  if (recorded->graph)
    recorded->graph->record(*found, *recorded);
  else
    Streams::get().record(*found, *recorded);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  const Event *found = Streams::get().find(event);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (found->graph)
    return cudaErrorCapturedEvent;
  if (!Streams::get().isDone(found->clock))
    return cudaErrorNotReady;
  Streams::get().learn(found->clock);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  const Event *found = Streams::get().find(event);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (found->graph)
    return cudaErrorCapturedEvent;
  Streams::get().synchronize(found->clock);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t end) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  const Event *first = Streams::get().find(start);
  const Event *second = Streams::get().find(end);
  if (!milliseconds)
    return cudaErrorInvalidValue;
  for (const Event *event : {first, second})
    if (!event || !event->timed || !event->recorded || event->graph)
      return cudaErrorInvalidResourceHandle;
  for (const Event *event : {first, second})
    if (!Streams::get().isDone(event->clock))
      return cudaErrorNotReady;
  std::chrono::duration<float, std::milli> elapsed = second->time - first->time;
  *milliseconds = elapsed.count();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost &&
      kind != cudaMemcpyDeviceToDevice)
    return cudaErrorInvalidMemcpyDirection;
  // Of the host's memory only what cudaMallocHost gave is known.
  const Memory &memory = Memory::get();
  std::vector<Range> ranges;
  Range read = rangeOf(source, bytes, /*writes=*/false);
  Range written = rangeOf(target, bytes, /*writes=*/true);
  if (kind != cudaMemcpyHostToDevice || memory.find(read.begin))
    ranges.push_back(read);
  if (kind != cudaMemcpyDeviceToHost || memory.find(written.begin))
    ranges.push_back(written);
  bool toHost = kind == cudaMemcpyDeviceToHost;
  const Allocation *host = memory.find(toHost ? written.begin : read.begin);
  bool pinned = kind != cudaMemcpyDeviceToDevice && host && host->pinned;
  submit(*found, "cudaMemcpyAsync", ranges, /*concurrent=*/false,
         [=](Stream &own, const std::vector<Range> &) {
           if (pinned)
             Streams::get().copyPinned(own, target, source, bytes, toHost);
           else if (bytes != 0)
             std::memmove(target, source, bytes);
         });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes,
                            cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  submit(*found, "cudaMemsetAsync", {rangeOf(target, bytes, /*writes=*/true)},
         /*concurrent=*/false, [=](Stream &, const std::vector<Range> &) {
           if (bytes != 0)
             std::memset(target, value, bytes);
         });
  return cudaSuccess;
}
} // extern "C"

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Graphs.h"
#include "Error.h"
#include "Faults.h"

#include <algorithm>

namespace shoal::emulation {

static int numCaptures = 0;

bool isCapturing() { return numCaptures != 0; }

size_t Graph::indexOf(const Stream &stream) const {
  return static_cast<size_t>(
      std::find(streams.begin(), streams.end(), &stream) - streams.begin());
}

void Graph::join(Stream &stream) {
  numCaptures += streams.empty() ? 1 : 0;
  stream.graph = this;
  streams.push_back(&stream);
  clocks.emplace_back();
}

void Graph::add(Stream &stream, const char *name, std::vector<Range> ranges,
                bool concurrent, Body body) {
  size_t index = indexOf(stream);
  clocks[index].advance(index);
  ranges.insert(ranges.end(), stream.declared.begin(), stream.declared.end());
  stream.declared.clear();
  nodes.push_back(
      [=, ranges = std::move(ranges), body = std::move(body)](Replay &replay) {
        Stream &own = *replay.streams[index];
        body(own, Streams::get().enqueue(own, name, ranges, concurrent));
      });
}

void Graph::record(Event &event, Stream &stream) {
  size_t index = indexOf(stream);
  event.graph = this;
  events[&event] = clocks[index];
  nodes.push_back([index, &event](Replay &replay) {
    replay.events[&event] = replay.streams[index]->clock;
  });
}

void Graph::recordExternal(Event &event, Stream &stream) {
  size_t index = indexOf(stream);
  clocks[index].advance(index);
  nodes.push_back([index, &event](Replay &replay) {
    Streams::get().record(event, *replay.streams[index]);
  });
}

void Graph::wait(Stream &stream, const Event &event) {
  size_t index = indexOf(stream);
  clocks[index].join(events[&event]);
  nodes.push_back([index, &event](Replay &replay) {
    replay.streams[index]->clock.join(replay.events[&event]);
  });
}

bool Graph::isJoined() const {
  for (size_t i = 0; i < streams.size(); ++i)
    if (clocks[0][i] < clocks[i][i])
      return false;
  return true;
}

void Graph::end() {
  --numCaptures;
  capturing = false;
  for (Stream *stream : streams)
    stream->graph = nullptr;
}

void Graph::instantiate() {
  for (size_t i = 0; i < streams.size(); ++i)
    ownStreams.push_back(
        Streams::get().find(Streams::get().create(/*blocking=*/false)));
}

void Graph::launch(Stream &stream) {
  Replay replay{ownStreams, {}};
  for (Stream *own : ownStreams)
    own->clock.join(stream.clock);
  for (const auto &node : nodes)
    node(replay);
  for (Stream *own : ownStreams)
    stream.clock.join(own->clock);
}

void submit(Stream &stream, const char *name, std::vector<Range> ranges,
            bool concurrent, const Body &body) {
  if (stream.graph)
    stream.graph->add(stream, name, std::move(ranges), concurrent, body);
  else
    body(stream,
         Streams::get().enqueue(stream, name, std::move(ranges), concurrent));
}

} // namespace shoal::emulation

using namespace shoal::emulation;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!found)
    return cudaErrorInvalidResourceHandle;
  if (found->graph || found == Streams::get().find(cudaStream_t()))
    return cudaErrorStreamCaptureUnsupported;
  (new Graph)->join(*found); // EndCapture gives it away
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!found || !graph)
    return cudaErrorInvalidValue;
  Graph *captured = found->graph;
  if (!captured || !captured->beginsWith(*found))
    return cudaErrorStreamCaptureUnmatched;
  bool joined = captured->isJoined();
  captured->end();
  *graph = joined ? reinterpret_cast<cudaGraph_t>(captured) : nullptr;
  return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable,
                                          cudaGraph_t graph,
                                          unsigned long long flags) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!executable || !graph || flags != 0)
    return cudaErrorInvalidValue;
  reinterpret_cast<Graph *>(graph)->instantiate();
  *executable = reinterpret_cast<cudaGraphExec_t>(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *found = Streams::get().find(stream);
  if (!found || !executable)
    return cudaErrorInvalidValue;
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  reinterpret_cast<Graph *>(executable)->launch(*found);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                     unsigned flags) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  Stream *recorded = Streams::get().find(stream);
  Event *found = Streams::get().find(event);
  if (!recorded || !found)
    return cudaErrorInvalidResourceHandle;
  // Of the flags only this one is known, which is for captures.
  if (flags != cudaEventRecordExternal || !recorded->graph)
    return cudaErrorInvalidValue;
  recorded->graph->recordExternal(*found, *recorded);
  return cudaSuccess;
}

void shoalObserveArguments(void *stream, size_t count, const size_t *bytes) {
  Stream *found = Streams::get().find(static_cast<cudaStream_t>(stream));
  if (!found)
    fail("shoalObserveArguments: no such stream");
  found->argumentBytes.assign(bytes, bytes + count);
}
} // extern "C"

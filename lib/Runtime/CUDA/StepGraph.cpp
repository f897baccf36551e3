// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepGraph.h"
#include "Device.h"
#include "Timeline.h"

namespace shoal::rt {

std::string StepGraph::obstacle() const {
  if (!api.hasGraphs())
    return "the CUDA library here has none";
  const std::string &wait = Timeline::get().waitInStep();
  return wait.empty() ? "" : "the program waits for the device in " + wait;
}

/// `later` goes on behind what is on `earlier` now.
static void order(cudaStream_t earlier, cudaStream_t later) {
  cudaEvent_t event = nullptr;
  check(api.cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
  check(api.cudaEventRecord(event, earlier), "cudaEventRecord");
  check(api.cudaStreamWaitEvent(later, event, 0), "cudaStreamWaitEvent");
}

void StepGraph::capture(const std::function<void()> &step) {
  cudaStream_t compute = Device::get().compute();
  const std::vector<cudaStream_t> &beside = Device::get().collectives();
  setActivity("CUDA graph of", "a step");
  check(api.cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  Timeline::get().beginCapture();
  // All streams are part of the graph, also if there are no collectives.
  for (cudaStream_t stream : beside)
    order(compute, stream);
  step();
  for (cudaStream_t stream : beside)
    order(stream, compute);
  Timeline::get().endCapture();
  setActivity("CUDA graph of", "a step");
  cudaGraph_t graph = nullptr;
  check(api.cudaStreamEndCapture(compute, &graph), "cudaStreamEndCapture");
  check(api.cudaGraphInstantiateWithFlags(&executable, graph, 0),
        "cudaGraphInstantiate");
}

void StepGraph::launch() {
  setActivity("CUDA graph of", "a step");
  check(api.cudaGraphLaunch(executable, Device::get().compute()),
        "cudaGraphLaunch");
  Timeline::get().launchCaptured();
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelLibrary.h"
#include "../CUDAKernels/KernelImages.h"
#include "../Program/Fatal.h"
#include "shoal/Machine/Machine.h"

#include <string_view>
#include <unordered_map>

namespace shoal::rt {

namespace {

class KernelLibrary {
public:
  support::Status load();
  cudaKernel_t find(std::string_view name);

private:
  std::vector<cudaLibrary_t> libraries;
  std::unordered_map<std::string_view, cudaKernel_t> kernels;
};

} // namespace

static KernelLibrary library;

support::Status KernelLibrary::load() {
  if (!libraries.empty())
    return std::nullopt;
  for (const KernelImage &image : kernelImages()) {
    cudaLibrary_t loaded = nullptr;
    cudaError_t status = api.cudaLibraryLoadData(
        &loaded, image.data, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (status != cudaSuccess)
      return support::Error{
          "the kernels \"" + std::string(image.name) +
          "\" of the runtime do not load: " + api.cudaGetErrorString(status)};
    libraries.push_back(loaded);
  }
  return std::nullopt;
}

/// Names are constants of the program, and end with NUL.
cudaKernel_t KernelLibrary::find(std::string_view name) {
  if (auto known = kernels.find(name); known != kernels.end())
    return known->second;
  for (cudaLibrary_t loaded : libraries) {
    cudaKernel_t kernel = nullptr;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
    if (api.cudaLibraryGetKernel(&kernel, loaded, name.data()) == cudaSuccess)
      return kernels.emplace(name, kernel).first->second;
  }
  fatal("the runtime has no kernel \"" + std::string(name) + "\"");
}

support::Status loadKernelLibrary() { return library.load(); }

void launchKernel(cudaStream_t stream, const char *name, int64_t blocks,
                  const void *parameters, size_t parameterBytes,
                  std::initializer_list<Touched> touched) {
  if (blocks == 0)
    return;
  if (support::Status failed = library.load())
    fatal(failed->message);
  void *arguments[] = {const_cast<void *>(parameters)};
  setActivity("kernel", name);
  enqueue({.kernel = library.find(name),
           .grid = dim3(static_cast<unsigned>(blocks)),
           .block = dim3(blockThreads),
           .arguments = arguments,
           .argumentBytes = {&parameterBytes, 1},
           .touched = touched},
          stream);
}

int64_t blocksFor(int64_t count, int64_t perBlock) {
  // Some blocks for each multiprocessor; more would only cost their start.
  constexpr int64_t most = 32 * gpuMachine.limits.someBlocks;
  return std::min((count + perBlock - 1) / perBlock, most);
}

void tooManyLoops(size_t count) {
  fatal("a kernel of the runtime takes at most " +
        std::to_string(maxNestLoops) + " loops, got " + std::to_string(count));
}

} // namespace shoal::rt

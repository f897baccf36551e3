// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Memory.h"
#include "Error.h"
#include "Faults.h"
#include "Graphs.h"
#include "Streams.h"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <unistd.h>

namespace shoal::emulation {

static size_t hostMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

Memory::Memory()
    : capacity(static_cast<size_t>(environmentNumber(
          "SHOAL_EMULATED_MEMORY", static_cast<int64_t>(hostMemory())))) {}

Memory &Memory::get() {
  static Memory memory;
  return memory;
}

void *Memory::allocate(size_t bytes, bool pinned) {
  if (bytes == 0 || (!pinned && bytes > available()))
    return nullptr;
  // No byte more than asked for: AddressSanitizer sees what is past the end.
  void *pointer = nullptr;
  if (posix_memalign(&pointer, allocationAlignment, bytes) != 0)
    return nullptr;
  std::memset(pointer, poison, bytes);
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
  allocations[begin] = {begin, bytes, pinned};
  used += pinned ? 0 : bytes;
  return pointer;
}

bool Memory::release(void *pointer, bool pinned) {
  auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == allocations.end() || found->second.pinned != pinned)
    return false;
  const Allocation &allocation = found->second;
  Streams::get().forget(allocation.begin, allocation.begin + allocation.bytes);
  used -= pinned ? 0 : allocation.bytes;
  allocations.erase(found);
  std::free(pointer);
  return true;
}

const Allocation *Memory::find(uintptr_t address) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  const Allocation &allocation = std::prev(next)->second;
  return address - allocation.begin < allocation.bytes ? &allocation : nullptr;
}

std::string Memory::describe(uintptr_t begin, uintptr_t end) const {
  const Allocation *allocation = find(begin);
  if (!allocation)
    return text(end - begin, " bytes at 0x", std::hex, begin);
  return text("bytes [", begin - allocation->begin, ", ",
              end - allocation->begin, ") of the allocation of ",
              allocation->bytes, " bytes");
}

void Memory::checkInside(const std::string &who, uintptr_t begin, uintptr_t end,
                         bool writes) const {
  if (hostAllowed || begin == end)
    return;
  const Allocation *allocation = find(begin);
  if (allocation && end - allocation->begin <= allocation->bytes)
    return;
  fail(text(who, writes ? " writes " : " reads ", describe(begin, end),
            allocation ? ", past its end"
                       : ", which are of no allocation of the device"));
}

} // namespace shoal::emulation

using namespace shoal::emulation;

extern "C" {

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  if (!pointer)
    return cudaErrorInvalidValue;
  *pointer = Memory::get().allocate(bytes, /*pinned=*/false);
  return *pointer || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  if (!pointer)
    return cudaErrorInvalidValue;
  *pointer = Memory::get().allocate(bytes, /*pinned=*/true);
  return *pointer || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *pointer) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  bool known = !pointer || Memory::get().release(pointer, /*pinned=*/false);
  return known ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaFreeHost(void *pointer) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (isCapturing())
    return cudaErrorStreamCaptureUnsupported;
  bool known = !pointer || Memory::get().release(pointer, /*pinned=*/true);
  return known ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!available || !total)
    return cudaErrorInvalidValue;
  *available = Memory::get().available();
  *total = Memory::get().total();
  return cudaSuccess;
}

void shoalEmulationAllowHostMemory(int allow) {
  Memory::get().allowHostMemory(allow != 0);
}
} // extern "C"

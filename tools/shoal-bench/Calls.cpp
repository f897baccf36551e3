// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Calls.h"
#include "Program/Fatal.h"

#include <algorithm>

using namespace shoal::bench;

/// Ones: products of them stay numbers that arithmetic is fast on.
static shoal::rt::Buffer allocateOnes(size_t bytes) {
  shoal::rt::Buffer buffer = shoal::rt::allocate(bytes);
  if (!buffer)
    shoal::rt::fatal("not enough memory: " +
                     shoal::rt::formatBytes(static_cast<double>(bytes)) +
                     " are measured with");
  std::fill_n(reinterpret_cast<float *>(buffer.get()), bytes / sizeof(float),
              1.0F);
  return buffer;
}

/// Places begin where tensors do in programs.
Tensor::Tensor(char *begin, size_t size, size_t bytes)
    : begin(begin), bytes((bytes + 63) / 64 * 64),
      count(std::clamp<size_t>(size / this->bytes, 1, places)) {}

Memory::Memory(size_t bytesOfEach) : size(bytesOfEach) {
  for (shoal::rt::Buffer &buffer : buffers)
    buffer = allocateOnes(bytesOfEach);
}

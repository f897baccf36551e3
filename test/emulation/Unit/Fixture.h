// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the emulated device share.

#ifndef SHOAL_TEST_EMULATION_UNIT_FIXTURE_H
#define SHOAL_TEST_EMULATION_UNIT_FIXTURE_H

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
void shoalObserveAccess(void *stream, const void *pointer, size_t bytes,
                        int access);
void shoalEmulationAllowHostMemory(int allow);
}

namespace shoal {

#define SHOAL_EXPECT_OK(call) ASSERT_EQ(static_cast<int>(call), 0)

/// Memory of the device with a vector's contents.
template <typename T>
class Buffer {
public:
  explicit Buffer(size_t count) : count(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void **>(&data), count * sizeof(T)),
              cudaSuccess);
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
    EXPECT_EQ(cudaMemcpyAsync(data, values.data(), count * sizeof(T),
                              cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// Waits for the whole device.
  std::vector<T> read() const {
    cudaDeviceSynchronize();
    std::vector<T> values(count);
    cudaMemcpyAsync(values.data(), data, count * sizeof(T),
                    cudaMemcpyDeviceToHost, nullptr);
    cudaStreamSynchronize(nullptr);
    return values;
  }

  size_t bytes() const { return count * sizeof(T); }

  T *data = nullptr;
  size_t count;
};

inline cudaStream_t makeStream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

inline cudaEvent_t makeEvent(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, flags);
  return event;
}

} // namespace shoal

#endif // SHOAL_TEST_EMULATION_UNIT_FIXTURE_H

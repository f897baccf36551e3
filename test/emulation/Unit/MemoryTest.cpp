// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the emulated device, times of events, and faults on request.

#include "Fixture.h"

#include <cstdlib>
#include <gmock/gmock.h>

using namespace shoal;
using testing::Each;
using testing::ExitedWithCode;

namespace {

TEST(EmulatedMemory, FreshMemoryIsAlignedAndPoisoned) {
  Buffer<unsigned char> buffer(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % 256, 0u);
  EXPECT_THAT(buffer.read(), Each(0xCB));
}

TEST(EmulatedMemory, CountsWhatIsLeft) {
  size_t before = 0, after = 0, total = 0;
  SHOAL_EXPECT_OK(cudaMemGetInfo(&before, &total));
  void *pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, total + 1), cudaErrorMemoryAllocation);
  SHOAL_EXPECT_OK(cudaMalloc(&pointer, 1 << 20));
  SHOAL_EXPECT_OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, size_t(1) << 20);
  EXPECT_EQ(cudaFree(static_cast<char *>(pointer) + 256),
            cudaErrorInvalidValue);
  SHOAL_EXPECT_OK(cudaFree(pointer));
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  SHOAL_EXPECT_OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST(EmulatedMemoryDeathTest, AccessesOutsideOfAllocations) {
  Buffer<char> buffer(100);
  std::vector<char> host(200);
  EXPECT_EXIT(cudaMemsetAsync(buffer.data + 50, 0, 51, nullptr),
              ExitedWithCode(1),
              "cudaMemsetAsync writes bytes \\[50, 101\\) of the allocation of "
              "100 bytes, past its end");
  EXPECT_EXIT(cudaMemcpyAsync(buffer.data, host.data(), 10,
                              cudaMemcpyDeviceToDevice, nullptr),
              ExitedWithCode(1),
              "cudaMemcpyAsync reads 10 bytes at .*, which are of no "
              "allocation of the device");
  auto allowed = [&] {
    shoalEmulationAllowHostMemory(1);
    cudaMemcpyAsync(buffer.data, host.data(), 10, cudaMemcpyDeviceToDevice,
                    nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(allowed(), ExitedWithCode(0), "");
}

/// Pinned memory of the host, and a buffer that has been set to 1.
class EmulatedPinnedMemory : public testing::Test {
protected:
  EmulatedPinnedMemory() {
    void *memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, 64), cudaSuccess);
    host = static_cast<unsigned char *>(memory);
    EXPECT_EQ(cudaMemsetAsync(buffer.data, 1, 64, stream), cudaSuccess);
  }
  ~EmulatedPinnedMemory() override { cudaFreeHost(host); }

  void copy(void *target, const void *source, cudaMemcpyKind kind) {
    EXPECT_EQ(cudaMemcpyAsync(target, source, 64, kind, stream), cudaSuccess);
  }

  Buffer<unsigned char> buffer{64};
  cudaStream_t stream = makeStream();
  unsigned char *host = nullptr;
};

TEST_F(EmulatedPinnedMemory, HasACopyOnlyWhenTheHostHasWaited) {
  copy(host, buffer.data, cudaMemcpyDeviceToHost);
  SHOAL_EXPECT_OK(cudaStreamSynchronize(makeStream()));
  EXPECT_EQ(host[63], 0xCB);
  SHOAL_EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host[63], 1);
}

TEST_F(EmulatedPinnedMemory, IsThereForOperationsOfTheDevice) {
  Buffer<unsigned char> other(64);
  copy(host, buffer.data, cudaMemcpyDeviceToHost);
  copy(other.data, host, cudaMemcpyHostToDevice);
  EXPECT_THAT(other.read(), Each(1));
}

using EmulatedPinnedMemoryDeathTest = EmulatedPinnedMemory;

TEST_F(EmulatedPinnedMemoryDeathTest, MustNotChangeWhileItIsRead) {
  copy(buffer.data, host, cudaMemcpyHostToDevice);
  host[5] = 1;
  EXPECT_EXIT(cudaStreamSynchronize(stream), ExitedWithCode(1),
              "the host has changed bytes \\[5, 6\\) of the allocation of 64 "
              "bytes in pinned memory, which cudaMemcpyAsync .* reads, before "
              "it waited for that");
  host[5] = 0xCB;
  SHOAL_EXPECT_OK(cudaStreamSynchronize(stream));
  host[5] = 1;
  SHOAL_EXPECT_OK(cudaStreamSynchronize(stream));
}

//===----------------------------------------------------------------------===//
// Events, and faults
//===----------------------------------------------------------------------===//

TEST(EmulatedEvents, Times) {
  cudaEvent_t start = makeEvent(cudaEventDefault), end = makeEvent();
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end),
            cudaErrorInvalidResourceHandle);
  end = makeEvent(cudaEventDefault);
  SHOAL_EXPECT_OK(cudaEventRecord(start, nullptr));
  SHOAL_EXPECT_OK(cudaEventRecord(end, nullptr));
  SHOAL_EXPECT_OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventRecord(nullptr, nullptr), cudaErrorInvalidResourceHandle);
}

/// What `check` returns in a process with a variable set.
void expectWith(const char *variable, const char *value, bool (*check)()) {
  auto run = [&] {
    setenv(variable, value, 1);
    std::exit(check() ? 0 : 2);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run(), ExitedWithCode(0), "") << variable << "=" << value;
}

TEST(EmulatedFaultsDeathTest, ACallFailsOnRequest) {
  expectWith("SHOAL_EMULATION_FAIL", "cudaEventRecord:2,cudaSetDevice:0=35",
             [] {
               cudaEvent_t event = makeEvent();
               return cudaSetDevice(0) == cudaErrorInsufficientDriver &&
                      cudaEventRecord(event, nullptr) == cudaSuccess &&
                      cudaEventRecord(event, nullptr) == cudaErrorUnknown &&
                      cudaEventRecord(event, nullptr) == cudaSuccess;
             });
  expectWith("SHOAL_EMULATION_FAIL", "cudaSetDevice:1@3",
             [] { return cudaSetDevice(0) == cudaSuccess; });
}

TEST(EmulatedFaultsDeathTest, AnOperationHangsOnRequest) {
  expectWith("SHOAL_EMULATION_HANG", "cudaMemsetAsync:2", [] {
    Buffer<char> buffer(64);
    cudaStream_t a = makeStream(), b = makeStream(), other = makeStream();
    cudaEvent_t before = makeEvent(), after = makeEvent();
    cudaMemsetAsync(buffer.data, 0, 64, a);
    cudaEventRecord(before, a);
    bool quick = cudaStreamQuery(a) == cudaSuccess;
    cudaMemsetAsync(buffer.data, 0, 64, a);
    cudaEventRecord(after, a);
    cudaStreamWaitEvent(b, after, 0);
    bool done = cudaEventQuery(before) == cudaSuccess &&
                cudaStreamQuery(other) == cudaSuccess;
    bool hangs = cudaEventQuery(after) == cudaErrorNotReady &&
                 cudaStreamQuery(a) == cudaErrorNotReady &&
                 cudaStreamQuery(b) == cudaErrorNotReady;
    return quick && done && hangs;
  });
}

TEST(EmulatedFaultsDeathTest, AWaitIsSkippedOnRequest) {
  auto run = [](const char *skipped) {
    setenv("SHOAL_EMULATION_SKIP", skipped, 1);
    Buffer<char> buffer(64);
    cudaStream_t a = makeStream(), b = makeStream();
    cudaEvent_t event = makeEvent();
    cudaStreamWaitEvent(a, event, 0);
    cudaMemsetAsync(buffer.data, 0, 64, a);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    cudaMemsetAsync(buffer.data, 0, 64, b);
    std::exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run("cudaStreamWaitEvent:1"), ExitedWithCode(0), "");
  EXPECT_EXIT(run("cudaStreamWaitEvent:2"), ExitedWithCode(1), "race");
}

TEST(EmulatedFaultsDeathTest, ADeviceOfAnySize) {
  expectWith("SHOAL_EMULATED_MEMORY", "1000", [] {
    size_t available = 0, total = 0;
    void *pointer;
    cudaMemGetInfo(&available, &total);
    return available == 1000 && total == 1000 &&
           cudaMalloc(&pointer, 1001) == cudaErrorMemoryAllocation;
  });
  expectWith("SHOAL_EMULATED_DEVICES", "2", [] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count == 2 &&
           cudaSetDevice(1) == cudaSuccess &&
           cudaSetDevice(2) == cudaErrorInvalidDevice;
  });
  expectWith("SHOAL_EMULATED_DEVICES", "0", [] {
    int count = -1;
    return cudaGetDeviceCount(&count) == cudaErrorNoDevice;
  });
}

} // namespace

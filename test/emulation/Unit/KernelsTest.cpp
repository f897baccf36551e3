// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on the emulated device: what threads see of the grid and of each
// other, and what a kernel may not do.

#include "Fixture.h"
#include "shoal/Target/Emulation/EmulatedKernel.h"

#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <numeric>

using namespace shoal;
using testing::Each;

namespace {

std::vector<char> readImage() {
  std::ifstream file(SHOAL_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class EmulatedKernels : public testing::Test {
protected:
  void SetUp() override {
    static const std::vector<char> image = readImage();
    ASSERT_FALSE(image.empty());
    ASSERT_EQ(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
              cudaSuccess);
  }

  cudaKernel_t kernel(const char *name) {
    cudaKernel_t found = nullptr;
    EXPECT_EQ(cudaLibraryGetKernel(&found, library, name), cudaSuccess);
    return found;
  }

  template <typename... Arguments>
  cudaError_t launch(const char *name, dim3 grid, dim3 block, size_t shared,
                     Arguments... arguments) {
    void *addresses[] = {&arguments..., nullptr};
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel(name)), grid,
                            block, addresses, shared, nullptr);
  }

  cudaLibrary_t library = nullptr;
};

TEST_F(EmulatedKernels, EachThreadOfTheGridRunsOnce) {
  Buffer<int32_t> out(std::vector<int32_t>(7 * 5 * 3 * 4 * 3 * 2));
  SHOAL_EXPECT_OK(
      launch("number_threads", dim3(7, 5, 3), dim3(4, 3, 2), 0, out.data));
  std::vector<int32_t> expected(out.count);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(out.read(), expected);
}

TEST_F(EmulatedKernels, ABarrierSeparatesWritesFromReads) {
  std::vector<float> values(3 * 1024);
  std::iota(values.begin(), values.end(), 0.0f);
  Buffer<float> in(values), out(3);
  SHOAL_EXPECT_OK(
      launch("sum_blocks", dim3(3), dim3(64, 16), 0, in.data, out.data));
  auto sum = [](float first) { return 1024 * first + 1023 * 512; };
  EXPECT_EQ(out.read(), (std::vector<float>{sum(0), sum(1024), sum(2048)}));
}

TEST_F(EmulatedKernels, SharedMemoryOfABlockHoldsNothingFromTheOneBefore) {
  Buffer<unsigned char> out(1);
  SHOAL_EXPECT_OK(launch("share", dim3(2), dim3(1), 0, out.data, int64_t(64)));
  EXPECT_EQ(out.read()[0], 0xCB);
}

TEST_F(EmulatedKernels, AMissingBarrierShows) {
  std::vector<int32_t> values(40);
  std::iota(values.begin(), values.end(), 100);
  Buffer<int32_t> in(values), out(40);
  for (int32_t skip : {0, 1}) {
    SHOAL_EXPECT_OK(
        launch("rotate", dim3(1), dim3(40), 160, in.data, out.data, skip));
    std::vector<int32_t> result = out.read();
    bool isRight = result[0] == 139 && result[1] == 100 && result[39] == 138;
    EXPECT_EQ(isRight, skip == 0);
  }
}

/// shfl.sync's definition, for one lane of a full warp.
std::pair<uint32_t, int32_t> shuffled(int32_t mode, int32_t lane,
                                      int32_t offset, int32_t width) {
  int32_t begin = lane - lane % width, end = begin + width, from = lane;
  if (mode == SHOAL_EMU_SHUFFLE_XOR)
    from = lane ^ offset;
  if (mode == SHOAL_EMU_SHUFFLE_UP)
    from = lane - offset;
  if (mode == SHOAL_EMU_SHUFFLE_DOWN)
    from = lane + offset;
  if (mode == SHOAL_EMU_SHUFFLE_IDX)
    from = begin + offset % width;
  bool inside = from >= begin && from < end;
  return {1000 + (inside ? from : lane), inside};
}

TEST_F(EmulatedKernels, ShufflesInSegments) {
  std::vector<uint32_t> values(64);
  for (uint32_t i = 0; i < 64; ++i)
    values[i] = 1000 + i % 32;
  for (int32_t mode = 0; mode < 4; ++mode)
    for (int32_t width : {2, 8, 32})
      for (int32_t offset = 0; offset < width; ++offset) {
        Buffer<uint32_t> value(values), out(64);
        Buffer<int32_t> offsets(std::vector<int32_t>(64, offset)), valid(64);
        SHOAL_EXPECT_OK(launch("shuffle_once", dim3(1), dim3(8, 8), 0,
                               value.data, offsets.data, out.data, valid.data,
                               mode, width));
        std::vector<uint32_t> got = out.read();
        std::vector<int32_t> inside = valid.read();
        for (int32_t i = 0; i < 64; ++i)
          ASSERT_EQ(std::pair(got[i], inside[i]),
                    shuffled(mode, i % 32, offset, width))
              << "mode " << mode << " width " << width << " offset " << offset;
      }
}

TEST_F(EmulatedKernels, BallotsOfTheLanesThatExist) {
  std::vector<int32_t> values(40, 1);
  values[0] = values[33] = 2;
  Buffer<int32_t> in(values);
  Buffer<uint32_t> out(40);
  SHOAL_EXPECT_OK(launch("vote", dim3(1), dim3(40), 0, in.data, out.data));
  std::vector<uint32_t> got = out.read();
  EXPECT_THAT(std::vector(got.begin(), got.begin() + 32), Each(0xfffffffe));
  EXPECT_THAT(std::vector(got.begin() + 32, got.end()), Each(0xfd));
}

TEST_F(EmulatedKernels, StacksAreDeepInEachThread) {
  Buffer<int64_t> out(1024);
  SHOAL_EXPECT_OK(launch("go_deep", dim3(1), dim3(1024), 0, out.data));
  EXPECT_THAT(out.read(), Each(5050));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

using EmulatedKernelsDeathTest = EmulatedKernels;

TEST_F(EmulatedKernelsDeathTest, ABarrierThatAThreadNeverReaches) {
  EXPECT_EXIT(launch("leave_early", dim3(2), dim3(8), 0),
              testing::ExitedWithCode(1),
              "kernel leave_early, block \\(0, 0, 0\\), thread \\(0, 0, 0\\) "
              "waits at a barrier of the block that thread 5 of the block "
              "never reaches: it has ended");
}

TEST_F(EmulatedKernelsDeathTest, AShuffleThatALaneNeverReaches) {
  EXPECT_EXIT(launch("diverge", dim3(1), dim3(32), 0),
              testing::ExitedWithCode(1),
              "waits at a shuffle that thread 3 of the block never reaches: it "
              "waits at a barrier of the block");
  EXPECT_EXIT(launch("mix", dim3(1), dim3(32), 0), testing::ExitedWithCode(1),
              "waits at a shuffle .* while thread 0 of its warp waits at a "
              "ballot");
}

TEST_F(EmulatedKernelsDeathTest, AShuffleFromALaneThatDoesNotExist) {
  Buffer<uint32_t> value(std::vector<uint32_t>(24)), out(24);
  Buffer<int32_t> offset(std::vector<int32_t>(24, 16)), valid(24);
  EXPECT_EXIT(launch("shuffle_once", dim3(1), dim3(24), 0, value.data,
                     offset.data, out.data, valid.data,
                     int32_t(SHOAL_EMU_SHUFFLE_XOR), 32),
              testing::ExitedWithCode(1),
              "thread \\(8, 0, 0\\): a shuffle reads lane 24, but its warp has "
              "24 lanes");
}

TEST_F(EmulatedKernelsDeathTest, MoreStaticSharedMemoryThanThereIs) {
  Buffer<unsigned char> out(1);
  EXPECT_EXIT(launch("share", dim3(1), dim3(1), 0, out.data, int64_t(49153)),
              testing::ExitedWithCode(1), "49280 bytes of static");
}

/// Runs `rotate` with other ranges than those it touches, isolated.
TEST_F(EmulatedKernelsDeathTest, AKernelThatTouchesMoreThanItDeclares) {
  std::vector<int32_t> values(40);
  std::iota(values.begin(), values.end(), 0);
  Buffer<int32_t> in(values), out(values);
  auto run = [&](size_t readBytes, size_t writtenBytes, int access) {
    setenv("SHOAL_EMULATION_ISOLATE", "1", 1);
    shoalObserveAccess(nullptr, in.data, readBytes, 1);
    shoalObserveAccess(nullptr, out.data, writtenBytes, access);
    launch("rotate", dim3(1), dim3(40), 160, in.data, out.data, int32_t(0));
    bool isRight = out.read()[1] == 0 && out.read()[0] == 39;
    std::exit(isRight && in.read() == values ? 0 : 2);
  };
  EXPECT_EXIT(run(160, 160, 2), testing::ExitedWithCode(0), "");
  // It reads poison.
  EXPECT_EXIT(run(156, 160, 2), testing::ExitedWithCode(2), "");
  EXPECT_EXIT(run(160, 156, 2), testing::ExitedWithCode(1),
              "kernel rotate writes bytes \\[156, 157\\) of the allocation of "
              "160 bytes, which it does not declare");
  EXPECT_EXIT(run(160, 160, 1), testing::ExitedWithCode(1),
              "which it declares to read alone");
}

TEST_F(EmulatedKernels, LimitsOfALaunch) {
  Buffer<int32_t> out(std::vector<int32_t>(1024));
  auto launchShape = [&](dim3 grid, dim3 block, size_t shared = 0) {
    return launch("number_threads", grid, block, shared, out.data);
  };
  EXPECT_EQ(launchShape(dim3(1), dim3(1024)), cudaSuccess);
  EXPECT_EQ(launchShape(dim3(1), dim3(1025)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launchShape(dim3(1), dim3(32, 33)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launchShape(dim3(1), dim3(1, 1, 65)),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(launchShape(dim3(0), dim3(1)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launchShape(dim3(1, 65536), dim3(1)),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(launchShape(dim3(1), dim3(1), 48 * 1024), cudaSuccess);
  EXPECT_EQ(launchShape(dim3(1), dim3(1), 48 * 1024 + 1),
            cudaErrorInvalidValue);
  auto allow = [&](int bytes) {
    return cudaKernelSetAttributeForDevice(
        kernel("number_threads"), cudaFuncAttributeMaxDynamicSharedMemorySize,
        bytes, 0);
  };
  EXPECT_EQ(allow(227 * 1024 + 1), cudaErrorInvalidValue);
  SHOAL_EXPECT_OK(allow(227 * 1024));
  EXPECT_EQ(launchShape(dim3(1), dim3(1), 227 * 1024), cudaSuccess);
  EXPECT_EQ(launchShape(dim3(1), dim3(1), 227 * 1024 + 1),
            cudaErrorInvalidValue);
}

TEST_F(EmulatedKernels, WhatIsNoKernel) {
  cudaKernel_t found;
  EXPECT_EQ(cudaLibraryGetKernel(&found, library, "nothing"),
            cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLaunchKernel(&found, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  std::vector<char> other(4096, 'x');
  cudaLibrary_t loaded;
  EXPECT_EQ(cudaLibraryLoadData(&loaded, other.data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0),
            cudaErrorInvalidKernelImage);
}

} // namespace

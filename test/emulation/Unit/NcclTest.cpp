// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL on the emulated device, on the ranks of an MPI run. Without an argument:
// what has to work. With one: a program that breaks one of NCCL's laws, which
// must end with the error that CMakeLists.txt expects, and not hang.

#include "Fixture.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <gmock/gmock.h>
#include <map>
#include <mpi.h>
#include <nccl.h>
#include <string>

using namespace shoal;
using support::BFloat16;
using testing::Each;
using testing::ElementsAre;

namespace {

struct World {
  int rank = 0, size = 1;
  ncclComm_t nccl = nullptr;
  cudaStream_t stream = nullptr;
};
World world;

void setUpWorld() {
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  ncclUniqueId id;
  if (world.rank == 0)
    ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclCommInitRank(&world.nccl, world.size, id, world.rank);
  world.stream = makeStream();
}

TEST(EmulatedNccl, AllGather) {
  Buffer<int32_t> in({10 + world.rank, 20 + world.rank});
  size_t size = 2 * static_cast<size_t>(world.size);
  Buffer<int32_t> out(size);
  SHOAL_EXPECT_OK(
      ncclAllGather(in.data, out.data, 2, ncclInt32, world.nccl, world.stream));
  std::vector<int32_t> expected;
  for (int rank = 0; rank < world.size; ++rank)
    expected.insert(expected.end(), {10 + rank, 20 + rank});
  EXPECT_EQ(out.read(), expected);
  // In place.
  std::vector<int32_t> values(size, -1);
  int32_t *own = values.data() + 2 * world.rank;
  own[0] = 10 + world.rank, own[1] = 20 + world.rank;
  Buffer<int32_t> both(values);
  SHOAL_EXPECT_OK(ncclAllGather(both.data + 2 * world.rank, both.data, 2,
                                ncclInt32, world.nccl, world.stream));
  EXPECT_EQ(both.read(), expected);
}

/// The reduction of value(rank) over the ranks, of one type.
template <typename T>
T allReduce(ncclDataType_t type, ncclRedOp_t op, T value) {
  Buffer<T> in(std::vector<T>(3, value)), out(3);
  EXPECT_EQ(
      ncclAllReduce(in.data, out.data, 3, type, op, world.nccl, world.stream),
      ncclSuccess);
  std::vector<T> inPlace = [&] {
    EXPECT_EQ(
        ncclAllReduce(in.data, in.data, 3, type, op, world.nccl, world.stream),
        ncclSuccess);
    return in.read();
  }();
  std::vector<T> values = out.read();
  EXPECT_EQ(std::memcmp(values.data(), inPlace.data(), 3 * sizeof(T)), 0);
  return values[2];
}

TEST(EmulatedNccl, AllReduceOfEachKind) {
  int n = world.size, rank = world.rank;
  int sum = n * (n + 1) / 2, product = 1;
  for (int i = 1; i <= n; ++i)
    product *= i;
  EXPECT_EQ(allReduce<int32_t>(ncclInt32, ncclSum, rank + 1), sum);
  EXPECT_EQ(allReduce<int64_t>(ncclInt64, ncclProd, rank + 1), product);
  EXPECT_EQ(allReduce<float>(ncclFloat32, ncclMax, -rank - 1.0f), -1);
  EXPECT_EQ(allReduce<double>(ncclFloat64, ncclMin, rank + 1.5), 1.5);
  EXPECT_EQ(allReduce<float>(ncclFloat32, ncclAvg, rank + 1.0f),
            static_cast<float>(sum) / static_cast<float>(n));
  EXPECT_EQ(allReduce<int8_t>(ncclInt8, ncclMin, int8_t(-rank)), 1 - n);
  EXPECT_EQ(allReduce<uint8_t>(ncclUint8, ncclMax, uint8_t(255 - rank)), 255);
  EXPECT_EQ(allReduce<uint8_t>(ncclUint8, ncclSum, uint8_t(128)),
            uint8_t(128 * n)); // wraps
  BFloat16 one = support::toBFloat16(1.0f + 0x1p-7f * rank);
  // 1 + 1/128 has all of bf16's digits: a sum is rounded.
  float rounded = support::toFloat(allReduce(ncclBfloat16, ncclSum, one));
  EXPECT_EQ(rounded, support::toFloat(support::toBFloat16(rounded)));
  EXPECT_NEAR(rounded, n + 0x1p-7f * (sum - n), 0x1p-5f);
  // NCCL's max is fmax, which passes over NaN.
  float value = rank == 0 ? NAN : static_cast<float>(rank);
  float maximum = allReduce<float>(ncclFloat32, ncclMax, value);
  if (n > 1)
    EXPECT_EQ(maximum, static_cast<float>(n - 1));
}

TEST(EmulatedNccl, ReduceScatter) {
  auto in = [](int rank, int block) { return 100 * rank + block; };
  std::vector<int32_t> values;
  for (int block = 0; block < world.size; ++block)
    values.push_back(in(world.rank, block));
  Buffer<int32_t> buffer(values), out(1);
  int32_t expected = 0;
  for (int rank = 0; rank < world.size; ++rank)
    expected += in(rank, world.rank);
  SHOAL_EXPECT_OK(ncclReduceScatter(buffer.data, out.data, 1, ncclInt32,
                                    ncclSum, world.nccl, world.stream));
  EXPECT_THAT(out.read(), ElementsAre(expected));
  // In place.
  int32_t *own = buffer.data + world.rank;
  SHOAL_EXPECT_OK(ncclReduceScatter(buffer.data, own, 1, ncclInt32, ncclSum,
                                    world.nccl, world.stream));
  EXPECT_EQ(buffer.read()[static_cast<size_t>(world.rank)], expected);
}

/// Everyone to everyone, itself included, in uneven sizes: rank i sends j + 1
/// numbers to rank j.
TEST(EmulatedNccl, SendsAndReceivesOfAGroupAtTheSameTime) {
  size_t ranks = static_cast<size_t>(world.size);
  size_t own = static_cast<size_t>(world.rank) + 1;
  Buffer<int32_t> in(std::vector<int32_t>(ranks, world.rank)), out(ranks * own);
  SHOAL_EXPECT_OK(ncclGroupStart());
  SHOAL_EXPECT_OK(ncclGroupStart()); // groups nest
  for (int peer = 0; peer < world.size; ++peer)
    SHOAL_EXPECT_OK(ncclSend(in.data, static_cast<size_t>(peer) + 1, ncclInt32,
                             peer, world.nccl, world.stream));
  SHOAL_EXPECT_OK(ncclGroupEnd());
  EXPECT_THAT(out.read(), Each(int32_t(0xCBCBCBCB))); // nothing has begun
  for (int peer = world.size - 1; peer >= 0; --peer)
    SHOAL_EXPECT_OK(ncclRecv(out.data + static_cast<size_t>(peer) * own, own,
                             ncclInt32, peer, world.nccl, world.stream));
  SHOAL_EXPECT_OK(ncclGroupEnd());
  std::vector<int32_t> expected;
  for (int peer = 0; peer < world.size; ++peer)
    expected.insert(expected.end(), own, peer);
  EXPECT_EQ(out.read(), expected);
}

TEST(EmulatedNccl, SplitsByColor) {
  ncclComm_t half = nullptr;
  // Odd and even ranks, backwards.
  SHOAL_EXPECT_OK(
      ncclCommSplit(world.nccl, world.rank % 2, -world.rank, &half, nullptr));
  std::vector<int32_t> expected;
  for (int rank = world.size - 1; rank >= 0; --rank)
    if (rank % 2 == world.rank % 2)
      expected.push_back(rank);
  Buffer<int32_t> in(std::vector<int32_t>{world.rank}), out(expected.size());
  SHOAL_EXPECT_OK(
      ncclAllGather(in.data, out.data, 1, ncclInt32, half, world.stream));
  EXPECT_EQ(out.read(), expected);
  SHOAL_EXPECT_OK(ncclCommDestroy(half));
  // Without rank 0.
  ncclComm_t rest = nullptr;
  int color = world.rank == 0 ? NCCL_SPLIT_NOCOLOR : 0;
  SHOAL_EXPECT_OK(ncclCommSplit(world.nccl, color, world.rank, &rest, nullptr));
  EXPECT_EQ(rest == nullptr, world.rank == 0);
  if (rest)
    SHOAL_EXPECT_OK(ncclCommAbort(rest));
}

TEST(EmulatedNccl, RefusesWrongArguments) {
  Buffer<int32_t> buffer(4);
  auto send = [&](size_t count, int type, int peer) {
    return ncclSend(buffer.data, count, static_cast<ncclDataType_t>(type), peer,
                    world.nccl, world.stream);
  };
  EXPECT_EQ(send(1, ncclNumTypes, 0), ncclInvalidArgument);
  EXPECT_EQ(send(1, ncclInt32, world.size), ncclInvalidArgument);
  EXPECT_STREQ(ncclGetLastError(nullptr),
               ("ncclSend: peer " + std::to_string(world.size) + " of " +
                std::to_string(world.size) + " ranks")
                   .c_str());
  // To itself without a receive.
  EXPECT_EQ(send(1, ncclInt32, world.rank), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(ncclAllReduce(nullptr, buffer.data, 1, ncclInt32, ncclSum,
                          world.nccl, world.stream),
            ncclInvalidArgument);
  ncclResult_t error = ncclInternalError;
  SHOAL_EXPECT_OK(ncclCommGetAsyncError(world.nccl, &error));
  EXPECT_EQ(error, ncclSuccess);
}

//===----------------------------------------------------------------------===//
// Programs that are wrong, on two ranks
//===----------------------------------------------------------------------===//

void allReduce(Buffer<int32_t> &buffer, size_t count,
               ncclDataType_t type = ncclInt32, ncclRedOp_t op = ncclSum) {
  ncclAllReduce(buffer.data, buffer.data, count, type, op, world.nccl,
                world.stream);
}

const std::map<std::string, void (*)(Buffer<int32_t> &)> wrongPrograms = {
    {"other-call",
     [](Buffer<int32_t> &buffer) {
       if (world.rank == 0)
         return allReduce(buffer, 8);
       ncclAllGather(buffer.data, buffer.data + 32, 4, ncclInt32, world.nccl,
                     world.stream);
     }},
    {"other-count",
     [](Buffer<int32_t> &buffer) {
       allReduce(buffer, world.rank == 0 ? 8 : 7);
     }},
    {"other-type",
     [](Buffer<int32_t> &buffer) {
       allReduce(buffer, 8, world.rank == 0 ? ncclInt32 : ncclFloat32);
     }},
    {"other-reduction",
     [](Buffer<int32_t> &buffer) {
       allReduce(buffer, 8, ncclInt32, world.rank == 0 ? ncclSum : ncclMax);
     }},
    {"missing",
     [](Buffer<int32_t> &buffer) {
       if (world.rank == 0)
         allReduce(buffer, 8);
       MPI_Barrier(MPI_COMM_WORLD);
     }},
    {"other-size",
     [](Buffer<int32_t> &buffer) {
       if (world.rank == 0)
         ncclSend(buffer.data, 8, ncclInt32, 1, world.nccl, world.stream);
       else
         ncclRecv(buffer.data, 9, ncclInt32, 0, world.nccl, world.stream);
     }},
    {"crossed",
     [](Buffer<int32_t> &buffer) {
       // Both send first, without a group.
       ncclSend(buffer.data, 8, ncclInt32, 1 - world.rank, world.nccl,
                world.stream);
       ncclRecv(buffer.data, 8, ncclInt32, 1 - world.rank, world.nccl,
                world.stream);
     }},
    {"overlap",
     [](Buffer<int32_t> &buffer) {
       ncclGroupStart();
       ncclSend(buffer.data, 8, ncclInt32, 1 - world.rank, world.nccl,
                world.stream);
       ncclRecv(buffer.data + 7, 8, ncclInt32, 1 - world.rank, world.nccl,
                world.stream);
       ncclGroupEnd();
     }},
    {"race",
     [](Buffer<int32_t> &buffer) {
       cudaMemsetAsync(buffer.data, 0, 4, makeStream());
       allReduce(buffer, 8);
     }},
};

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  setUpWorld();
  int failed = 0;
  if (argc > 1) {
    Buffer<int32_t> buffer(64);
    wrongPrograms.at(argv[1])(buffer);
    std::puts("the program has passed");
  } else {
    failed = RUN_ALL_TESTS();
  }
  MPI_Finalize();
  return failed;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events of the emulated device: which programs it takes, and which
// it ends because a GPU could run them in another order.

#include "Fixture.h"

#include <cstdlib>
#include <random>

using namespace shoal;
using testing::ExitedWithCode;

namespace {

/// Two streams that do not wait for each other, and a buffer for both.
class EmulatedStreams : public testing::Test {
protected:
  /// An operation that writes bytes [begin, end) of the buffer.
  void write(cudaStream_t stream, size_t begin, size_t end) {
    EXPECT_EQ(cudaMemsetAsync(buffer.data + begin, 1, end - begin, stream),
              cudaSuccess);
  }
  /// One that reads them.
  void read(cudaStream_t stream, size_t begin, size_t end) {
    EXPECT_EQ(cudaMemcpyAsync(host, buffer.data + begin, end - begin,
                              cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
  }
  /// All that comes in `later` waits for all that is in `earlier`.
  void order(cudaStream_t earlier, cudaStream_t later) {
    cudaEvent_t event = makeEvent();
    EXPECT_EQ(cudaEventRecord(event, earlier), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(later, event, 0), cudaSuccess);
  }

  Buffer<char> buffer{4096};
  char host[4096];
  cudaStream_t a = makeStream(), b = makeStream();
};

TEST_F(EmulatedStreams, AStreamKeepsItsOrder) {
  write(a, 0, 100);
  read(a, 50, 150);
  write(a, 0, 4096);
}

TEST_F(EmulatedStreams, AnEventOrders) {
  write(a, 0, 100);
  order(a, b);
  read(b, 0, 100);
  order(b, a);
  write(a, 0, 100);
}

TEST_F(EmulatedStreams, OrderPassesThroughAThirdStream) {
  cudaStream_t c = makeStream();
  write(a, 0, 100);
  order(a, c);
  order(c, b);
  write(b, 0, 100);
}

TEST_F(EmulatedStreams, TheHostOrdersWhatItWaitedFor) {
  write(a, 0, 100);
  SHOAL_EXPECT_OK(cudaStreamSynchronize(a));
  write(b, 0, 100);
  cudaEvent_t event = makeEvent();
  SHOAL_EXPECT_OK(cudaEventRecord(event, b));
  SHOAL_EXPECT_OK(cudaEventQuery(event));
  write(a, 0, 100);
  SHOAL_EXPECT_OK(cudaStreamQuery(a));
  write(b, 0, 100);
}

TEST_F(EmulatedStreams, ReadersAndOtherBytesNeedNoOrder) {
  read(a, 0, 100);
  read(b, 0, 100);
  write(a, 100, 200);
  write(b, 200, 300);
}

TEST_F(EmulatedStreams, AStreamThatBlocksWaitsForTheDefaultOne) {
  cudaStream_t blocking;
  SHOAL_EXPECT_OK(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault));
  write(nullptr, 0, 100);
  write(blocking, 0, 100);
  write(nullptr, 0, 100);
}

/// Random operations on few bytes, against the definition of a race on single
/// bytes: whoever is ordered must not be refused.
TEST_F(EmulatedStreams, OrderedOperationsOnAnyRangesPass) {
  std::mt19937 random(7);
  cudaStream_t streams[] = {a, b, makeStream()};
  for (int i = 0; i < 3000; ++i) {
    cudaStream_t stream = streams[random() % 3];
    for (cudaStream_t other : streams)
      if (other != stream)
        order(other, stream);
    size_t begin = random() % 4000, end = begin + 1 + random() % 96;
    if (random() % 3 == 0)
      write(stream, begin, end);
    else
      read(stream, begin, end);
  }
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

using EmulatedStreamsDeathTest = EmulatedStreams;

TEST_F(EmulatedStreamsDeathTest, AMissingEvent) {
  write(a, 0, 100);
  EXPECT_EXIT(
      write(b, 99, 101), ExitedWithCode(1),
      "race: cudaMemsetAsync \\(operation 1 of stream [0-9]+\\) writes bytes "
      "\\[99, 100\\) of the allocation of 4096 bytes, which "
      "cudaMemsetAsync \\(operation 1 of stream [0-9]+\\) writes, and no "
      "event orders the two");
  EXPECT_EXIT(read(b, 0, 1), ExitedWithCode(1),
              "race: cudaMemcpyAsync .* reads bytes \\[0, 1\\) .* which "
              "cudaMemsetAsync .* writes");
}

TEST_F(EmulatedStreamsDeathTest, AWriteBehindARead) {
  read(a, 10, 20);
  read(b, 15, 25);
  EXPECT_EXIT(write(b, 12, 13), ExitedWithCode(1),
              "writes bytes \\[12, 13\\) .* which cudaMemcpyAsync .* reads");
  order(a, b);
  write(b, 12, 13);
}

TEST_F(EmulatedStreamsDeathTest, AnEventRecordedTooEarlyOrAwaitedTooLate) {
  order(a, b);
  write(a, 0, 100);
  EXPECT_EXIT(write(b, 0, 100), ExitedWithCode(1), "race");
  EXPECT_EXIT((read(b, 0, 1), order(a, b)), ExitedWithCode(1), "race");
}

TEST_F(EmulatedStreamsDeathTest, RacesBetweenDeclaredAccesses) {
  shoalObserveAccess(a, buffer.data, 64, /*write=*/2);
  write(a, 1000, 1001);
  shoalObserveAccess(b, buffer.data + 63, 1, /*read=*/1);
  EXPECT_EXIT(write(b, 2000, 2001), ExitedWithCode(1),
              "reads bytes \\[63, 64\\)");
}

TEST_F(EmulatedStreamsDeathTest, AllOnBytesThatAreFound) {
  // Every pair of two ranges: a race exactly where they overlap.
  for (size_t begin : {0, 4, 9, 10, 15, 20, 24}) {
    Buffer<char> bytes(64);
    auto both = [&] {
      cudaMemsetAsync(bytes.data + 10, 0, 10, a);
      cudaMemsetAsync(bytes.data + begin, 0, 5, b);
      std::exit(0);
    };
    bool overlaps = begin < 20 && begin + 5 > 10;
    EXPECT_EXIT(both(), ExitedWithCode(overlaps ? 1 : 0), "");
  }
}

TEST(EmulatedRacesDeathTest, CanBeAllowed) {
  auto race = [] {
    setenv("SHOAL_EMULATION_RACES", "0", 1);
    Buffer<char> buffer(64);
    cudaMemsetAsync(buffer.data, 0, 64, makeStream());
    cudaMemsetAsync(buffer.data, 0, 64, makeStream());
    std::exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(race(), ExitedWithCode(0), "");
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of threads of a kernel on one thread of the host. Threads run one
// after another on the same fiber; a thread that waits (barrier, shuffle,
// ballot) keeps its fiber, and another takes the next thread. A kernel that
// never waits costs a function call per thread.
//
// The threads of a block begin in the order of their numbers, or, with
// SHOAL_EMULATION_ORDER=backward, the other way round: a missing barrier
// changes the result in one of the two.

#ifndef SHOAL_TEST_EMULATION_BLOCK_H
#define SHOAL_TEST_EMULATION_BLOCK_H

#include "shoal/Target/Emulation/EmulatedKernel.h"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace shoal::emulation {

struct Launch {
  const char *name;
  shoal_emulated_kernel function;
  void *const *arguments;
  int32_t grid[3];
  int32_t block[3];
  size_t dynamicBytes;
};

/// As of sm_90.
constexpr size_t maxThreadsPerBlock = 1024;
constexpr size_t maxStaticSharedBytes = 48 * 1024;
constexpr size_t maxSharedBytes = 227 * 1024;
constexpr size_t warpSize = 32;

/// What a thread waits for.
struct Wait {
  enum class Kind { None, Barrier, WarpBarrier, Ballot, Shuffle };

  Kind kind = Kind::None;
  int32_t mode = 0;
  uint32_t value = 0; // of this lane; then the result
  int32_t offset = 0;
  int32_t width = 0;
  int32_t valid = 0;
};

/// "a shuffle"
const char *nameOf(const Wait &wait);

/// The one multiprocessor of the process. Runs one block at a time.
class Multiprocessor {
public:
  static Multiprocessor &get();

  /// All blocks of the grid one after another. An error of the kernel ends the
  /// program with its name, the block and the thread.
  void run(const Launch &launch);

  /// From within a kernel's thread. Comes back when all that have to wait with
  /// it do.
  Wait wait(Wait wait);
  void *shared(int64_t key, int64_t bytes);

private:
  /// A fiber that runs threads.
  struct Worker {
    boost::context::fiber fiber;  // where it stands, while it does not run
    boost::context::fiber caller; // where the scheduler stands, while it runs
    shoal_emulated_thread self;
    size_t thread = 0; // its number in the block
    bool idle = true;
    /// For AddressSanitizer.
    void *stack = nullptr;
    size_t stackBytes = 0;
  };
  struct Thread {
    Worker *worker = nullptr; // while it waits
    Wait wait;
    bool started = false;
  };
  /// Static shared memory under its key.
  struct Shared {
    int64_t key;
    size_t bytes;
    size_t offset;
  };

  Multiprocessor();

  void prepareShared();
  void runBlock();
  Worker *takeWorker();
  void resume(Worker &worker);
  void suspend(Worker &worker);
  void runThreads(Worker &worker);
  bool takeThread(Worker &worker);
  void release(size_t first, size_t end);
  void exchange(size_t first, size_t end);
  void shuffle(size_t first, size_t end);

  [[noreturn]] void failStuck() const;
  std::string describe(size_t thread) const;
  std::string where() const;

  const Launch *launch = nullptr;
  /// The thread that is taken next. After a block's last one comes the first.
  shoal_emulated_thread next = {};
  size_t numThreads = 0;
  size_t numTaken = 0;
  bool backward;

  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Worker *> idle;
  std::vector<Worker *> ready;
  Worker *current = nullptr;

  /// Filled from the first wait of a block on.
  std::vector<Thread> threads;
  bool anyWaited = false;
  size_t numAtBarrier = 0;
  std::vector<size_t> numInWarp;

  std::vector<Shared> staticShared;
  size_t staticBytes = 0;
  std::unique_ptr<unsigned char[]> sharedMemory;
  unsigned char *staticMemory;
  unsigned char *dynamicMemory;

  const void *schedulerStack = nullptr;
  size_t schedulerStackBytes = 0;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_BLOCK_H

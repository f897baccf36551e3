// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Block.h"
#include "Error.h"
#include "Memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace shoal::emulation {

static bool startsBackward() {
  const char *order = std::getenv("SHOAL_EMULATION_ORDER");
  if (!order || !std::strcmp(order, "forward"))
    return false;
  if (std::strcmp(order, "backward") != 0)
    fail(text("SHOAL_EMULATION_ORDER: expected forward or backward but got '",
              order, "'"));
  return true;
}

static unsigned char *aligned(unsigned char *pointer) {
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  return pointer + (128 - address % 128) % 128;
}

Multiprocessor::Multiprocessor()
    : backward(startsBackward()),
      sharedMemory(std::make_unique<unsigned char[]>(maxStaticSharedBytes +
                                                     maxSharedBytes + 256)),
      staticMemory(aligned(sharedMemory.get())),
      dynamicMemory(aligned(staticMemory + maxStaticSharedBytes)) {}

Multiprocessor &Multiprocessor::get() {
  // Never destroyed: fibers that wait cannot be unwound through a kernel.
  static auto *multiprocessor = new Multiprocessor();
  return *multiprocessor;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Multiprocessor::runThreads(Worker &worker) {
  while (takeThread(worker))
    launch->function(&worker.self, launch->arguments);
  idle.push_back(&worker);
  suspend(worker);
}

bool Multiprocessor::takeThread(Worker &worker) {
  // Those that wait no longer go first, so that a kernel of shuffles alone
  // needs no more fibers than a warp has lanes.
  if (!ready.empty() || numTaken == numThreads)
    return false;
  size_t number = numTaken++;
  worker.thread = backward ? numThreads - 1 - number : number;
  worker.self = next;
  for (int i = 0; i < 3; ++i) {
    int32_t last = launch->block[i] - 1;
    int32_t &at = next.thread[i];
    bool wraps = at == (backward ? 0 : last);
    at = wraps ? (backward ? last : 0) : at + (backward ? -1 : 1);
    if (!wraps)
      break;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Multiprocessor::run(const Launch &toRun) {
  launch = &toRun;
  numThreads = 1;
  for (int32_t size : toRun.block)
    numThreads *= static_cast<size_t>(size);
  staticShared.clear();
  staticBytes = 0;
  next.dynamic_shared = toRun.dynamicBytes != 0 ? dynamicMemory : nullptr;
  for (int i = 0; i < 3; ++i) {
    next.block_dim[i] = toRun.block[i];
    next.grid_dim[i] = toRun.grid[i];
    next.thread[i] = backward ? toRun.block[i] - 1 : 0;
  }
  int32_t *block = next.block;
  for (block[2] = 0; block[2] < toRun.grid[2]; ++block[2])
    for (block[1] = 0; block[1] < toRun.grid[1]; ++block[1])
      for (block[0] = 0; block[0] < toRun.grid[0]; ++block[0])
        runBlock();
  launch = nullptr;
}

void Multiprocessor::prepareShared() {
  std::memset(dynamicMemory, poison, launch->dynamicBytes);
  std::memset(staticMemory, poison, staticBytes);
}

void Multiprocessor::runBlock() {
  prepareShared();
  numTaken = 0;
  anyWaited = false;
  numAtBarrier = 0;
  for (;;) {
    if (!ready.empty()) {
      Worker *worker = ready.back();
      ready.pop_back();
      resume(*worker);
    } else if (numTaken < numThreads) {
      resume(*takeWorker());
    } else {
      break;
    }
  }
  if (idle.size() != workers.size())
    failStuck();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Wait Multiprocessor::wait(Wait wait) {
  if (!current)
    fail("a barrier, shuffle or ballot outside of a kernel");
  if (!anyWaited) {
    anyWaited = true;
    threads.assign(numThreads, Thread());
    numInWarp.assign((numThreads + warpSize - 1) / warpSize, 0);
  }
  Worker &worker = *current;
  Thread &thread = threads[worker.thread];
  thread.worker = &worker;
  thread.wait = wait;
  size_t warp = worker.thread / warpSize;
  size_t first = warp * warpSize;
  size_t end = std::min(first + warpSize, numThreads);
  if (wait.kind == Wait::Kind::Barrier) {
    if (++numAtBarrier == numThreads) {
      numAtBarrier = 0;
      release(0, numThreads);
    }
  } else if (++numInWarp[warp] == end - first) {
    numInWarp[warp] = 0;
    exchange(first, end);
    release(first, end);
  }
  suspend(worker);
  return thread.wait;
}

/// Taken from the back.
void Multiprocessor::release(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) {
    Thread &thread = threads[backward ? i : end - 1 - (i - first)];
    ready.push_back(thread.worker);
    thread.worker = nullptr;
  }
}

void *Multiprocessor::shared(int64_t key, int64_t bytes) {
  if (!current)
    fail("shared memory outside of a kernel");
  for (const Shared &entry : staticShared) {
    if (entry.key != key)
      continue;
    if (entry.bytes != static_cast<size_t>(bytes))
      fail(text(describe(current->thread), ": shared memory ", key, " has ",
                entry.bytes, " bytes, but is asked for with ", bytes));
    return staticMemory + entry.offset;
  }
  size_t size = static_cast<size_t>(bytes);
  size_t end = staticBytes + (size + 127) / 128 * 128;
  if (bytes < 0 || end > maxStaticSharedBytes ||
      end + launch->dynamicBytes > maxSharedBytes)
    fail(text(describe(current->thread), ": ", end, " bytes of static and ",
              launch->dynamicBytes,
              " bytes of dynamic shared memory, but a block has at most ",
              maxStaticSharedBytes, " static and ", maxSharedBytes, " in all"));
  staticShared.push_back({key, size, staticBytes});
  std::memset(staticMemory + staticBytes, poison, end - staticBytes);
  staticBytes = end;
  return staticMemory + staticShared.back().offset;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string Multiprocessor::where() const {
  return text("kernel ", launch->name, ", block (", next.block[0], ", ",
              next.block[1], ", ", next.block[2], ")");
}

std::string Multiprocessor::describe(size_t thread) const {
  size_t x = static_cast<size_t>(launch->block[0]);
  size_t y = static_cast<size_t>(launch->block[1]);
  return text(where(), ", thread (", thread % x, ", ", thread / x % y, ", ",
              thread / x / y, ")");
}

const char *nameOf(const Wait &wait) {
  switch (wait.kind) {
  case Wait::Kind::Barrier:
    return "a barrier of the block";
  case Wait::Kind::WarpBarrier:
    return "a barrier of the warp";
  case Wait::Kind::Ballot:
    return "a ballot";
  case Wait::Kind::Shuffle:
    return "a shuffle";
  case Wait::Kind::None:
    break;
  }
  return "nothing";
}

void Multiprocessor::failStuck() const {
  auto waits = [](const Thread &thread) { return thread.worker != nullptr; };
  auto waiting = std::find_if(threads.begin(), threads.end(), waits);
  bool isBarrier = waiting->wait.kind == Wait::Kind::Barrier;
  size_t number = static_cast<size_t>(waiting - threads.begin());
  size_t first = isBarrier ? 0 : number / warpSize * warpSize;
  size_t end = isBarrier ? numThreads : std::min(first + warpSize, numThreads);
  for (size_t i = first; i < end; ++i) {
    const Thread &other = threads[i];
    if (waits(other) && (other.wait.kind == Wait::Kind::Barrier) == isBarrier)
      continue;
    fail(text(describe(number), " waits at ", nameOf(waiting->wait),
              " that thread ", i, " of the block never reaches: it ",
              waits(other) ? text("waits at ", nameOf(other.wait))
                           : "has ended"));
  }
  fail(
      text(describe(number), " waits at ", nameOf(waiting->wait), " for ever"));
}

} // namespace shoal::emulation

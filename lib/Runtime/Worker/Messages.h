// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a worker and the process that started it, its parent, tell each other:
// python/shoal/devices/wire.py has the same, and test_devices.py compares
// them.
//
// One stream each way, on a Unix-domain socket where all are on one machine and
// else by TCP. A message is a Header and a body
// of `bytes` bytes: words of 64 bits in the machine's byte order, behind them
// text without an end or other bytes. A worker answers Load, Open, Memory and
// Run by one Done or Failed each, Read by one Done, the others by nothing;
// within a Run it may send HostCalls, each of which has one Answer.
//
// A place is two words, an offset and a stride: on rank r it begins at
// offset + r * stride of the memory that parent and workers share. Workers of
// several machines have a memory of their own each, in which the places are the
// same; the parent reads and writes it by messages.

#ifndef SHOAL_LIB_RUNTIME_WORKER_MESSAGES_H
#define SHOAL_LIB_RUNTIME_WORKER_MESSAGES_H

#include <cstdint>

namespace shoal::rt::worker {

/// Goes up whenever anything on this page changes.
constexpr int64_t kVersion = 2;

enum class Message : int64_t {
  // From the worker: {kVersion, rank, ranks, process, bytes of its machine's
  // memory for each of the machine's workers}, the machine's name.
  Hello = 1,
  // {bytes}, with the memory's file; without one the worker makes a memory.
  Memory = 2,
  // {program, whether to unload it at the end, number of inputs, of outputs,
  // the dimensions of each input and output in the metadata, of each output its
  // offset in Run's second place or -1}, the path of a shared library; without
  // one, that of the last Library. Loads it in this process alone.
  Load = 3,
  // {program}: all workers together make a session. Done has the offsets and
  // the extents of this rank's block of each input, then of each output.
  Open = 4,
  // {program, the place of the outputs' shared memory, the place of outputs
  // that have neither an offset there nor a donor, the place of each input}: a
  // step in place, see shoal_session_run_in_place. Done has the nanoseconds
  // that it took.
  Run = 5,
  // {program}: all workers together.
  Unload = 6,
  // {}: the end.
  Bye = 7,
  // From the worker.
  Done = 8,
  // Text that says why.
  Failed = 9,
  // From the worker; both are those of Run/HostCallMessages.h.
  HostCall = 10,
  Answer = 11,
  // For workers of several machines. {offset}, bytes that go there.
  Write = 12,
  // {offset, number of bytes}: Done has them.
  Read = 13,
  // {offset, number of bytes}, whole pages: nobody needs what is there.
  Release = 14,
  // {}, the bytes of a shared library.
  Library = 15,
};

struct Header {
  int64_t message;
  int64_t bytes;
};

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_MESSAGES_H

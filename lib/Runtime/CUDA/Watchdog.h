// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL may wait for other ranks inside of a call: to make a communicator, or
// to connect before the first transfer. Nothing can be polled then; a thread
// watches the clock.

#ifndef SHOAL_LIB_RUNTIME_CUDA_WATCHDOG_H
#define SHOAL_LIB_RUNTIME_CUDA_WATCHDOG_H

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

namespace shoal::rt {

class Watchdog {
public:
  static Watchdog &get();

  /// From now on calls that take longer end the job.
  void start(std::chrono::seconds timeout);

private:
  friend class WatchedCall;
  using Describe = std::function<std::string()>;

  void watch();

  std::chrono::seconds limit{0};
  std::mutex mutex;
  /// Of the call under way; null if there is none.
  const Describe *current = nullptr;
  std::chrono::steady_clock::time_point since;
};

/// A call that may wait for other ranks. `describe` gives the message for the
/// case that it does not return; another thread calls it.
class WatchedCall {
public:
  explicit WatchedCall(std::function<std::string()> describe);
  ~WatchedCall();
  WatchedCall(const WatchedCall &) = delete;
  WatchedCall &operator=(const WatchedCall &) = delete;

private:
  Watchdog::Describe describe;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_WATCHDOG_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace shoal::rt {

using Clock = std::chrono::steady_clock;

Watchdog &Watchdog::get() {
  // Its thread is never joined.
  static auto *watchdog = new Watchdog;
  return *watchdog;
}

void Watchdog::start(std::chrono::seconds timeout) {
  bool running = limit.count() != 0;
  {
    std::lock_guard lock(mutex);
    limit = timeout;
  }
  if (!running)
    std::thread([this] { watch(); }).detach();
}

void Watchdog::watch() {
  constexpr auto interval = std::chrono::milliseconds(100);
  while (true) {
    std::this_thread::sleep_for(interval);
    std::lock_guard lock(mutex);
    if (!current || Clock::now() - since < limit)
      continue;
    std::fprintf(stderr, "error: %s\n", (*current)().c_str());
    std::fflush(stderr);
    // MPI is for the other thread alone, which hangs; the launcher ends the
    // other ranks when this one leaves.
    std::_Exit(1);
  }
}

WatchedCall::WatchedCall(std::function<std::string()> describe)
    : describe(std::move(describe)) {
  Watchdog &watchdog = Watchdog::get();
  std::lock_guard lock(watchdog.mutex);
  watchdog.current = &this->describe;
  watchdog.since = Clock::now();
}

WatchedCall::~WatchedCall() {
  Watchdog &watchdog = Watchdog::get();
  std::lock_guard lock(watchdog.mutex);
  watchdog.current = nullptr;
}

} // namespace shoal::rt

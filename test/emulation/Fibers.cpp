// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fibers of a multiprocessor: where they come from and how they change.

#include "Block.h"

#include <boost/context/preallocated.hpp>
#include <unistd.h>

// AddressSanitizer has to be told of each change of the stack.
#if defined(__SANITIZE_ADDRESS__)
#define SHOAL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHOAL_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef SHOAL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace shoal::emulation {

namespace context = boost::context;

constexpr size_t stackBytes = 128 * 1024;

/// Instead of boost::context::stack_traits, whose code is made for executables:
/// its thread-local variables are the C++ library's, which a process such as
/// Python that has loaded that library later cannot give a fixed place.
struct StackTraits {
  // NOLINTBEGIN(readability-identifier-naming): Boost asks for these names.
  static bool is_unbounded() { return true; }
  static size_t page_size() { return sysconf(_SC_PAGESIZE); }
  static size_t minimum_size() { return stackBytes; }
  static size_t default_size() { return stackBytes; }
  static size_t maximum_size() { return stackBytes; }
  // NOLINTEND(readability-identifier-naming)
};
using ProtectedStack = context::basic_protected_fixedsize_stack<StackTraits>;

static void beginSwitch([[maybe_unused]] void **fake,
                        [[maybe_unused]] const void *stack,
                        [[maybe_unused]] size_t bytes) {
#ifdef SHOAL_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
}

static void endSwitch([[maybe_unused]] void *fake,
                      [[maybe_unused]] const void **from,
                      [[maybe_unused]] size_t *bytes) {
#ifdef SHOAL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake, from, bytes);
#endif
}

Multiprocessor::Worker *Multiprocessor::takeWorker() {
  if (idle.empty()) {
    workers.push_back(std::make_unique<Worker>());
    Worker &worker = *workers.back();
    // An overflow meets a protected page.
    ProtectedStack allocator(stackBytes);
    context::stack_context stack = allocator.allocate();
    worker.stack = static_cast<char *>(stack.sp) - stack.size;
    worker.stackBytes = stack.size;
    worker.fiber = context::fiber(
        std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
        allocator, [this, &worker](context::fiber &&caller) -> context::fiber {
          endSwitch(nullptr, &schedulerStack, &schedulerStackBytes);
          worker.caller = std::move(caller);
          for (;;)
            runThreads(worker);
        });
    return &worker;
  }
  Worker *worker = idle.back();
  idle.pop_back();
  return worker;
}

void Multiprocessor::resume(Worker &worker) {
  current = &worker;
  void *fake = nullptr;
  beginSwitch(&fake, worker.stack, worker.stackBytes);
  worker.fiber = std::move(worker.fiber).resume();
  endSwitch(fake, nullptr, nullptr);
  current = nullptr;
}

void Multiprocessor::suspend(Worker &worker) {
  void *fake = nullptr;
  beginSwitch(&fake, schedulerStack, schedulerStackBytes);
  worker.caller = std::move(worker.caller).resume();
  endSwitch(fake, &schedulerStack, &schedulerStackBytes);
}

} // namespace shoal::emulation

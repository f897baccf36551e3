// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// OpenBLAS starts threads when it is loaded, so it is when a program needs it.

#include "Lapack.h"
#include "shoal/LinearAlgebra/Lapack.h"
#include "llvm/Support/DynamicLibrary.h"

using llvm::sys::DynamicLibrary;

namespace shoal::reference {

static DynamicLibrary open(std::string &message) {
  // Without the number only where it can be built with.
  for (const char *name : {"libopenblas.so.0", "libopenblas.so"}) {
    DynamicLibrary library =
        DynamicLibrary::getPermanentLibrary(name, &message);
    if (library.isValid())
      return library;
  }
  return DynamicLibrary();
}

static DynamicLibrary &openBLAS() {
  static DynamicLibrary library;
  return library;
}

bool findLapack(std::string &message) {
  if (openBLAS().isValid())
    return true;
  openBLAS() = open(message);
  if (!openBLAS().isValid())
    return false;
  // One thread, as compiled programs have it: sums are in one order.
  if (void *set = openBLAS().getAddressOfSymbol("openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(1);
  return true;
}

static void *findRoutine(const char *name) {
  return openBLAS().getAddressOfSymbol(name);
}

static void runAll(int64_t count, double,
                   const std::function<void(int64_t, int64_t)> &body) {
  body(0, count);
}

int callLapack(llvm::StringRef function, const shoal_custom_call &call) {
  return lapack::run(function, call, {findRoutine, runAll});
}

} // namespace shoal::reference

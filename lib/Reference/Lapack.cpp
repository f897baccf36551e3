// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// OpenBLAS starts threads when it is loaded, so it is when a program needs it.

#include "Lapack.h"
#include "shoal/LinearAlgebra/BLASKernels.h"
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

template <typename Function>
static void findFunction(const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(openBLAS().getAddressOfSymbol(name));
}

bool findLapack(std::string &message) {
  if (openBLAS().isValid())
    return true;
  openBLAS() = open(message);
  if (!openBLAS().isValid())
    return false;
  // As compiled programs have it: sums are in one order.
  lapack::BLASControls controls;
  findFunction("openblas_set_num_threads", controls.setNumThreads);
  findFunction("openblas_get_corename", controls.getCoreName);
  findFunction("gotoblas_dynamic_init", controls.begin);
  findFunction("gotoblas_dynamic_quit", controls.end);
  lapack::prepareBLAS(controls);
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

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Api.h"
#include "../Program/Fatal.h"

#include <cstdlib>
#include <dlfcn.h>

namespace shoal::rt {

using support::Error;
using support::Status;

Api api;

namespace {

/// One shared library whose functions are wanted.
class Library {
public:
  explicit Library(std::string file, int flags = 0) : name(std::move(file)) {
    handle = dlopen(name.c_str(), RTLD_NOW | flags);
    if (!handle)
      problem = dlerror();
  }

  template <typename T>
  void find(const char *symbol, T &pointer, bool optional = false) {
    if (!handle)
      return;
    pointer = reinterpret_cast<T>(dlsym(handle, symbol));
    if (!pointer && !optional && problem.empty())
      problem = name + " has no function " + symbol;
  }

  Status status() const {
    if (problem.empty())
      return std::nullopt;
    return Error{"cannot load a library that programs for CUDA need: " +
                 problem};
  }

private:
  std::string name;
  void *handle = nullptr;
  std::string problem;
};

} // namespace

#define SHOAL_FIND(name, ...) library.find(#name, api.name);
#define SHOAL_FIND_OPTIONAL(name)                                              \
  library.find(#name, api.name, /*optional=*/true);

static void findCuda(Library &library) {
  SHOAL_CUDA_FUNCTIONS(SHOAL_FIND)
  SHOAL_CUDA_OVERLOADED_FUNCTIONS(SHOAL_FIND)
  SHOAL_CUDA_GRAPH_FUNCTIONS(SHOAL_FIND_OPTIONAL)
}

static void findCublasLt(Library &library) {
  SHOAL_CUBLASLT_FUNCTIONS(SHOAL_FIND)
}

static void findNccl(Library &library){SHOAL_NCCL_FUNCTIONS(SHOAL_FIND)}

Status loadApi(const std::string &emulation) {
  if (!emulation.empty()) {
    // Of a program that was moved to another machine.
    const char *moved = std::getenv("SHOAL_EMULATION_LIBRARY");
    Library library(moved ? moved : emulation, RTLD_GLOBAL);
    findCuda(library);
    findCublasLt(library);
    findNccl(library);
    SHOAL_FIND_OPTIONAL(shoalObserveAccess)
    SHOAL_FIND_OPTIONAL(shoalObserveArguments)
    return library.status();
  }
  // The major versions that the headers' declarations hold for.
  constexpr auto load = [](const char *file, void (*find)(Library &)) {
    Library library(file);
    find(library);
    return library.status();
  };
  if (Status failed = load("libcudart.so.13", findCuda))
    return failed;
  if (Status failed = load("libcublasLt.so.13", findCublasLt))
    return failed;
  return load("libnccl.so.2", findNccl);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static const char *activity = nullptr;
static const char *activityName = nullptr;
static int64_t activityNumber = 0;

void setActivity(const char *what, const char *name) {
  activity = what;
  activityName = name;
}

void setActivity(const char *what, int64_t number) {
  activity = what;
  activityName = nullptr;
  activityNumber = number;
}

std::string describeActivity() {
  if (!activity)
    return "";
  return std::string(activity) + " " +
         (activityName ? activityName : std::to_string(activityNumber));
}

[[noreturn]] static void fail(const char *call, const std::string &why) {
  std::string where = activity ? " for " + describeActivity() : "";
  fatal(std::string(call) + where + " failed: " + why);
}

void check(cudaError_t status, const char *call) {
  if (status != cudaSuccess)
    fail(call, api.cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char *call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(call, api.cublasLtGetStatusString(status));
}

void check(ncclResult_t status, const char *call) {
  if (status == ncclSuccess)
    return;
  std::string why = api.ncclGetErrorString(status);
  // Only NCCL knows more; the text may be empty.
  const char *detail = api.ncclGetLastError(nullptr);
  if (detail && *detail)
    why += std::string(", ") + detail;
  fail(call, why);
}

} // namespace shoal::rt

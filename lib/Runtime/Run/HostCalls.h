// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host calls: in the middle of a step, functions of the process that runs the
// program.

#ifndef SHOAL_LIB_RUNTIME_RUN_HOSTCALLS_H
#define SHOAL_LIB_RUNTIME_RUN_HOSTCALLS_H

#include "../Program/Calls.h"
#include "../Program/Program.h"
#include "shoal/Runtime/Session.h"

namespace shoal::rt {

/// Where calls go: to a function of this process, or to another process on this
/// machine. What is printed goes to stdout where neither is there. One for the
/// process.
class HostCalls {
public:
  static HostCalls &get();

  /// A call that fails is remembered: the step goes on, as other ranks may wait
  /// for this one, but calls nothing any more.
  void setFunction(shoal_host_function function, void *context);

  /// The process that listens at a socket of the file system; it hears of this
  /// one at the first call. A call that fails ends the job.
  void setSocket(std::string path);

  /// Fails where the program calls functions and nothing has them.
  Status check(const Program &program) const;

  /// `buffers` are operands, then the flag, if the call has one, then results.
  void call(const calls::HostCall &call, void *const *buffers);

  /// What has failed since the last time.
  Status takeFailure();

private:
  using Tensors = std::vector<shoal_tensor>;

  void print(const calls::HostCall &call, const Tensors &operands);
  /// Hands the call on; what failed, if anything.
  Status send(const shoal_host_call &request);
  Status sendToFunction(const shoal_host_call &request) const;
  Status sendToSocket(const shoal_host_call &request);
  Status connect();
  void fail(const calls::HostCall &call, const Error &error);

  shoal_host_function function = nullptr;
  void *context = nullptr;
  std::string path;
  int socket = -1;
  Status failure;
  int64_t callsSinceFailure = 0;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_HOSTCALLS_H

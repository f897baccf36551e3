// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that is one device of a pool, for as long as its parent wants it.

#ifndef SHOAL_LIB_RUNTIME_WORKER_WORKER_H
#define SHOAL_LIB_RUNTIME_WORKER_WORKER_H

#include <cstdint>
#include <string_view>

namespace shoal::rt::worker {

/// Serves the parent that listens at this name until it says Bye, then returns
/// the exit code. Collective: MPI runs meanwhile.
int serve(std::string_view name);

/// The same for a parent that may be on another machine: the environment's
/// SHOAL_PARENT has the text of an Invitation, see Channel::reach.
int serveElsewhere(int64_t seconds);

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_WORKER_H

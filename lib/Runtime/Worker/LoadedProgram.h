// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that a worker has loaded, and its session.

#ifndef SHOAL_LIB_RUNTIME_WORKER_LOADEDPROGRAM_H
#define SHOAL_LIB_RUNTIME_WORKER_LOADEDPROGRAM_H

#include "SharedMemory.h"
#include "shoal/Runtime/Session.h"

#include <string>
#include <vector>

namespace shoal::rt::worker {

/// What the parent knows of a program from its metadata.
struct Signature {
  /// Dimensions of each tensor.
  std::vector<int64_t> inputDims, outputDims;
  /// Of each output, its offset in the memory of those that have neither a
  /// donor nor an offset in the shared memory; -1 of others.
  std::vector<int64_t> ownOffsets;
};

class LoadedProgram {
public:
  LoadedProgram(Signature signature, bool canUnload);
  /// Ends the session, if there is one; collective then.
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram &) = delete;
  LoadedProgram &operator=(const LoadedProgram &) = delete;

  support::Status load(const std::string &path);

  /// Collective. `function` gets `context` with each call.
  support::Status open(shoal_host_function function, void *context);

  /// Offsets and extents of this rank's block of each tensor.
  std::vector<int64_t> blocks() const;

  /// Collective: one step, at Run's places.
  support::Status run(const SharedMemory &memory,
                      const std::vector<int64_t> &places);

  size_t numPlaces() const { return 2 + signature.inputDims.size(); }

private:
  /// Those of Session.h.
  struct Functions {
    decltype(&shoal_session_open) open;
    decltype(&shoal_session_block) block;
    decltype(&shoal_session_run_in_place) run;
    decltype(&shoal_session_set_host_function) setHostFunction;
    decltype(&shoal_session_close) close;
  };

  Signature signature;
  bool canUnload;
  void *library = nullptr;
  shoal_session *session = nullptr;
  Functions functions{};
  std::vector<void *> inputs, outputs;
};

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_LOADEDPROGRAM_H

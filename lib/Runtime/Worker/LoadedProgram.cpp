// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoadedProgram.h"

#include <dlfcn.h>
#include <mpi.h>

namespace shoal::rt::worker {

using support::Error;
using support::Status;

LoadedProgram::LoadedProgram(Signature signature, bool canUnload)
    : signature(std::move(signature)), canUnload(canUnload) {}

LoadedProgram::~LoadedProgram() {
  if (session)
    functions.close(session);
  // A GPU's driver and NCCL may have threads in libraries that would go.
  if (library && canUnload)
    ::dlclose(library);
}

template <typename Function>
static bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Status LoadedProgram::load(const std::string &path) {
  library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library ||
      !(find(library, "shoal_session_open", functions.open) &&
        find(library, "shoal_session_block", functions.block) &&
        find(library, "shoal_session_run_in_place", functions.run) &&
        find(library, "shoal_session_set_host_function",
             functions.setHostFunction) &&
        find(library, "shoal_session_close", functions.close)))
    return Error{::dlerror()};
  return std::nullopt;
}

Status LoadedProgram::open(shoal_host_function function, void *context) {
  char error[4096] = "";
  if (functions.open(MPI_Comm_c2f(MPI_COMM_WORLD), &session, error,
                     sizeof(error)) != 0) {
    session = nullptr;
    return Error{error};
  }
  functions.setHostFunction(session, function, context);
  return std::nullopt;
}

std::vector<int64_t> LoadedProgram::blocks() const {
  std::vector<int64_t> words;
  for (bool isOutput : {false, true}) {
    const auto &dims = isOutput ? signature.outputDims : signature.inputDims;
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t begin = words.size();
      words.resize(begin + 2 * dims[i]);
      functions.block(session, isOutput, static_cast<int64_t>(i),
                      words.data() + begin, words.data() + begin + dims[i]);
    }
  }
  return words;
}

/// The places are those of the shared memory, of outputs' own memory, and of
/// inputs, two words each.
Status LoadedProgram::run(const SharedMemory &memory,
                          const std::vector<int64_t> &places) {
  auto find = [&](size_t i) {
    return memory.find(places[2 * i], places[2 * i + 1]);
  };
  void *shared = find(0);
  char *own = find(1);
  inputs.clear();
  for (size_t i = 2; i < numPlaces(); ++i)
    inputs.push_back(find(i));
  outputs.clear();
  for (int64_t offset : signature.ownOffsets)
    outputs.push_back(offset < 0 ? nullptr : own + offset);
  char error[4096] = "";
  if (functions.run(session, inputs.data(), outputs.data(), shared, error,
                    sizeof(error)) != 0)
    return Error{error};
  return std::nullopt;
}

} // namespace shoal::rt::worker

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Runtime/Session.h"
#include "../Job/RankWatch.h"
#include "Checks.h"
#include "HostCalls.h"
#include "Run.h"
#include "SameStart.h"
#include "shoal/Runtime/ABI.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace shoal::rt;

// NOLINTNEXTLINE(readability-identifier-naming): a name of C.
struct shoal_session {
  shoal_session(MPI_Comm communicator, Program program)
      : program(std::move(program)), world(communicator), target(makeTarget()) {
  }

  Program program;
  World world;
  std::unique_ptr<Target> target;
};

static shoal_session *current = nullptr;

static int report(const Status &status, char *error, size_t size) {
  if (!status)
    return 0;
  if (size != 0) {
    size_t length = std::min(size - 1, status->message.size());
    std::memcpy(error, status->message.data(), length);
    error[length] = '\0';
  }
  return 1;
}

/// What is known without a word to other ranks, and is the same for all.
static Status checkProcess(int communicator, const Result<Program> &program) {
  int initialized = 0, finalized = 0, ranks = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    return Error{"MPI does not run in this process"};
  if (!program)
    return program.error();
  if (current)
    return Error{"a session of this library is open"};
  MPI_Comm parent = MPI_Comm_f2c(communicator);
  if (parent == MPI_COMM_NULL)
    return Error{"the communicator is null"};
  MPI_Comm_size(parent, &ranks);
  return checkWorld(ranks, *program);
}

static Status prepare(shoal_session &session) {
  World &world = session.world;
  if (Status failed = checkSameMachines(world))
    return failed;
  if (Status failed = checkSameProgram(world))
    return failed;
  Result<int64_t> limit = collectiveTimeout();
  if (Status failed = world.agree(limit ? Status() : Status(limit.error())))
    return failed;
  if (session.program.target == "cpu")
    RankWatch::get().start(world, session.program, *limit);
  Options options;
  options.callerHasShards = true;
  return world.agree(session.target->prepare(world, session.program, options));
}

const char *shoal_session_mpi(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

int shoal_session_open(int communicator, shoal_session **session, char *error,
                       size_t size) {
  Result<Program> program = parseProgram(shoal_program_metadata);
  if (Status failed = checkProcess(communicator, program))
    return report(failed, error, size);
  current = new shoal_session(MPI_Comm_f2c(communicator), std::move(*program));
  Status failed = prepare(*current);
  if (failed)
    shoal_session_close(current);
  else
    *session = current;
  return report(failed, error, size);
}

void shoal_session_block(const shoal_session *session, int isOutput,
                         int64_t index, int64_t *offset, int64_t *extent) {
  const Program &program = session->program;
  const Tensor &tensor =
      isOutput ? program.outputs[index] : program.inputs[index];
  Block block = blockOf(program, tensor, session->world.rank());
  std::copy(block.offset.begin(), block.offset.end(), offset);
  std::copy(block.extent.begin(), block.extent.end(), extent);
}

int shoal_session_agree(shoal_session *session, const char *mine, char *error,
                        size_t size) {
  Status status;
  if (mine)
    status = Error{mine};
  return report(session->world.agree(status), error, size);
}

void shoal_session_set_host_function(shoal_session *,
                                     shoal_host_function function,
                                     void *context) {
  HostCalls::get().setFunction(function, context);
}

/// A rank whose host call has failed goes on to the end of the step, where all
/// hear of it: others may have waited for it.
template <typename Step>
static Status runStep(shoal_session &session, Step &&step) {
  HostCalls &hostCalls = HostCalls::get();
  RankWatch::get().beginStep();
  if (Status failed = hostCalls.check(session.program))
    return failed;
  Checks &checks = Checks::get();
  checks.beginStep(session.world, session.program);
  Status failed = step(*session.target, session.program);
  if (failed)
    return failed;
  failed = checks.endStep();
  if (session.program.hostCalls.empty())
    return failed;
  Status ofCalls = session.world.agree(hostCalls.takeFailure());
  return ofCalls ? ofCalls : failed;
}

int shoal_session_run(shoal_session *session, void *const *inputs,
                      void *const *outputs, char *error, size_t size) {
  auto step = [&](Target &target, const Program &program) {
    return target.stepOn(program, inputs, outputs);
  };
  return report(runStep(*session, step), error, size);
}

int shoal_session_run_in_place(shoal_session *session, void *const *inputs,
                               void *const *outputs, void *shared, char *error,
                               size_t size) {
  auto step = [&](Target &target, const Program &program) {
    return target.stepInPlace(program, inputs, outputs,
                              static_cast<char *>(shared));
  };
  return report(runStep(*session, step), error, size);
}

void shoal_session_wait(shoal_session *, int begins) {
  if (begins)
    RankWatch::get().enter(Place::Caller, /*id=*/-1);
  else
    RankWatch::get().leave();
}

void shoal_session_leave(shoal_session *) { RankWatch::get().end(); }

void shoal_session_abort(shoal_session *) {
  abortJob();
  std::_Exit(1);
}

void shoal_session_close(shoal_session *session) {
  RankWatch::get().stop();
  session->target->release();
  delete session;
  current = nullptr;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Worker.h"
#include "../Common/HostMessages.h"
#include "Channel.h"
#include "LoadedProgram.h"
#include "SharedMemory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mpi.h>
#include <unistd.h>

namespace shoal::rt::worker {

using support::Status;

namespace {

class Worker {
public:
  Worker(Channel &channel, int rank) : channel(channel), memory(rank) {}

  /// Until Bye.
  void serve();

private:
  void handle(const Received &request);
  void load(const Received &request);
  void open(const Received &request);
  void run(const Received &request);
  void answer(const Status &status, const std::vector<int64_t> &words = {});
  LoadedProgram &programOf(const Received &request);

  /// A shoal_host_function.
  static int callHost(void *context, const shoal_host_call *call, char *error,
                      size_t size);

  Channel &channel;
  SharedMemory memory;
  std::map<int64_t, std::unique_ptr<LoadedProgram>> programs;
  /// Kept from step to step.
  std::vector<int64_t> places;
};

} // namespace

/// Parent and worker are of one package: this is a bug in either.
[[noreturn]] static void breakOff(const char *what) {
  std::fprintf(stderr, "error: a worker got %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  ::_exit(1);
}

void Worker::serve() {
  for (Received request;;) {
    channel.receive(request);
    if (request.message == Message::Bye)
      break;
    handle(request);
  }
  // The same order everywhere: sessions end together.
  programs.clear();
}

void Worker::handle(const Received &request) {
  switch (request.message) {
  case Message::Memory:
    if (request.numWords() < 1)
      breakOff("no size");
    return answer(memory.map(request.file, request.word(0)));
  case Message::Load:
    return load(request);
  case Message::Open:
    return open(request);
  case Message::Run:
    return run(request);
  case Message::Unload:
    programOf(request);
    programs.erase(request.word(0));
    return;
  default:
    breakOff("an unknown message");
  }
}

void Worker::answer(const Status &status, const std::vector<int64_t> &words) {
  if (status)
    channel.send(Message::Failed, status->message);
  else
    channel.send(Message::Done, words);
}

LoadedProgram &Worker::programOf(const Received &request) {
  auto found =
      request.numWords() ? programs.find(request.word(0)) : programs.end();
  if (found == programs.end())
    breakOff("an unknown program");
  return *found->second;
}

void Worker::load(const Received &request) {
  size_t next = 4;
  if (request.numWords() < next)
    breakOff("a short message");
  size_t numInputs = request.word(2), numOutputs = request.word(3);
  if (request.numWords() < next + numInputs + 2 * numOutputs)
    breakOff("a short message");
  auto take = [&](size_t count) {
    std::vector<int64_t> words;
    for (size_t end = next + count; next < end; ++next)
      words.push_back(request.word(next));
    return words;
  };
  Signature signature;
  signature.inputDims = take(numInputs);
  signature.outputDims = take(numOutputs);
  signature.ownOffsets = take(numOutputs);
  auto program = std::make_unique<LoadedProgram>(std::move(signature),
                                                 request.word(1) != 0);
  Status status = program->load(std::string(request.textBehind(next)));
  if (!status)
    programs[request.word(0)] = std::move(program);
  answer(status);
}

void Worker::open(const Received &request) {
  LoadedProgram &program = programOf(request);
  Status status = program.open(callHost, this);
  answer(status, status ? std::vector<int64_t>() : program.blocks());
}

void Worker::run(const Received &request) {
  using Clock = std::chrono::steady_clock;
  LoadedProgram &program = programOf(request);
  if (request.numWords() != 1 + 2 * program.numPlaces())
    breakOff("another number of places");
  places.clear();
  for (size_t i = 1; i < request.numWords(); ++i)
    places.push_back(request.word(i));
  Clock::time_point begin = Clock::now();
  Status status = program.run(memory, places);
  std::chrono::nanoseconds taken = Clock::now() - begin;
  answer(status, {taken.count()});
}

int Worker::callHost(void *context, const shoal_host_call *call, char *error,
                     size_t size) {
  Channel &channel = static_cast<Worker *>(context)->channel;
  channel.sendHeader(Message::HostCall, requestBytes(*call));
  Status failed;
  Header header;
  if (!sendRequest(channel.descriptor(), *call) ||
      !receiveAll(channel.descriptor(), &header, sizeof(header)))
    ::_exit(1);
  if (header.message != static_cast<int64_t>(Message::Answer))
    breakOff("something else than an answer");
  failed = receiveAnswer(channel.descriptor(), *call);
  if (failed)
    std::snprintf(error, size, "%s", failed->message.c_str());
  return failed ? 1 : 0;
}

int serve(std::string_view name) {
  // First of all, so that a parent that ends meanwhile is noticed.
  Channel channel;
  if (Status failed = channel.connect(name)) {
    std::fprintf(stderr, "error: %s\n", failed->message.c_str());
    return 1;
  }
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  channel.send(Message::Hello, {kVersion, rank, ranks, ::getpid()});
  Worker(channel, rank).serve();
  MPI_Finalize();
  return 0;
}

} // namespace shoal::rt::worker

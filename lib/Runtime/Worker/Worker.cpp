// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Worker.h"
#include "../Run/HostCallMessages.h"
#include "Channel.h"
#include "LoadedProgram.h"
#include "SharedMemory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mpi.h>
#include <unistd.h>

namespace shoal::rt::worker {

using support::Error;
using support::Status;

namespace {

/// What a parent says to rank 1 of 2 workers of one machine, for a step of a
/// program y = f(x) of f32[8, 4] with rows split over both:
///
///   Hello {2, 1, 2, 4711, 2^32} "node7"       from the worker: version, rank,
///                                             ranks, process, bytes
///   Memory {4096}, a file                     maps it             Done {}
///   Load {5, 1, 1, 1, 2, 2, -1} "/tmp/f.so"   program 5: one input and one
///                                             output, of 2 dimensions each, y
///                                             in shared memory    Done {}
///   Open {5}                                  a session of both   Done
///                                             {4, 0, 4, 4, 4, 0, 4, 4}: rows
///                                             4 to 8 of x, and of y
///   Run {5, 128, 64, 0, 0, 0, 64}             a step              Done {81000}
///   Unload {5}
///   Bye {}
///
/// The places of Run are two words each: y's memory begins at byte 128, x at
/// byte 0, and each rank's block is 64 bytes behind that of the rank before it:
/// here x is read at 64 and y written at 192. Outputs of their own memory are
/// none. What fails is Failed with a text in place of Done, and the worker
/// serves on.
class Worker {
public:
  Worker(Channel &channel, int rank) : channel(channel), memory(rank) {}

  /// Until Bye.
  void serve();

private:
  void handle(const Received &request);
  void map(const Received &request);
  void load(const Received &request);
  void keepLibrary(const Received &request);
  void write(const Received &request);
  void read(const Received &request);
  void open(const Received &request);
  void run(const Received &request);
  void answer(const Status &status, const std::vector<int64_t> &words = {});
  LoadedProgram &programOf(const Received &request);

  /// A shoal_host_function.
  static int callHost(void *context, const shoal_host_call *call, char *error,
                      size_t size);

  Channel &channel;
  SharedMemory memory;
  /// Where the last one lies that came as bytes, until it is loaded.
  std::string library;
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
    return map(request);
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
  case Message::Library:
    return keepLibrary(request);
  case Message::Write:
    return write(request);
  case Message::Read:
    return read(request);
  case Message::Release:
    if (request.numWords() != 2)
      breakOff("no range");
    return memory.release(request.word(0), request.word(1));
  default:
    breakOff("an unknown message");
  }
}

void Worker::map(const Received &request) {
  if (request.numWords() < 1)
    breakOff("no size");
  answer(request.file < 0 ? memory.make(request.word(0))
                          : memory.map(request.file, request.word(0)));
}

/// Under a name that no library had before: the loader knows them by that. On
/// another machine than the parent's Library {} brings the bytes of f.so, which
/// are kept as /tmp/shoal-a1B2c3; Load {5, ...} "" loads that and removes it.
void Worker::keepLibrary(const Received &request) {
  const char *folder = std::getenv("TMPDIR");
  library = std::string(folder ? folder : "/tmp") + "/shoal-XXXXXX";
  int file = ::mkstemp(library.data());
  const std::vector<char> &bytes = request.body;
  for (size_t done = 0; file >= 0 && done < bytes.size();) {
    ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written <= 0)
      break; // loading says why
    done += written;
  }
  if (file >= 0)
    ::close(file);
}

/// Write {64} and 64 bytes: rank 1's block of x, where parent and worker share
/// no memory. Read {192, 64} is then how the parent gets that of y.
void Worker::write(const Received &request) {
  std::string_view bytes = request.textBehind(1);
  char *to = request.numWords() == 0
                 ? nullptr
                 : memory.findRange(request.word(0), bytes.size());
  if (!to)
    breakOff("a place outside of its memory");
  std::memcpy(to, bytes.data(), bytes.size());
}

void Worker::read(const Received &request) {
  if (request.numWords() != 2)
    breakOff("no range");
  const char *from = memory.findRange(request.word(0), request.word(1));
  if (!from)
    breakOff("a place outside of its memory");
  channel.send(Message::Done, std::string_view(from, request.word(1)));
}

void Worker::answer(const Status &status, const std::vector<int64_t> &words) {
  if (status)
    channel.send(Message::Failed, status->message);
  else
    channel.send(Message::Done, words);
}

/// Of Run {5, ...}, program 5. A parent does not name one that was not loaded.
LoadedProgram &Worker::programOf(const Received &request) {
  auto found =
      request.numWords() ? programs.find(request.word(0)) : programs.end();
  if (found == programs.end())
    breakOff("an unknown program");
  return *found->second;
}

/// {5, 1, 1, 1, 2, 2, -1} "/tmp/f.so" is read as program 5, to be unloaded, of
/// 1 input and 1 output, {2} and {2} dimensions, own offsets {-1}, then the
/// path. A program that cannot be loaded is none: the number stays free.
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
  std::string path(request.textBehind(next));
  bool isOwn = path.empty();
  Status status = program->load(isOwn ? library : path);
  if (isOwn)
    ::unlink(library.c_str());
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

/// In the midst of a Run: HostCall with the call's inputs, and the next thing
/// that comes is its Answer, with the outputs or why there are none. The parent
/// sends nothing else meanwhile, as the Run is not Done.
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

/// What this machine has for each of its workers.
static int64_t shareOfMemory() {
  int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  MPI_Comm node;
  int workers = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &node);
  MPI_Comm_size(node, &workers);
  MPI_Comm_free(&node);
  return pages * page / workers;
}

static int serve(Channel &channel) {
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int64_t words[] = {kVersion, rank, ranks, ::getpid(), shareOfMemory()};
  std::string hello(reinterpret_cast<const char *>(words), sizeof(words));
  channel.send(Message::Hello, hello + nodeName());
  Worker(channel, rank).serve();
  MPI_Finalize();
  return 0;
}

static int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

// First of all the parent is found, so that one that ends meanwhile is noticed.

int serve(std::string_view name) {
  Channel channel;
  if (Status failed = channel.connect(name))
    return fail(*failed);
  return serve(channel);
}

int serveElsewhere(int64_t seconds) {
  const char *text = std::getenv("SHOAL_PARENT");
  if (!text)
    return fail({"SHOAL_PARENT does not say where the parent is"});
  Invitation invitation = Invitation::parse(text);
  ::unsetenv("SHOAL_PARENT");
  Channel channel;
  if (Status failed = channel.reach(invitation, seconds))
    return fail({nodeName() + ": " + failed->message});
  return serve(channel);
}

} // namespace shoal::rt::worker

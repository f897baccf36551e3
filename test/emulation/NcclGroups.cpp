// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of NCCL calls: what belongs together is checked, enqueued as one
// operation for each stream, and carried out when the group ends.

#include "Error.h"
#include "Faults.h"
#include "Graphs.h"
#include "Nccl.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>

namespace shoal::emulation {

static int depth = 0;
static std::vector<Call> pending;

/// The text for as long as the process lives.
static const char *intern(const std::string &name) {
  static std::set<std::string> names;
  return names.insert(name).first->c_str();
}

//===----------------------------------------------------------------------===//
// What a call touches
//===----------------------------------------------------------------------===//

static Range rangeAt(uintptr_t begin, size_t bytes, bool writes) {
  return {begin, begin + bytes, writes};
}

/// Ends the program where the source and the target of a collective overlap in
/// another form than NCCL's in place.
static std::vector<Range> rangesOf(const Call &call) {
  auto source = reinterpret_cast<uintptr_t>(call.source);
  auto target = reinterpret_cast<uintptr_t>(call.target);
  size_t bytes = call.bytes();
  if (call.kind == CallKind::Send)
    return {rangeAt(source, bytes, /*writes=*/false)};
  if (call.kind == CallKind::Recv)
    return {rangeAt(target, bytes, /*writes=*/true)};
  auto ranks = static_cast<size_t>(call.communicator->size);
  size_t own = static_cast<size_t>(call.communicator->rank) * bytes;
  Range read = rangeAt(source, bytes, /*writes=*/false);
  Range written = rangeAt(target, bytes, /*writes=*/true);
  bool inPlace = source == target;
  if (call.kind == CallKind::AllGather) {
    written.end = target + ranks * bytes;
    inPlace = source == target + own;
  } else if (call.kind == CallKind::ReduceScatter) {
    read.end = source + ranks * bytes;
    inPlace = target == source + own;
  }
  if (inPlace && call.kind == CallKind::ReduceScatter)
    return {{read.begin, written.begin, false},
            written,
            {written.end, read.end, false}};
  if (inPlace)
    return {written};
  if (bytes != 0 && read.begin < written.end && written.begin < read.end)
    fail(text(describe(call), ": source ", call.source, " and target ",
              call.target, " overlap, but not as NCCL's in-place form"));
  return {read, written};
}

/// "ncclAllReduce", or "ncclGroupEnd of 3 ncclRecv, 3 ncclSend".
static const char *nameOf(const std::vector<Call> &calls,
                          const Stream *stream) {
  std::map<std::string, int> counts;
  const char *only = nullptr;
  int number = 0;
  for (const Call &call : calls) {
    if (call.stream != stream)
      continue;
    ++counts[only = call.name];
    ++number;
  }
  if (number == 1)
    return only;
  std::string name = "ncclGroupEnd of";
  const char *separator = " ";
  for (const auto &[call, count] : counts) {
    name += text(separator, count, " ", call);
    separator = ", ";
  }
  return intern(name);
}

/// All streams take part in the group; with the last, it is carried out.
static void enqueue(const std::vector<Call> &calls, const Body &body) {
  std::vector<Stream *> streams;
  for (const Call &call : calls)
    if (std::find(streams.begin(), streams.end(), call.stream) == streams.end())
      streams.push_back(call.stream);
  for (Stream *stream : streams) {
    std::vector<Range> ranges;
    for (const Call &call : calls)
      if (call.stream == stream)
        for (const Range &range : rangesOf(call))
          ranges.push_back(range);
    bool last = stream == streams.back();
    submit(
        *stream, nameOf(calls, stream), std::move(ranges),
        /*concurrent=*/true,
        last ? body : [](Stream &, const std::vector<Range> &) {});
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// NCCL needs both halves of a transfer to the own rank in one group.
static std::string checkOwnTransfers(const std::vector<Call> &calls) {
  std::map<const Communicator *, int> balance;
  for (const Call &call : calls)
    if (call.isTransfer() && call.peer == call.communicator->rank)
      balance[call.communicator] += call.kind == CallKind::Send ? 1 : -1;
  for (const auto &[communicator, difference] : balance)
    if (difference != 0)
      return text("a group has ", std::abs(difference), " more ",
                  difference > 0 ? "sends" : "receives",
                  " than their counterparts to the own rank");
  return {};
}

static void run(const std::vector<Call> &calls) {
  std::vector<Call> transfers;
  for (const Call &call : calls) {
    if (call.isTransfer()) {
      transfers.push_back(call);
      continue;
    }
    agree(call);
    runCollective(call);
  }
  runTransfers(transfers);
}

static ncclResult_t runAll() {
  std::vector<Call> calls;
  std::swap(calls, pending);
  std::string why = checkOwnTransfers(calls);
  if (!why.empty())
    return refuse(ncclInvalidUsage, why);
  enqueue(calls, [calls](Stream &, const std::vector<Range> &) { run(calls); });
  return ncclSuccess;
}

static std::string check(const Call &call) {
  size_t element = elementBytes(call.type);
  if (element == 0)
    return text("no type ", call.type);
  if (call.count > INT_MAX)
    return text("the emulator has no calls of ", call.count, " elements");
  bool reduces =
      call.kind == CallKind::AllReduce || call.kind == CallKind::ReduceScatter;
  bool isFloat8 = call.type == ncclFloat8e4m3 || call.type == ncclFloat8e5m2;
  if (reduces &&
      (isFloat8 || call.reduction < ncclSum || call.reduction >= ncclNumOps))
    return text("the emulator does not reduce type ", call.type, " by ",
                call.reduction);
  bool needsSource = call.kind != CallKind::Recv;
  bool needsTarget = call.kind != CallKind::Send;
  if (call.count != 0 &&
      ((needsSource && !call.source) || (needsTarget && !call.target)))
    return "a buffer is null";
  for (const void *pointer :
       {call.source, static_cast<const void *>(call.target)})
    if (reinterpret_cast<uintptr_t>(pointer) % element != 0)
      return text("a buffer at ", pointer, " of elements of ", element,
                  " bytes");
  if (call.isTransfer() &&
      (call.peer < 0 || call.peer >= call.communicator->size))
    return text("peer ", call.peer, " of ", call.communicator->size, " ranks");
  return {};
}

ncclResult_t submit(Call call, ncclComm_t communicator, cudaStream_t stream) {
  call.communicator = find(communicator);
  call.stream = Streams::get().find(stream);
  std::string why;
  if (!call.communicator || !call.stream)
    why = call.stream ? "no such communicator" : "no such stream";
  if (why.empty())
    why = check(call);
  if (!why.empty())
    return refuse(ncclInvalidArgument, text(call.name, ": ", why));
  pending.push_back(call);
  return depth == 0 ? runAll() : ncclSuccess;
}

} // namespace shoal::emulation

using namespace shoal::emulation;

extern "C" {

ncclResult_t ncclGroupStart() {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0)
    return refuse(ncclInvalidUsage, "ncclGroupEnd: not in a group call");
  --depth;
  if (int failure = injectedFailure(__func__, ncclInternalError)) {
    pending.clear();
    return static_cast<ncclResult_t>(failure);
  }
  return depth == 0 ? runAll() : ncclSuccess;
}
} // extern "C"

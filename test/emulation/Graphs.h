// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs, by capture of streams: while a stream is captured, its
// operations are kept instead of run. A launch runs them in the order of their
// capture, each on a stream of the graph's own, so that what orders them, and
// nothing else, is what was captured: the search for races goes on.

#ifndef SHOAL_TEST_EMULATION_GRAPHS_H
#define SHOAL_TEST_EMULATION_GRAPHS_H

#include "Streams.h"

#include <functional>

namespace shoal::emulation {

/// What an operation does, on the stream that it is enqueued on, and which
/// bytes it may touch.
using Body = std::function<void(Stream &, const std::vector<Range> &)>;

/// One launch under way: the graph's streams, and its events so far.
struct Replay {
  std::vector<Stream *> streams;
  std::unordered_map<const Event *, Clock> events;
};

class Graph {
public:
  /// A captured stream becomes part of the graph.
  void join(Stream &stream);

  void add(Stream &stream, const char *name, std::vector<Range> ranges,
           bool concurrent, Body body);
  void record(Event &event, Stream &stream);
  /// Records that are seen outside of the graph.
  void recordExternal(Event &event, Stream &stream);
  void wait(Stream &stream, const Event &event);

  /// True if the first stream is behind all that the others do.
  bool isJoined() const;
  /// The streams do what they did before.
  void end();
  bool isCapturing() const { return capturing; }
  bool beginsWith(const Stream &stream) const {
    return streams.front() == &stream;
  }

  /// Ready for launches.
  void instantiate();
  void launch(Stream &stream);

private:
  size_t indexOf(const Stream &stream) const;

  bool capturing = true;
  std::vector<Stream *> streams;
  /// What is known of the operations of each stream: their capture's order.
  std::vector<Clock> clocks;
  std::unordered_map<const Event *, Clock> events;
  std::vector<std::function<void(Replay &)>> nodes;
  std::vector<Stream *> ownStreams;
};

/// Enqueues an operation, see Streams::enqueue, and carries it out, or keeps it
/// for the graph that the stream is captured in.
void submit(Stream &stream, const char *name, std::vector<Range> ranges,
            bool concurrent, const Body &body);

/// Whether any stream is captured: calls that are forbidden then fail.
bool isCapturing();

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_GRAPHS_H

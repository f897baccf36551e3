// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker's end of the socket to its parent.

#ifndef SHOAL_LIB_RUNTIME_WORKER_CHANNEL_H
#define SHOAL_LIB_RUNTIME_WORKER_CHANNEL_H

#include "../Job/NodeSockets.h"
#include "Messages.h"
#include "shoal/Support/Result.h"

#include <string_view>
#include <vector>

namespace shoal::rt::worker {

/// A message that came. `file` is one that came with it, or -1.
struct Received {
  Message message;
  std::vector<char> body;
  int file = -1;

  /// Number `index` of the body, and how many whole ones it has.
  int64_t word(size_t index) const;
  size_t numWords() const { return body.size() / sizeof(int64_t); }
  /// What is behind so many words.
  std::string_view textBehind(size_t numWords) const;
};

/// Where the parent is gone, this process ends: nobody would hear of an error.
class Channel {
public:
  /// Finds the parent, a process of the same user, at a name of Linux' abstract
  /// namespace. From then on this process ends when the parent does, whatever
  /// it is doing.
  support::Status connect(std::string_view name);

  /// The same where the parent may be on another machine. The invitation's word
  /// is two of the same length: this side says the first and expects the
  /// second. A parent whose machine or network is lost is gone after so many
  /// seconds; 0: never.
  support::Status reach(const Invitation &invitation, int64_t seconds);

  /// Waits, asleep, for the next message. It takes the place of the last one.
  void receive(Received &received);

  void send(Message message, const std::vector<int64_t> &words);
  void send(Message message, std::string_view text);

  /// The head of a message whose body the caller sends by himself.
  void sendHeader(Message message, size_t bytes);
  int descriptor() const { return socket; }

private:
  int socket = -1;
};

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_CHANNEL_H

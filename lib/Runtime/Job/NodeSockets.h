// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sockets of TCP between nodes of a job, with times after which each call
// gives up. Free of MPI.

#ifndef SHOAL_LIB_RUNTIME_JOB_NODESOCKETS_H
#define SHOAL_LIB_RUNTIME_JOB_NODESOCKETS_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::rt {

class Deadline {
public:
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(seconds))) {}
  /// As poll counts; 0 when it has come.
  int milliseconds() const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end;
};

/// This node's.
std::string nodeName();

/// What a process that listens tells the others by MPI: its addresses, and a
/// word by which both sides know each other.
struct Invitation {
  std::string word;
  int port = 0;
  /// Numbers; those of the loopback alone where there are no others.
  std::vector<std::string> addresses;

  /// With this node's addresses and a random word.
  static Invitation make(size_t wordBytes);
  std::string text() const;
  static Invitation parse(const std::string &text);
};

/// Listens at all addresses, at a port that the system chooses; -1 where it
/// cannot.
int listenAnywhere(int &port);
/// These return -1, or false, where it is too late or the other side is gone.
int acceptBefore(int listener, const Deadline &deadline);
int connectBefore(const std::string &address, int port,
                  const Deadline &deadline);
bool sendBefore(int socket, const std::string &text, const Deadline &deadline);
/// As many bytes as the text has.
bool receiveBefore(int socket, std::string &text, const Deadline &deadline);

/// Makes the socket one whose calls wait, and whose other end is gone when its
/// node has not answered for so many seconds; 0: never.
void keepAlive(int socket, int64_t seconds);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_NODESOCKETS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NodeLinks.h"
#include "NodeSockets.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

namespace shoal::rt {

//===----------------------------------------------------------------------===//
// A connection
//===----------------------------------------------------------------------===//

NodeLink::NodeLink(int socket) : socket(socket) {}

NodeLink::~NodeLink() { ::close(socket); }

void NodeLink::flush() {
  while (!outgoing.empty()) {
    ssize_t sent = ::send(socket, outgoing.data(), outgoing.size(),
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    outgoing.erase(0, sent);
  }
}

void NodeLink::send(std::span<const RankReport> reports) {
  flush();
  if (!outgoing.empty())
    return;
  uint64_t count = reports.size();
  outgoing.assign(reinterpret_cast<const char *>(&count), sizeof(count));
  outgoing.append(reinterpret_cast<const char *>(reports.data()),
                  reports.size_bytes());
  flush();
}

void NodeLink::receive(
    const std::function<void(std::span<const RankReport>)> &visit) {
  char piece[1 << 14];
  for (ssize_t got;
       (got = ::recv(socket, piece, sizeof(piece), MSG_DONTWAIT)) > 0;)
    incoming.append(piece, got);
  size_t done = 0;
  uint64_t count = 0;
  std::vector<RankReport> reports;
  while (incoming.size() - done >= sizeof(count)) {
    std::memcpy(&count, incoming.data() + done, sizeof(count));
    size_t begin = done + sizeof(count);
    if ((incoming.size() - begin) / sizeof(RankReport) < count)
      break;
    reports.resize(count);
    done = begin + count * sizeof(RankReport);
    std::memcpy(reports.data(), incoming.data() + begin, done - begin);
    visit(reports);
  }
  incoming.erase(0, done);
}

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

/// Seconds that speakers have to reach rank 0, and rank 0 to hear of them.
static constexpr double toReach = 8, toHear = 10;

namespace {
/// What a speaker says first; rank 0 answers by the word.
struct Greeting {
  char word[32];
  int64_t rank;
};
} // namespace

static std::string textOf(const Greeting &greeting) {
  return {reinterpret_cast<const char *>(&greeting), sizeof(greeting)};
}

/// A socket for each speaker, by rank 0; -1 for those that did not come.
static std::vector<int> hearAll(int listener, const std::string &word,
                                const std::vector<int> &speakers) {
  std::vector<int> sockets(speakers.size(), -1);
  Deadline deadline(toHear);
  for (size_t missing = speakers.size(); missing != 0;) {
    int socket = acceptBefore(listener, deadline);
    if (socket < 0)
      break;
    Greeting greeting;
    std::string text(sizeof(greeting), '\0');
    // Anybody may connect; who does not speak soon is none of the job's.
    bool isHeard = receiveBefore(socket, text, Deadline(1));
    std::memcpy(&greeting, text.data(), sizeof(greeting));
    auto found = std::find(speakers.begin(), speakers.end(), greeting.rank);
    if (!isHeard || std::string_view(greeting.word, word.size()) != word ||
        found == speakers.end() || !sendBefore(socket, word, Deadline(1))) {
      ::close(socket);
      continue;
    }
    sockets[found - speakers.begin()] = socket;
    --missing;
  }
  return sockets;
}

/// The socket to rank 0, by another speaker; -1 where no address leads there.
static int reachFirst(const Invitation &invitation, int rank) {
  Deadline deadline(toReach);
  for (const std::string &address : invitation.addresses) {
    int socket = connectBefore(address, invitation.port, Deadline(2));
    if (socket < 0)
      continue;
    Greeting greeting{{}, rank};
    std::copy(invitation.word.begin(), invitation.word.end(), greeting.word);
    std::string answer(invitation.word.size(), '\0');
    // Nodes may have the same address, each for itself.
    if (sendBefore(socket, textOf(greeting), deadline) &&
        receiveBefore(socket, answer, deadline) && answer == invitation.word)
      return socket;
    ::close(socket);
  }
  return -1;
}

std::unique_ptr<NodeLinks> NodeLinks::connect(World &world,
                                              std::span<const int> speaker) {
  std::set<int> all(speaker.begin(), speaker.end());
  std::vector<int> others(std::next(all.begin()), all.end());
  auto links = std::make_unique<NodeLinks>();
  links->numNodes = static_cast<int>(all.size());
  int listener = -1;
  Invitation invitation;
  if (world.isRoot()) {
    invitation = Invitation::make(sizeof(Greeting::word));
    listener = listenAnywhere(invitation.port);
  }
  invitation = Invitation::parse(world.broadcast(invitation.text()));
  bool isReached = true;
  if (world.isRoot()) {
    std::vector<int> sockets = hearAll(listener, invitation.word, others);
    for (size_t i = 0; i < others.size(); ++i) {
      isReached &= sockets[i] >= 0;
      if (sockets[i] < 0)
        continue;
      Peer peer{others[i], std::make_unique<NodeLink>(sockets[i]), {}};
      for (size_t rank = 0; rank < speaker.size(); ++rank)
        if (speaker[rank] != others[i])
          peer.told.push_back(static_cast<int>(rank));
      links->peers.push_back(std::move(peer));
    }
    if (listener >= 0)
      ::close(listener);
  } else if (all.contains(world.rank())) {
    int socket = reachFirst(invitation, world.rank());
    isReached = socket >= 0;
    Peer peer{0, isReached ? std::make_unique<NodeLink>(socket) : nullptr, {}};
    for (size_t rank = 0; rank < speaker.size(); ++rank)
      if (speaker[rank] == world.rank())
        peer.told.push_back(static_cast<int>(rank));
    links->peers.push_back(std::move(peer));
  }
  std::vector<double> missing = {isReached ? 0.0 : 1.0};
  world.maximum(missing);
  return missing[0] == 0 ? std::move(links) : nullptr;
}

//===----------------------------------------------------------------------===//
// From then on
//===----------------------------------------------------------------------===//

void NodeLinks::exchange(const std::function<RankReport(int)> &known,
                         const std::function<void(const RankReport &)> &learn,
                         const std::function<void(int)> &forget) {
  std::vector<RankReport> reports;
  for (Peer &peer : peers) {
    peer.link->receive([&](std::span<const RankReport> received) {
      peer.hasLeft |= received.empty();
      std::for_each(received.begin(), received.end(), learn);
    });
    if (peer.hasLeft) {
      forget(peer.speaker);
      continue;
    }
    reports.clear();
    for (int rank : peer.told)
      reports.push_back(known(rank));
    peer.link->send(reports);
  }
}

void NodeLinks::leave() {
  for (Peer &peer : peers)
    peer.link->send({});
}

double NodeLinks::interval() const {
  return 0.25 * std::max(1.0, numNodes / 16.0);
}

} // namespace shoal::rt

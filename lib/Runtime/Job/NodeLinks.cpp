// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NodeLinks.h"
#include "NodeSockets.h"

#include <algorithm>
#include <cerrno>
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

namespace {
/// Who has connected and is perhaps a speaker: anybody may be there.
struct Stranger {
  int socket;
  std::string said;

  /// Takes what is there; false where nothing more will come.
  bool hear() {
    char piece[sizeof(Greeting)];
    ssize_t got =
        ::recv(socket, piece, sizeof(Greeting) - said.size(), MSG_DONTWAIT);
    if (got > 0)
      said.append(piece, got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }
  bool hasGreeted() const { return said.size() == sizeof(Greeting); }
};

/// Rank 0, which waits for no single one of those that connect.
class Hearing {
public:
  Hearing(int listener, const std::string &word,
          const std::vector<int> &speakers)
      : listener(listener), word(word), speakers(speakers),
        sockets(speakers.size(), -1), missing(speakers.size()) {}
  ~Hearing() {
    for (const Stranger &stranger : strangers)
      ::close(stranger.socket);
  }

  std::vector<int> run() {
    Deadline deadline(toHear);
    while (missing != 0 && listener >= 0 && deadline.milliseconds() != 0)
      look(deadline);
    return sockets;
  }

private:
  /// The oldest makes room for another one: who is a speaker says so at once.
  static constexpr size_t most = 256;

  void look(const Deadline &deadline);
  /// Whether nobody is to be waited for there any more.
  bool hear(Stranger &stranger);

  int listener;
  const std::string &word;
  const std::vector<int> &speakers;
  std::vector<int> sockets;
  size_t missing;
  std::vector<Stranger> strangers;
};
} // namespace

void Hearing::look(const Deadline &deadline) {
  std::vector<pollfd> watched = {{listener, POLLIN, 0}};
  for (const Stranger &stranger : strangers)
    watched.push_back({stranger.socket, POLLIN, 0});
  if (::poll(watched.data(), watched.size(), deadline.milliseconds()) <= 0)
    return;
  for (size_t i = watched.size(); i-- > 1;)
    if (watched[i].revents != 0 && hear(strangers[i - 1]))
      strangers.erase(strangers.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  if (watched[0].revents == 0)
    return;
  int socket = acceptBefore(listener, Deadline(0));
  if (socket < 0)
    return;
  if (strangers.size() == most) {
    ::close(strangers.front().socket);
    strangers.erase(strangers.begin());
  }
  strangers.push_back({socket, {}});
}

bool Hearing::hear(Stranger &stranger) {
  bool isThere = stranger.hear();
  if (isThere && !stranger.hasGreeted())
    return false;
  Greeting greeting{};
  std::memcpy(&greeting, stranger.said.data(), stranger.said.size());
  auto found = std::find(speakers.begin(), speakers.end(), greeting.rank);
  size_t number = found - speakers.begin();
  if (isThere && std::string_view(greeting.word, word.size()) == word &&
      found != speakers.end() && sockets[number] < 0 &&
      sendBefore(stranger.socket, word, Deadline(1))) {
    sockets[number] = stranger.socket;
    --missing;
  } else {
    ::close(stranger.socket);
  }
  return true;
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
    std::vector<int> sockets = Hearing(listener, invitation.word, others).run();
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

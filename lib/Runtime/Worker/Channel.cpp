// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Channel.h"
#include "../Run/HostCallMessages.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace shoal::rt::worker {

using support::Error;
using support::Status;

int64_t Received::word(size_t index) const {
  int64_t value;
  std::memcpy(&value, body.data() + index * sizeof(value), sizeof(value));
  return value;
}

std::string_view Received::textBehind(size_t numWords) const {
  return std::string_view(body.data(), body.size())
      .substr(numWords * sizeof(int64_t));
}

/// The launcher ends the other workers.
[[noreturn]] static void leave() { ::_exit(1); }

/// A step may wait for messages of others for any time: a thread looks.
static void watchParent(int socket) {
  std::thread([socket] {
    pollfd watched{socket, POLLRDHUP, 0};
    while (::poll(&watched, 1, /*timeout=*/-1) < 0 && errno == EINTR) {
    }
    leave();
  }).detach();
}

static bool isOfSameUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::getuid();
}

Status Channel::connect(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof(address.sun_path))
    return Error{"the parent's name is too long"};
  // An abstract name begins with a zero, and has no file.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 ||
      ::connect(socket, reinterpret_cast<sockaddr *>(&address), length) != 0)
    return Error{std::string("cannot reach the parent: ") +
                 std::strerror(errno)};
  if (!isOfSameUser(socket))
    return Error{"the parent is a process of another user"};
  watchParent(socket);
  return std::nullopt;
}

/// Seconds in which a parent's address answers.
static constexpr double toConnect = 5;

Status Channel::reach(const Invitation &invitation, int64_t seconds) {
  size_t half = invitation.word.size() / 2;
  std::string mine = invitation.word.substr(0, half),
              theirs = invitation.word.substr(half);
  for (const std::string &place : invitation.addresses) {
    socket = connectBefore(place, invitation.port, Deadline(toConnect));
    if (socket < 0)
      continue;
    std::string answer(theirs.size(), '\0');
    if (sendBefore(socket, mine, Deadline(toConnect)) &&
        receiveBefore(socket, answer, Deadline(toConnect)) &&
        answer == theirs) {
      keepAlive(socket, seconds);
      watchParent(socket);
      return std::nullopt;
    }
    ::close(socket);
  }
  std::string places;
  for (const std::string &place : invitation.addresses)
    places += " " + place;
  return Error{"cannot reach the process that has started the devices, at" +
               places + ", port " + std::to_string(invitation.port)};
}

/// The first bytes of a message, with which a file may come.
static bool receiveHeader(int socket, Header &header, int &file) {
  iovec place{&header, sizeof(header)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t count;
  do
    count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count <= 0)
    return false;
  cmsghdr *first = CMSG_FIRSTHDR(&message);
  if (first && first->cmsg_level == SOL_SOCKET &&
      first->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file, CMSG_DATA(first), sizeof(file));
  return receiveAll(socket, reinterpret_cast<char *>(&header) + count,
                    sizeof(header) - count);
}

void Channel::receive(Received &received) {
  Header header;
  received.file = -1;
  if (!receiveHeader(socket, header, received.file))
    leave();
  received.message = static_cast<Message>(header.message);
  received.body.resize(header.bytes);
  if (!receiveAll(socket, received.body.data(), received.body.size()))
    leave();
}

void Channel::sendHeader(Message message, size_t bytes) {
  Header header{static_cast<int64_t>(message), static_cast<int64_t>(bytes)};
  if (!sendAll(socket, &header, sizeof(header)))
    leave();
}

void Channel::send(Message message, const std::vector<int64_t> &words) {
  send(message, std::string_view(reinterpret_cast<const char *>(words.data()),
                                 words.size() * sizeof(int64_t)));
}

void Channel::send(Message message, std::string_view text) {
  sendHeader(message, text.size());
  if (!sendAll(socket, text.data(), text.size()))
    leave();
}

} // namespace shoal::rt::worker

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NodeSockets.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

namespace shoal::rt {

int Deadline::milliseconds() const {
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string nodeName() {
  char name[256] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

static socklen_t sizeOf(const sockaddr &address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in)
                                      : sizeof(sockaddr_in6);
}

/// IPv4 in front: it is what nearly all nodes have between them.
static std::vector<std::string> ownAddresses() {
  std::vector<std::string> found, sixes, loops;
  ifaddrs *list = nullptr;
  if (::getifaddrs(&list) != 0)
    return {"127.0.0.1"};
  for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
      continue;
    int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6)
      continue;
    char text[NI_MAXHOST];
    if (::getnameinfo(entry->ifa_addr, sizeOf(*entry->ifa_addr), text,
                      sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    // Addresses of a link alone have its name, which is another one elsewhere.
    if (std::string_view(text).find('%') != std::string_view::npos)
      continue;
    if (entry->ifa_flags & IFF_LOOPBACK)
      loops.emplace_back(text);
    else
      (family == AF_INET ? found : sixes).emplace_back(text);
  }
  ::freeifaddrs(list);
  found.insert(found.end(), sixes.begin(), sixes.end());
  return found.empty() ? loops : found;
}

Invitation Invitation::make(size_t wordBytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::random_device random;
  Invitation made;
  for (size_t i = 0; i < wordBytes; ++i)
    made.word += digits[random() % 16];
  made.addresses = ownAddresses();
  return made;
}

std::string Invitation::text() const {
  std::string text = word + " " + std::to_string(port);
  for (const std::string &address : addresses)
    text += " " + address;
  return text;
}

Invitation Invitation::parse(const std::string &text) {
  Invitation parsed;
  std::istringstream stream(text);
  stream >> parsed.word >> parsed.port;
  for (std::string address; stream >> address;)
    parsed.addresses.push_back(address);
  return parsed;
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

static int openSocket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int portOf(const sockaddr_storage &address) {
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in &>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6 &>(address).sin6_port);
}

/// At both families' addresses where the node has both.
static int bindAnywhere() {
  int both = openSocket(AF_INET6), no = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  if (both >= 0 &&
      ::setsockopt(both, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) == 0 &&
      ::bind(both, reinterpret_cast<sockaddr *>(&six), sizeof(six)) == 0)
    return both;
  if (both >= 0)
    ::close(both);
  int listener = openSocket(AF_INET);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  if (listener >= 0 &&
      ::bind(listener, reinterpret_cast<sockaddr *>(&four), sizeof(four)) == 0)
    return listener;
  if (listener >= 0)
    ::close(listener);
  return -1;
}

int listenAnywhere(int &port) {
  int listener = bindAnywhere();
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (listener < 0)
    return -1;
  if (::listen(listener, SOMAXCONN) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) !=
          0) {
    ::close(listener);
    return -1;
  }
  port = portOf(address);
  return listener;
}

static bool waitFor(int socket, short events, const Deadline &deadline) {
  pollfd watched{socket, events, 0};
  int ready;
  do
    ready = ::poll(&watched, 1, deadline.milliseconds());
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

/// Reports are small and late ones are worth nothing.
static void setQuick(int socket) {
  int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

int acceptBefore(int listener, const Deadline &deadline) {
  if (listener < 0 || !waitFor(listener, POLLIN, deadline))
    return -1;
  int socket =
      ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0)
    setQuick(socket);
  return socket;
}

int connectBefore(const std::string &address, int port,
                  const Deadline &deadline) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints,
                    &found) != 0)
    return -1;
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found,
                                                             &::freeaddrinfo);
  int socket = openSocket(found->ai_family), error = 0;
  if (socket < 0)
    return -1;
  socklen_t size = sizeof(error);
  bool isConnected =
      ::connect(socket, found->ai_addr, found->ai_addrlen) == 0 ||
      (errno == EINPROGRESS && waitFor(socket, POLLOUT, deadline) &&
       ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
       error == 0);
  if (isConnected) {
    setQuick(socket);
    return socket;
  }
  ::close(socket);
  return -1;
}

bool sendBefore(int socket, const std::string &text, const Deadline &deadline) {
  for (size_t done = 0; done < text.size();) {
    ssize_t sent =
        ::send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent > 0)
      done += sent;
    else if (errno == EINTR)
      continue;
    else if (errno != EAGAIN || !waitFor(socket, POLLOUT, deadline))
      return false;
  }
  return true;
}

bool receiveBefore(int socket, std::string &text, const Deadline &deadline) {
  for (size_t done = 0; done < text.size();) {
    ssize_t got = ::recv(socket, text.data() + done, text.size() - done, 0);
    if (got > 0)
      done += got;
    else if (got < 0 && errno == EINTR)
      continue;
    else if (got == 0 || errno != EAGAIN || !waitFor(socket, POLLIN, deadline))
      return false;
  }
  return true;
}

static void setNumber(int socket, int option, int64_t value) {
  int number = static_cast<int>(std::max<int64_t>(value, 1));
  ::setsockopt(socket, IPPROTO_TCP, option, &number, sizeof(number));
}

void keepAlive(int socket, int64_t seconds) {
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  if (seconds == 0)
    return;
  int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
  setNumber(socket, TCP_KEEPIDLE, seconds / 2);
  setNumber(socket, TCP_KEEPINTVL, seconds / 6);
  setNumber(socket, TCP_KEEPCNT, 3);
  // Of what was sent and not acknowledged.
  setNumber(socket, TCP_USER_TIMEOUT, 1000 * seconds);
}

} // namespace shoal::rt

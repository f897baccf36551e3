// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaded into the mpirun of a job on one machine in front of other libraries.
// Open MPI 4's binds its port to all addresses whatever it is told, and one
// byte that a stranger sends there keeps it from ending. What is bound to all
// addresses is bound to the loopback here. The job's processes are without it.

#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/// What comes behind this library in LD_PRELOAD was the user's.
__attribute__((constructor)) static void restoreEnvironment() {
  const char *loaded = std::getenv("LD_PRELOAD");
  const char *others = loaded ? std::strchr(loaded, ':') : nullptr;
  if (others)
    setenv("LD_PRELOAD", others + 1, /*overwrite=*/1);
  else
    unsetenv("LD_PRELOAD");
}

extern "C" __attribute__((visibility("default"))) int
bind(int socket, const sockaddr *address, socklen_t size) noexcept {
  sockaddr_storage changed{};
  if (size > sizeof(changed) || size < sizeof(sa_family_t))
    return static_cast<int>(syscall(SYS_bind, socket, address, size));
  std::memcpy(&changed, address, size);
  auto &four = reinterpret_cast<sockaddr_in &>(changed);
  auto &six = reinterpret_cast<sockaddr_in6 &>(changed);
  if (changed.ss_family == AF_INET && four.sin_addr.s_addr == INADDR_ANY)
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (changed.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr))
    six.sin6_addr = in6addr_loopback;
  return static_cast<int>(syscall(SYS_bind, socket, &changed, size));
}

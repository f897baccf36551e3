// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One device of a pool: `shoal.launch` starts some under one mpirun; or what
// starts that mpirun, and ends it with the process of Python.

#include "../../lib/Runtime/Job/Launcher.h"
#include "../../lib/Runtime/Worker/Worker.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>

/// Has the command load shoal-loopback.so, which lies beside this program.
static void bindToLoopback() {
  std::string libraries =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() /
      "shoal-loopback.so";
  if (const char *others = std::getenv("LD_PRELOAD"); others && *others)
    libraries += std::string(":") + others;
  setenv("LD_PRELOAD", libraries.c_str(), /*overwrite=*/1);
}

/// Becomes the command.
static int launch(int pipe, char **command) {
  shoal::rt::endLauncherWith(pipe);
  if (std::strcmp(command[0], "--loopback") == 0) {
    bindToLoopback();
    ++command;
  }
  execv(command[0], command);
  std::fprintf(stderr, "error: cannot start %s: %s\n", command[0],
               std::strerror(errno));
  return 127;
}

int main(int argc, char **argv) {
  if (argc == 2 && std::strncmp(argv[1], "--parent=", 9) == 0)
    return shoal::rt::worker::serve(argv[1] + 9);
  if (argc > 3 && std::strncmp(argv[1], "--watch=", 8) == 0)
    return launch(static_cast<int>(std::strtol(argv[1] + 8, nullptr, 10)),
                  argv + 2);
  if (argc == 2 && std::strncmp(argv[1], "--elsewhere=", 12) == 0) {
    char *end = nullptr;
    int64_t seconds = std::strtoll(argv[1] + 12, &end, 10);
    if (*end == '\0')
      return shoal::rt::worker::serveElsewhere(seconds);
  }
  std::fputs(
      "Usage: shoal-worker --parent=NAME\n"
      "       SHOAL_PARENT=... shoal-worker --elsewhere=SECONDS\n"
      "       shoal-worker --watch=PIPE [--loopback] MPIRUN ARGUMENT...\n\n"
      "One device of a pool, see docs/guide/Devices.md. A process of Python "
      "that calls\nshoal.launch starts it under mpirun and listens at "
      "the name, or by TCP where the devices are on several nodes.\n"
      "--watch becomes mpirun, which is ended with its processes when the "
      "pipe's other end is closed, and with --loopback\n"
      "has its ports there alone.\n",
      argc == 2 && std::strcmp(argv[1], "--help") == 0 ? stdout : stderr);
  return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One device of a pool: `shoal.launch` starts some under one mpirun.

#include "../../lib/Runtime/Worker/Worker.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv) {
  if (argc == 2 && std::strncmp(argv[1], "--parent=", 9) == 0)
    return shoal::rt::worker::serve(argv[1] + 9);
  if (argc == 2 && std::strncmp(argv[1], "--elsewhere=", 12) == 0) {
    char *end = nullptr;
    int64_t seconds = std::strtoll(argv[1] + 12, &end, 10);
    if (*end == '\0')
      return shoal::rt::worker::serveElsewhere(seconds);
  }
  std::fputs(
      "Usage: shoal-worker --parent=NAME\n"
      "       SHOAL_PARENT=... shoal-worker --elsewhere=SECONDS\n\n"
      "One device of a pool, see docs/guide/Devices.md. A process of Python "
      "that calls\nshoal.launch starts it under mpirun and listens at "
      "the name, or by TCP where the devices are on several nodes.\n",
      argc == 2 && std::strcmp(argv[1], "--help") == 0 ? stdout : stderr);
  return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
}

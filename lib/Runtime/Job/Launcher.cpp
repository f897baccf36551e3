// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launcher.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace shoal::rt {

/// mpirun ends ranks by SIGTERM and, a second later, by SIGKILL.
static constexpr int patience = 3000; // ms
/// Of Open MPI 4 and 5, on the job's first node and on others.
static constexpr std::array<std::string_view, 6> launchers = {
    "mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"};

static std::string procFile(pid_t process, const char *name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

static std::string nameOf(pid_t process) {
  std::string name;
  std::getline(std::ifstream(procFile(process, "comm")) >> std::ws, name);
  return name;
}

/// 0 if there is none.
static pid_t parentOf(pid_t process) {
  std::ifstream status(procFile(process, "status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:"))
      return static_cast<pid_t>(std::strtol(line.c_str() + 5, nullptr, 10));
  return 0;
}

static pid_t findLauncher() {
  pid_t process = getppid();
  while (process > 1 &&
         std::ranges::find(launchers, nameOf(process)) == launchers.end())
    process = parentOf(process);
  return process > 1 ? process : 0;
}

/// A descriptor that means this process even when its number is another's.
static int open(pid_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

/// Descriptors of those that the launcher has started, this one left out.
static std::vector<int> openChildren(pid_t launcher) {
  std::string number = std::to_string(launcher);
  std::ifstream children(
      procFile(launcher, ("task/" + number + "/children").c_str()));
  std::vector<int> descriptors;
  for (pid_t child = 0; children >> child;)
    if (int descriptor = open(child); child != getpid() && descriptor >= 0)
      descriptors.push_back(descriptor);
  return descriptors;
}

static void signalTo(int descriptor, int signal) {
  syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0);
}

static void kill(int descriptor) { signalTo(descriptor, SIGKILL); }

/// Closes all descriptors but these, of which it sorts the numbers: who reads
/// what this process wrote sees its end.
static void closeOthers(std::vector<int> &kept) {
  std::ranges::sort(kept);
  unsigned begin = 0;
  for (int descriptor : kept) {
    auto number = static_cast<unsigned>(descriptor);
    if (begin < number)
      close_range(begin, number - 1, 0);
    begin = number + 1;
  }
  close_range(begin, ~0U, 0);
}

void makeSureLauncherEnds() {
  pid_t process = findLauncher();
  int launcher = process ? open(process) : -1;
  if (launcher < 0)
    return;
  std::vector<int> processes = openChildren(process);
  std::vector<int> kept = processes;
  kept.push_back(launcher);
  // Without what others do at a fork: threads that this process has may hold
  // locks. From here on no memory is allocated.
  if (_Fork() != 0)
    return;
  setsid();
  closeOthers(kept);
  pollfd ends = {launcher, POLLIN, 0};
  if (poll(&ends, 1, patience) == 0) {
    std::ranges::for_each(processes, kill);
    kill(launcher);
  }
  _exit(0);
}

//===----------------------------------------------------------------------===//
// A launcher whose parent is gone
//===----------------------------------------------------------------------===//

/// How many there were. No other session gets its number while they are there.
static int killSession(pid_t session) {
  int found = 0;
  std::error_code code;
  for (const auto &entry : std::filesystem::directory_iterator("/proc", code)) {
    std::string name = entry.path().filename();
    pid_t process = 0;
    auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || *end != '\0' || getsid(process) != session)
      continue;
    found += ::kill(process, SIGKILL) == 0;
  }
  return found;
}

/// Until the launcher has ended, or the pipe's other end is closed.
static void watch(int pipe, int launcher, pid_t session) {
  pollfd ends[] = {{launcher, POLLIN, 0}, {pipe, POLLIN, 0}};
  while (poll(ends, 2, -1) < 0) {
  }
  if (ends[0].revents != 0)
    return;
  signalTo(launcher, SIGTERM);
  poll(ends, 1, patience);
  // A process that is being started shows up later.
  for (int i = 0; i < 100 && killSession(session) != 0; ++i)
    usleep(10'000);
}

void endLauncherWith(int pipe) {
  pid_t session = getpid();
  int launcher = open(session);
  pid_t child = launcher < 0 ? -1 : fork();
  if (child > 0)
    waitpid(child, nullptr, 0);
  if (child == 0) {
    if (fork() != 0)
      _exit(0);
    setsid();
    std::vector<int> kept = {pipe, launcher};
    closeOthers(kept);
    watch(pipe, launcher, session);
    _exit(0);
  }
  close(launcher);
  close(pipe);
}

} // namespace shoal::rt

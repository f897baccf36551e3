// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Isolation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace shoal::fuzz;
using llvm::StringRef;
using Clock = std::chrono::steady_clock;

namespace {

/// What a child tells, a line each: 'b' ITEM begins, 's' STAGE begins, 'e'
/// TEXT ends the item.
void send(int channel, char kind, StringRef text) {
  std::string line = kind + text.str();
  llvm::replace(line, '\n', '\v');
  line += '\n';
  for (StringRef rest = line; !rest.empty();) {
    ssize_t written = write(channel, rest.data(), rest.size());
    if (written <= 0)
      _exit(3); // The parent is gone.
    rest = rest.drop_front(written);
  }
}

/// A process that works on [next, end).
class Child {
public:
  Child(uint64_t begin, uint64_t end,
        llvm::function_ref<std::string(uint64_t, Observer)> work)
      : next(begin), end(end), stderrFile(tmpfile()) {
    int ends[2];
    if (!stderrFile || pipe(ends) != 0)
      fail("pipe");
    fflush(nullptr);
    process = fork();
    if (process < 0)
      fail("fork");
    if (process == 0) {
      close(ends[0]);
      dup2(fileno(stderrFile), STDERR_FILENO);
      for (uint64_t item = begin; item < end; ++item) {
        // What is there at the end is this item's.
        if (ftruncate(STDERR_FILENO, 0) == 0)
          lseek(STDERR_FILENO, 0, SEEK_SET);
        send(ends[1], 'b', llvm::utostr(item));
        send(ends[1], 'e',
             work(item, [&](StringRef stage) { send(ends[1], 's', stage); }));
      }
      _exit(0);
    }
    close(ends[1]);
    channel = ends[0];
    touched = Clock::now();
  }
  ~Child() {
    if (process > 0) { // -1 would be every process there is
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    close(channel);
    fclose(stderrFile);
  }
  Child(const Child &) = delete;

  bool isLate(unsigned seconds) const {
    return Clock::now() - touched > std::chrono::seconds(seconds);
  }

  /// Reads what there is; false at the end. Calls `done` for each line that
  /// ends an item.
  bool read(llvm::function_ref<void(const Outcome &)> done) {
    char bytes[4096];
    ssize_t count = ::read(channel, bytes, sizeof(bytes));
    if (count <= 0)
      return count < 0 && errno == EINTR;
    pending.append(bytes, count);
    size_t newline;
    while ((newline = pending.find('\n')) != std::string::npos) {
      std::string line = pending.substr(0, newline);
      pending.erase(0, newline + 1);
      take(line, done);
    }
    return true;
  }

  /// After the end, or to end it: why the item at hand did not finish.
  Outcome abandon(bool isHang) {
    if (isHang && process > 0)
      kill(process, SIGKILL);
    int status = 0;
    waitpid(process, &status, 0);
    process = -1;
    current.item = next;
    current.isFinished = false;
    current.text = isHang ? "hang" : describe(status);
    ++next;
    return current;
  }

  uint64_t next, end;
  int channel = -1;

private:
  [[noreturn]] static void fail(const char *what) {
    perror(what);
    exit(2);
  }

  void take(StringRef line, llvm::function_ref<void(const Outcome &)> done) {
    touched = Clock::now();
    std::string text = line.drop_front().str();
    llvm::replace(text, '\v', '\n');
    if (line[0] == 's') {
      current.stage = text;
    } else if (line[0] == 'b') {
      current = Outcome();
      current.item = next;
    } else {
      ++next;
      current.isFinished = true;
      current.text = text;
      done(current);
    }
  }

  /// "crash: signal 6: x.cpp:3: f: Assertion `...' failed."
  std::string describe(int status) {
    std::string text = WIFSIGNALED(status)
                           ? "signal " + std::to_string(WTERMSIG(status))
                           : "exit " + std::to_string(WEXITSTATUS(status));
    lseek(fileno(stderrFile), 0, SEEK_SET);
    std::string log(1 << 16, '\0');
    ssize_t count = ::read(fileno(stderrFile), log.data(), log.size());
    log.resize(std::max<ssize_t>(count, 0));
    llvm::SmallVector<StringRef> lines;
    StringRef(log).split(lines, '\n');
    for (StringRef word :
         {"Assertion", "LLVM ERROR", "runtime error:", "ERROR: "})
      for (StringRef line : lines)
        if (line.contains(word))
          return "crash: " + text + ": " + line.str();
    return "crash: " + text;
  }

  FILE *stderrFile;
  pid_t process = -1;
  std::string pending;
  Outcome current;
  Clock::time_point touched;
};

} // namespace

void shoal::fuzz::runIsolated(
    uint64_t begin, uint64_t end, const IsolationOptions &options,
    llvm::function_ref<std::string(uint64_t, Observer)> work,
    llvm::function_ref<bool(const Outcome &)> done) {
  std::vector<std::unique_ptr<Child>> children;
  uint64_t next = begin;
  // All jobs have something to do.
  uint64_t batch = std::clamp<uint64_t>(
      llvm::divideCeil(end - begin, options.jobs), 1, options.batch);
  bool goesOn = true;
  auto report = [&](const Outcome &outcome) { goesOn &= done(outcome); };
  while (goesOn && (next < end || !children.empty())) {
    while (children.size() < options.jobs && next < end) {
      uint64_t last = std::min<uint64_t>(end, next + batch);
      children.push_back(std::make_unique<Child>(next, last, work));
      next = last;
    }
    std::vector<pollfd> polled;
    polled.reserve(children.size());
    for (auto &child : children)
      polled.push_back({child->channel, POLLIN, 0});
    poll(polled.data(), polled.size(), /*milliseconds=*/500);
    for (auto [child, poll] : llvm::zip_equal(children, polled)) {
      // One that has something to tell does not hang: `done` may take long.
      bool isHang = !poll.revents && child->isLate(options.secondsPerItem);
      if (!isHang && (!poll.revents || child->read(report)))
        continue;
      if (child->next == child->end) {
        child.reset();
        continue;
      }
      report(child->abandon(isHang));
      uint64_t from = child->next, to = child->end;
      child.reset();
      if (from < to)
        child = std::make_unique<Child>(from, to, work);
    }
    llvm::erase(children, nullptr);
  }
}

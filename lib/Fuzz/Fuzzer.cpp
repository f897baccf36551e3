// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Fuzzer.h"
#include "Report.h"
#include "shoal/Fuzz/Shrink.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <optional>

using namespace mlir;
using namespace shoal::fuzz;

using List = std::vector<uint32_t>;
using Clock = std::chrono::steady_clock;

Program shoal::fuzz::makeProgram(MLIRContext &context,
                                 const Generators &generators, uint64_t seed) {
  Choices choices(mix(seed));
  return generators.makeProgram(context, choices);
}

namespace {

class Fuzzer {
public:
  Fuzzer(MLIRContext &context, const FuzzOptions &options)
      : context(context), options(options) {}

  bool run() {
    runIsolated(
        options.firstSeed, options.lastSeed + 1, options.isolation,
        [&](uint64_t seed, Observer observe) {
          Choices choices(mix(seed));
          return check(choices, observe, optionsOf(seed)).encode();
        },
        [&](const Outcome &outcome) {
          ItemReport item = ItemReport::decode(outcome);
          bool isNew = report.add(outcome.item, item);
          // What crashes a generator would crash this process.
          bool isMade = !StringRef(item.signature).starts_with("generate");
          if (isNew && options.shrink && isMade)
            writeSmall(outcome.item, item);
          return options.maxFailures == 0 ||
                 report.numFailures() < options.maxFailures;
        });
    report.printSummary(llvm::outs());
    return report.numFailures() == 0;
  }

private:
  ItemReport check(Choices &choices, Observer observe,
                   const CheckOptions &how) {
    observe("generate");
    Program program = options.generators.makeProgram(context, choices);
    return check(program, observe, how);
  }

  ItemReport check(Program &program, Observer observe,
                   const CheckOptions &how) {
    ItemReport item;
    if (auto finding = checkProgram(program, how, observe, item.census)) {
      item.signature = finding->signature();
      item.message = finding->stage + ": " + finding->message;
    }
    return item;
  }

  CheckOptions optionsOf(uint64_t seed) const {
    CheckOptions own = options.check;
    own.inputSeed = seed;
    own.execute = options.executeEvery > 0 && seed % options.executeEvery == 0;
    return own;
  }

  /// How what `work` makes and checks ends, in a process of its own.
  std::string
  signatureOf(uint64_t seed,
              llvm::function_ref<ItemReport(Observer observe)> work) {
    std::string signature;
    IsolationOptions alone = options.isolation;
    alone.jobs = 1;
    runIsolated(
        seed, seed + 1, alone,
        [&](uint64_t, Observer observe) { return work(observe).encode(); },
        [&](const Outcome &outcome) {
          signature = ItemReport::decode(outcome).signature;
          return true;
        });
    return signature;
  }

  /// A program is checked again for each step, and may be compiled, run by many
  /// processes, or waited for until it counts as hanging: no step begins once
  /// time is up.
  void writeSmall(uint64_t seed, const ItemReport &item) {
    constexpr unsigned maxTries = 3000;
    CheckOptions how = upTo(item.stage(), optionsOf(seed));
    Clock::time_point end =
        Clock::now() + std::chrono::seconds(options.shrinkSeconds);
    auto failsAgain = [&](llvm::function_ref<ItemReport(Observer)> work) {
      return Clock::now() < end && item.signature == signatureOf(seed, work);
    };
    auto replay = [&](List list) {
      Choices choices(std::move(list));
      options.generators.makeProgram(context, choices);
      return choices;
    };
    Choices whole(mix(seed));
    options.generators.makeProgram(context, whole);
    List small = shrink(
        whole.getDrawn().vec(), replay,
        [&](const List &list) {
          return failsAgain([&](Observer observe) {
            Choices choices(list);
            return check(choices, observe, how);
          });
        },
        maxTries);
    Choices choices(small);
    Program program = options.generators.makeProgram(context, choices);
    reduce(program, [&](const Program &candidate) {
      return failsAgain([&](Observer observe) {
        Program copy = candidate.clone();
        return check(copy, observe, how);
      });
    });
    write(seed, item.signature, program, /*isTimeUp=*/Clock::now() >= end);
  }

  void write(uint64_t seed, const std::string &signature,
             const Program &program, bool isTimeUp) {
    SmallString<128> path(options.outputDirectory);
    std::error_code error = llvm::sys::fs::create_directories(path);
    llvm::sys::path::append(path, "seed-" + std::to_string(seed) + ".mlir");
    std::optional<llvm::raw_fd_ostream> os;
    if (!error)
      os.emplace(path, error);
    if (error) {
      llvm::errs() << "error: " << path << ": " << error.message() << '\n';
      return;
    }
    *os << "// " << signature << "\n";
    Operation *module = program.module.get();
    module->print(*os);
    *os << "\n";
    llvm::outs() << "  shrunk to " << path
                 << (isTimeUp ? "; time is up, a smaller one may fail" : "")
                 << '\n';
    llvm::outs().flush();
  }

  MLIRContext &context;
  const FuzzOptions &options;
  RunReport report{"seed", options.census};
};

} // namespace

bool shoal::fuzz::fuzz(MLIRContext &context, const FuzzOptions &options) {
  return Fuzzer(context, options).run();
}

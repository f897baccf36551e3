// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledKernels.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Machine/StepTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ToolOutputFile.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

using namespace shoal;
using namespace shoal::bench;
using llvm::StringRef;
using support::Error;
using support::Result;
using support::Status;

namespace {

/// A kernel of `T`, of f32; what it is made of is what models have most of.
struct Source {
  const char *name, *type, *inputs, *body;
};

} // namespace

static constexpr Source kSources[] = {
    {"softmax", "tensor<512x256xf32>", "%x: T",
     "%y = shoal.softmax %x {axis = 1} : T\n"},
    {"silu", "tensor<512x256xf32>", "%x: T",
     "%n = arith.negf %x : T\n%e = math.exp %n : T\n"
     "%one = arith.constant dense<1.0> : T\n%d = arith.addf %one, %e : T\n"
     "%y = arith.divf %x, %d : T\n"},
    {"norm", "tensor<512x256xf32>", "%x: T",
     "%q = arith.mulf %x, %x : T\n"
     "%s = shoal.reduce sum %q dims = [1] : T -> tensor<512xf32>\n"
     "%b = shoal.broadcast_in_dim %s dims = [0] : tensor<512xf32> -> T\n"
     "%r = math.rsqrt %b : T\n%y = arith.mulf %x, %r : T\n"},
    {"update", "tensor<256x512xf32>", "%w: T, %g: T, %m: T, %v: T",
     "%c = arith.constant dense<0.9> : T\n%m0 = arith.mulf %m, %c : T\n"
     "%m1 = arith.addf %m0, %g : T\n%q = arith.mulf %g, %g : T\n"
     "%v0 = arith.mulf %v, %c : T\n%v1 = arith.addf %v0, %q : T\n"
     "%r = math.sqrt %v1 : T\n%a = arith.addf %r, %c : T\n"
     "%d = arith.divf %m1, %a : T\n%y = arith.subf %w, %d : T\n"},
    {"transpose", "tensor<512x512xf32>", "%x: T",
     "%t = shoal.transpose %x permutation = [1, 0] : T -> T\n"
     "%y = arith.addf %t, %t : T\n"}};

static std::string textOf(const Source &source) {
  std::string text =
      llvm::formatv("func.func @main({0}) -> T {{\n{1}return %y : T\n}\n",
                    source.inputs, source.body);
  for (size_t at; (at = text.find('T')) != std::string::npos;)
    text.replace(at, 1, source.type);
  return text;
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// What is run is of one device, and no rank of this job.
static std::vector<StringRef> environmentOfOneDevice() {
  std::vector<StringRef> kept = {"OMPI_MCA_ess_singleton_isolated=1"};
  for (char **each = environ; *each; ++each) {
    StringRef variable = *each;
    if (!variable.starts_with("OMPI_") && !variable.starts_with("PMI") &&
        !variable.starts_with("ORTE_"))
      kept.push_back(variable);
  }
  return kept;
}

/// The first of `arguments` is the program.
static Status execute(llvm::ArrayRef<StringRef> arguments) {
  std::vector<StringRef> environment = environmentOfOneDevice();
  std::string why;
  std::optional<StringRef> nowhere[] = {StringRef(), StringRef(), std::nullopt};
  int code = llvm::sys::ExecuteAndWait(
      arguments.front(), arguments, llvm::ArrayRef<StringRef>(environment),
      nowhere, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  if (code == 0)
    return std::nullopt;
  return Error{arguments.front().str() + " ended with " + std::to_string(code) +
               (why.empty() ? "" : ": " + why)};
}

static Status writeText(StringRef path, StringRef text) {
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return Error{"cannot write " + path.str() + ": " + error.message()};
  file.os() << text;
  file.keep();
  return std::nullopt;
}

static Result<llvm::json::Value> readJson(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return Error{"cannot read " + path.str()};
  auto value = llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    return Error{path.str() + ": " + llvm::toString(value.takeError())};
  return std::move(*value);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Result<CompiledKernels> CompiledKernels::compile(rt::World &world) {
  CompiledKernels compiled(world);
  Status failed;
  if (world.isRoot())
    failed = compiled.compileAll();
  if (Status any = world.agree(failed))
    return *any;
  compiled.folder = world.broadcast(compiled.folder);
  if (!world.isRoot())
    for (const Source &source : kSources)
      compiled.kernels.push_back({source.name, {}});
  return compiled;
}

CompiledKernels::~CompiledKernels() {
  if (!folder.empty() && world->isRoot())
    std::ignore = llvm::sys::fs::remove_directories(folder);
}

std::string CompiledKernels::pathOf(StringRef name) const {
  return folder + "/" + name.str();
}

/// What the simulation counts is read from it; on which machine is all one.
static Cluster someCluster() {
  Cluster cluster;
  cluster.name = "any";
  cluster.chip.memory = cluster.chip.memoryBandwidth = 1e9;
  cluster.chip.flops["f32"] = 1e9;
  Level level;
  level.name = "any";
  level.bandwidth = 1e9;
  cluster.levels = {level};
  return cluster;
}

Status CompiledKernels::compileAll() {
  std::string self = llvm::sys::fs::getMainExecutable("shoal-bench", nullptr);
  std::string shoalc = llvm::sys::path::parent_path(self).str() + "/shoalc";
  llvm::SmallString<64> path;
  if (auto error = llvm::sys::fs::createUniqueDirectory("shoal-bench", path))
    return Error{"cannot make a folder for kernels: " + error.message()};
  folder = path.str().str();
  std::string machine = pathOf("any.toml"), stats = pathOf("stats.json");
  if (Status failed = writeText(machine, writeCluster(someCluster())))
    return failed;
  for (const Source &source : kSources) {
    std::string program = pathOf(source.name), text = program + ".mlir";
    if (Status failed = writeText(text, textOf(source)))
      return failed;
    if (Status failed = execute({shoalc, text, "-o", program,
                                 "--simulate=" + machine, "--stats=" + stats}))
      return failed;
    Result<llvm::json::Value> read = readJson(stats);
    if (!read)
      return read.error();
    Kernel kernel{source.name, {}};
    const llvm::json::Object *step =
        read->getAsObject()->getObject("predicted");
    for (const llvm::json::Value &each : *step->getArray("tasks")) {
      const llvm::json::Object &task = *each.getAsObject();
      kernel.tasks.push_back(
          {*task.getInteger("bytes"), *task.getNumber("operations")});
    }
    kernels.push_back(std::move(kernel));
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

Status CompiledKernels::pass() {
  for (Kernel &kernel : kernels) {
    std::string program = pathOf(kernel.name),
                stats = program + "-" + std::to_string(world->rank()) + ".json";
    world->barrier();
    Status failed = execute({program, "--random-inputs=1", "--warmup=2",
                             "--repeat=200", "--stats=" + stats});
    if (Status any = world->agree(failed))
      return any;
    Result<llvm::json::Value> read = readJson(stats);
    if (Status any = world->agree(read ? Status() : read.error()))
      return any;
    std::vector<double> least = {
        *read->getAsObject()->getObject("step_seconds")->getNumber("min")};
    world->maximum(least);
    kernel.seconds = std::min(kernel.seconds, least[0]);
  }
  return std::nullopt;
}

double CompiledKernels::priceOf(const Chip &chip, const Kernel &kernel) {
  double seconds = 0;
  for (const Task &task : kernel.tasks)
    seconds += inSeconds(priceKernel(chip, task.bytes, task.operations).time);
  return seconds;
}

double CompiledKernels::errorOf(const Chip &chip) const {
  double sum = 0;
  for (const Kernel &kernel : kernels)
    sum += std::abs(std::log(priceOf(chip, kernel) / kernel.seconds));
  return sum;
}

void CompiledKernels::fit(Chip &chip) const {
  Chip tried = chip;
  double least = std::numeric_limits<double>::infinity();
  // From 1e8 to 1e13.
  for (int step = 0; step < 582; ++step) {
    double rate = 1e8 * std::pow(1.02, step);
    tried.elementwiseFlops = rate;
    if (double error = errorOf(tried); error < least)
      std::tie(least, chip.elementwiseFlops) = std::pair(error, rate);
  }
}

void CompiledKernels::print(const Chip &chip, llvm::raw_ostream &os) const {
  os << "kernel         measured us   by the file   of it\n";
  for (const Kernel &kernel : kernels) {
    double price = priceOf(chip, kernel);
    os << llvm::formatv("{0,-12}{1,14:F2}{2,14:F2}{3,8:F2}\n", kernel.name,
                        kernel.seconds * 1e6, price * 1e6,
                        price / kernel.seconds);
  }
}

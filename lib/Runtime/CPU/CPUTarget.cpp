// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CPUTarget.h"
#include "../Memory/Scratch.h"
#include "../Program/Calls.h"
#include "../Program/Fatal.h"
#include "BLAS.h"
#include "DescribeProducts.h"
#include "Device.h"
#include "ThreadCount.h"
#include "Threads.h"
#include "shoal/LinearAlgebra/BLASKernels.h"
#include "shoal/Runtime/ABI.h"

#include <algorithm>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

// OpenBLAS alone has them; another BLAS has variables of its own for threads.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
char *openblas_get_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}
// NOLINTEND(readability-identifier-naming)

namespace shoal::rt {

std::unique_ptr<Target> makeTarget() {
  lapack::prepareBLAS({openblas_set_num_threads, openblas_get_corename,
                       gotoblas_dynamic_init, gotoblas_dynamic_quit});
  return std::make_unique<CPUTarget>();
}

std::string CPUTarget::describe(const Program &program) const {
  return describeProducts(program);
}

bool CPUTarget::allocateShards(const std::vector<Tensor> &tensors,
                               std::vector<GuardedBuffer> &shards) const {
  for (const Tensor &tensor : tensors) {
    if (tensor.donor || tensor.offset) {
      shards.emplace_back();
      continue;
    }
    shards.emplace_back(tensor.localBytes(), /*hasZones=*/checked != nullptr);
    if (!shards.back())
      return false;
    std::memset(shards.back().get(), 0, tensor.localBytes());
  }
  return true;
}

bool CPUTarget::allocateShared(const Program &program) {
  if (program.sharedBytes == 0)
    return true;
  shared = {program.sharedBytes, /*hasZones=*/checked != nullptr};
  if (shared)
    std::memset(shared.get(), 0, program.sharedBytes);
  return static_cast<bool>(shared);
}

/// What keeps a process from more memory: its own limit, where it has one.
static std::string describeLimit() {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    return "; the address space of a process is limited to " +
           formatBytes(static_cast<double>(space.rlim_cur)) + " (ulimit -v)";
  return "";
}

/// Groups' products are planned when their rows are counted.
static bool usesBLAS(const ProductInfo &product) {
  if (product.isRagged)
    return true;
  calls::ProductPlan plan = decode<EinsumCall>(product.desc.data()).plan;
  return plan.gemm && plan.gemm->library == calls::ProductLibrary::BLAS;
}

Status CPUTarget::allocateAll(World &world, const Program &program,
                              bool hasShards) {
  bytes = totalBytes(program);
  auto perDevice = static_cast<double>(bytes);
  int neighbours = world.ranksOnNode();
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<double>(sysconf(_SC_PAGESIZE));
  // The system promises memory that it has not; better to fail now than to be
  // killed in the middle of a step.
  bool fits = perDevice * neighbours <= memory;
  if (fits) {
    arena = {program.arenaBytes, /*hasZones=*/checked != nullptr};
    fits = arena && (hasShards || (allocateShards(program.inputs, inputs) &&
                                   allocateShards(program.outputs, outputs) &&
                                   allocateShared(program)));
  }
  if (!fits)
    return Error{"not enough memory: " + program.name + " needs " +
                 formatBytes(perDevice) + " for each of the " +
                 std::to_string(neighbours) +
                 " devices on a machine, which has " + formatBytes(memory) +
                 describeLimit()};
  if (std::none_of(program.products.begin(), program.products.end(), usesBLAS))
    return std::nullopt;
  Status failed;
  if (shoal_rt_blas_prepare)
    shoal_rt_blas_prepare(failed);
  if (failed)
    return Error{failed->message + " for the products of " + program.name +
                 describeLimit()};
  return std::nullopt;
}

static std::vector<void *> pointers(const std::vector<GuardedBuffer> &buffers) {
  std::vector<void *> pointers;
  pointers.reserve(buffers.size());
  for (const GuardedBuffer &buffer : buffers)
    pointers.push_back(buffer.get());
  return pointers;
}

/// Those that have no memory of their own.
void CPUTarget::placeOutputs(const Program &program) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &output = program.outputs[i];
    if (output.donor)
      outputPointers[i] = inputPointers[*output.donor];
    else if (output.offset)
      outputPointers[i] = shared.get() + *output.offset;
  }
}

Status CPUTarget::prepare(World &world, const Program &program,
                          const Options &options) {
  if (options.checkMemory)
    checked = &program;
  Scratch::setGuarded(options.checkMemory);
  Result<int> count = countThreads(world, options.threads);
  setThreads(count ? *count : 1);
  if (Status failed = allocateAll(world, program, options.callerHasShards))
    return failed;
  if (!count)
    return count.error();
  inputPointers = pointers(inputs);
  outputPointers = pointers(outputs);
  placeOutputs(program);
  Device::get().setUp(program.meshes, world.rank());
  return std::nullopt;
}

Status CPUTarget::upload(size_t input, const Fill &fill) {
  return fill(inputs[input].get());
}

Status CPUTarget::keepDonated(const Program &program) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!program.inputs[i].donated)
      continue;
    size_t count = program.inputs[i].localBytes();
    Buffer copy = allocate(count);
    if (!copy)
      return Error{"not enough memory: a copy of the donated input \"" +
                   program.inputs[i].name + "\", which is kept for the next " +
                   "step, needs " + formatBytes(static_cast<double>(count))};
    std::memcpy(copy.get(), inputs[i].get(), count);
    donated.push_back({i, count, std::move(copy)});
    bytes += count;
  }
  return std::nullopt;
}

void CPUTarget::restoreDonated() {
  if (consumed)
    for (const Kept &kept : donated)
      std::memcpy(inputs[kept.input].get(), kept.copy.get(), kept.bytes);
  consumed = false;
}

void CPUTarget::checkMemory(const Program &program) const {
  expectUntouched(arena, "the arena");
  auto expectAll = [](const std::vector<GuardedBuffer> &shards,
                      const std::vector<Tensor> &tensors, const char *what) {
    for (size_t i = 0; i < shards.size(); ++i)
      expectUntouched(shards[i], what + (" \"" + tensors[i].name + "\""));
  };
  expectAll(inputs, program.inputs, "the input");
  expectAll(outputs, program.outputs, "the result");
  expectUntouched(shared, "the results");
}

void CPUTarget::step() {
  consumed = true;
  if (checked) { // what a step reads there it has written
    arena.spoil();
    shared.spoil();
  }
  shoal_program_entry(inputPointers.data(), outputPointers.data(), arena.get(),
                      shared.get());
  if (checked)
    checkMemory(*checked);
}

Status CPUTarget::download(size_t output, const Use &use) {
  return use(outputPointers[output]);
}

/// The caller's memory that outputs share, if theirs lie there as the program
/// wants them to, and nothing else does.
static char *findShared(const Program &program, void *const *inputs,
                        void *const *outputs) {
  char *shared = nullptr;
  for (size_t i = 0; i < program.outputs.size(); ++i)
    if (std::optional<size_t> offset = program.outputs[i].offset) {
      char *begin = static_cast<char *>(outputs[i]) - *offset;
      if ((shared && begin != shared) ||
          reinterpret_cast<uintptr_t>(begin) % 64 != 0)
        return nullptr;
      shared = begin;
    }
  auto isApart = [&](const Tensor &tensor, void *memory) {
    char *begin = static_cast<char *>(memory);
    return tensor.offset || begin >= shared + program.sharedBytes ||
           begin + tensor.localBytes() <= shared;
  };
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (!isApart(program.inputs[i], inputs[i]))
      return nullptr;
  for (size_t i = 0; i < program.outputs.size(); ++i)
    if (!isApart(program.outputs[i], outputs[i]))
      return nullptr;
  return shared;
}

/// The arrays are the caller's: a step writes over copies of donated ones.
void CPUTarget::copyDonated(const Program &program, void *const *given) {
  inputs.resize(program.inputs.size());
  inputPointers.assign(given, given + program.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &input = program.inputs[i];
    if (!input.donated)
      continue;
    if (!inputs[i])
      inputs[i] = {input.localBytes(), /*hasZones=*/false};
    // Other ranks are in the step by now.
    if (!inputs[i])
      fatal("not enough memory: a copy of the donated input \"" + input.name +
            "\" needs " + formatBytes(static_cast<double>(input.localBytes())));
    std::memcpy(inputs[i].get(), given[i], input.localBytes());
    inputPointers[i] = inputs[i].get();
  }
}

Status CPUTarget::stepOn(const Program &program, void *const *given,
                         void *const *made) {
  copyDonated(program, given);
  char *piece = findShared(program, given, made);
  bool isApart = !piece && program.sharedBytes != 0;
  if (isApart) {
    if (!shared && !allocateShared(program))
      fatal("not enough memory: outputs that are copied to the caller's arrays "
            "need " +
            formatBytes(static_cast<double>(program.sharedBytes)));
    piece = shared.get();
  }
  shoal_program_entry(inputPointers.data(), made, arena.get(), piece);
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor &output = program.outputs[i];
    if (output.donor)
      std::memcpy(made[i], inputPointers[*output.donor], output.localBytes());
    else if (output.offset && isApart)
      std::memcpy(made[i], piece + *output.offset, output.localBytes());
  }
  return std::nullopt;
}

Status CPUTarget::stepInPlace(const Program &, void *const *given,
                              void *const *made, char *piece) {
  shoal_program_entry(given, made, arena.get(), piece);
  return std::nullopt;
}

void CPUTarget::release() { Device::get().freeGroups(); }

size_t CPUTarget::deviceBytes() const { return bytes; }

int CPUTarget::threadsPerRank() const { return threads(); }

} // namespace shoal::rt

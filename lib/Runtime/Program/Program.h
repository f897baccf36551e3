// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled program says of itself: shoal_program_metadata, parsed.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_PROGRAM_H
#define SHOAL_LIB_RUNTIME_PROGRAM_PROGRAM_H

#include "Mesh.h"
#include "shoal/Support/ElementType.h"
#include "shoal/Support/Npy.h"
#include "shoal/Support/Result.h"

#include <optional>

namespace shoal::rt {

using support::Block;
using support::ElementType;
using support::Error;
using support::Result;
using support::Status;

/// An input or an output.
struct Tensor {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape;
  std::vector<int64_t> localShape;
  size_t mesh;
  /// The axes that cut each dimension, major to minor.
  std::vector<Axes> dims;
  /// As the compiler prints it.
  std::string sharding;
  /// Pairs along the last dimension are complex numbers to the caller.
  bool isComplex = false;
  /// Of an input: a step writes over it.
  bool donated = false;
  /// Of an output: the input in whose memory it is made.
  std::optional<size_t> donor;
  /// Of an output: its place in the outputs' shared memory.
  std::optional<size_t> offset;

  size_t localBytes() const;
};

/// A collective of the program, by the id in its descriptor.
struct CollectiveInfo {
  std::string kind;
  std::string axes;
  std::string loc;
  std::string reason;
  /// Of a device: that it runs in, behind those before it there.
  int64_t stream = 0;
};

/// A call of the process that runs the program; one without a number prints.
struct HostCallInfo {
  std::optional<int64_t> number;
  std::string name;
  std::string loc;
};

/// A call that multiplies: an EinsumCall or, ragged, a RaggedEinsumCall.
struct ProductInfo {
  bool isRagged;
  std::vector<int64_t> desc;
  std::string loc;
};

/// What a program with the target "cuda" says beside, see
/// docs/internals/CUDA.md.
struct CudaProgram {
  /// "sm_90", "sm_80,sm_100", ..., or "emulated".
  std::string arch;
  /// The library that stands for NVIDIA's where the arch is "emulated".
  std::string emulation;
  /// By their numbers in launches.
  std::vector<std::string> kernels;
  /// The part of the arena that is filled once.
  size_t constantsOffset = 0;
  size_t constantsBytes = 0;
  /// Whether products of f32 may be computed in TF32.
  bool tf32 = false;

  bool isEmulated() const { return arch == "emulated"; }
};

struct Program {
  std::string name;
  std::string target;
  int64_t devices;
  size_t arenaBytes;
  /// Of the memory that outputs share with what is dead before they are made.
  size_t sharedBytes;
  std::vector<Mesh> meshes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<CollectiveInfo> collectives;
  /// In program order.
  std::vector<HostCallInfo> hostCalls;
  std::vector<ProductInfo> products;
  /// How many of its values it looks at while it runs.
  int64_t checks = 0;
  CudaProgram cuda;
};

/// What one device holds: the shards, and the arena.
size_t totalBytes(const Program &program);

Result<Program> parseProgram(const char *metadata);

/// The rows of the global tensor that `rank` holds; empty where the tail of an
/// uneven dimension does not reach it.
Block blockOf(const Program &program, const Tensor &tensor, int64_t rank);

/// True on the one device per distinct block that speaks for it: coordinate 0
/// on every axis that the tensor does not use.
bool ownsBlock(const Program &program, const Tensor &tensor, int64_t rank);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_PROGRAM_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a test of runtime calls does before the first and after each of them:
// nothing on the CPU; with SHOAL_TEST_EMULATION, the path of the emulated
// device, it runs there, with pointers to the test's own memory.

#ifndef SHOAL_TEST_RUNTIME_COLLECTIVESDEVICE_H
#define SHOAL_TEST_RUNTIME_COLLECTIVESDEVICE_H

#ifdef SHOAL_TEST_EMULATION
#include "CUDA/Collective.h"
#include "CUDA/Device.h"
#else
#include "CPU/Collective.h"
#endif

#include <cstdio>
#include <cstdlib>

#ifdef SHOAL_TEST_EMULATION
#include <dlfcn.h>

inline void expectSuccess(const shoal::support::Status &status) {
  if (!status)
    return;
  std::fprintf(stderr, "%s\n", status->message.c_str());
  std::exit(1);
}

inline void allowHostMemory() {
  using Allow = void (*)(int);
  void *library = dlopen(SHOAL_TEST_EMULATION, RTLD_NOW);
  reinterpret_cast<Allow>(dlsym(library, "shoalEmulationAllowHostMemory"))(1);
}

inline void openDevice(const std::vector<shoal::rt::Mesh> &meshes, int rank) {
  expectSuccess(shoal::rt::loadApi(SHOAL_TEST_EMULATION));
  allowHostMemory();
  shoal::rt::Device::get().setUp(meshes, rank);
  expectSuccess(shoal::rt::Device::get().open());
}

/// As a program does, on the compute stream: what is not ordered behind it is a
/// race with the calls that follow.
inline void finishCalls() {
  shoal::rt::waitForCollective(/*id=*/0);
  shoal::rt::Timeline::get().waitFor(shoal::rt::Device::get().compute());
}
#else
inline void openDevice(const std::vector<shoal::rt::Mesh> &meshes, int rank) {
  shoal::rt::Device::get().setUp(meshes, rank);
}

inline void finishCalls() {}
#endif

#endif // SHOAL_TEST_RUNTIME_COLLECTIVESDEVICE_H

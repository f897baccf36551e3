// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults on request, for tests of what a runtime does when a device fails.
//
//   SHOAL_EMULATION_FAIL="ncclAllReduce:3"        the third call fails,
//   SHOAL_EMULATION_FAIL="cudaGetDeviceCount:1=35"  with this status,
//   SHOAL_EMULATION_FAIL="ncclAllReduce:3@1"      on rank 1 alone;
//   SHOAL_EMULATION_HANG="ncclAllGather:2"        never ends, see Streams.h;
//   SHOAL_EMULATION_SKIP="cudaStreamWaitEvent:5"  has no effect, so that a test
//                                                 sees whether it is missed.
//
// Several are separated by commas. Call 0 means every call. A failing
// ncclCommGetAsyncError reports the status as the communicator's.

#ifndef SHOAL_TEST_EMULATION_FAULTS_H
#define SHOAL_TEST_EMULATION_FAULTS_H

namespace shoal::emulation {

/// To be asked once at the start of each call of a function. The status that
/// this call has to return, `otherwise` where the request names none; 0 if the
/// call is to be carried out.
int injectedFailure(const char *function, int otherwise);

/// To be asked once for each operation that is enqueued: whether it, of this
/// name, is the one that hangs. The name's first word counts.
bool injectedHang(const char *operation);

/// To be asked once in each call of cudaStreamWaitEvent.
bool injectedSkip(const char *function);

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_FAULTS_H

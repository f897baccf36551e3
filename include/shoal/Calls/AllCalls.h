// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every call, in the order of the reference page.

#ifndef SHOAL_CALLS_ALLCALLS_H
#define SHOAL_CALLS_ALLCALLS_H

#include "shoal/Calls/CheckCalls.h"
#include "shoal/Calls/CollectiveCalls.h"
#include "shoal/Calls/FourierCalls.h"
#include "shoal/Calls/IndexingCalls.h"
#include "shoal/Calls/OrderingCalls.h"
#include "shoal/Calls/ProductCalls.h"
#include "shoal/Calls/ProgramCalls.h"

namespace shoal::calls {

using AllCalls =
    std::tuple<EinsumCall, RaggedEinsumCall, AxisIndexCall, AllGatherCall,
               AllSliceCall, AllReduceCall, ReduceScatterCall, AllToAllCall,
               RaggedAllToAllCall, CollectivePermuteCall, ExchangeCall,
               WaitCall, CumulativeCall, TopKCall, SortCall, FftCall,
               GatherCall, ScatterCall, CustomCall, HostCall, CheckCall,
               IterationCall, LaunchCall, CopyCall, ReadScalarCall>;

} // namespace shoal::calls

#endif // SHOAL_CALLS_ALLCALLS_H

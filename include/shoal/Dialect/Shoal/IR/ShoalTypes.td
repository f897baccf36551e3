// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TYPES_TD
#define SHOAL_TYPES_TD

include "mlir/IR/OpBase.td"

def Shoal_FloatTensor : StaticShapeTensorOf<[F32, F64, BF16, F16]>;
def Shoal_IntTensor : StaticShapeTensorOf<[I64, I32, I16, I8, I1]>;
def Shoal_Tensor
    : StaticShapeTensorOf<[F32, F64, BF16, F16, I64, I32, I16, I8, I1]>;
def Shoal_KeyTensor : 1DTensorOf<[I32, I64]>;

#endif // SHOAL_TYPES_TD

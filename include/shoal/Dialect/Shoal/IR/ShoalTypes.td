// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TYPES_TD
#define SHOAL_TYPES_TD

include "mlir/IR/OpBase.td"

// Element counts, byte counts and strides of such a tensor fit in 64 bits.
def Shoal_CountablePred
    : CPred<"::shoal::isCountable($_self)">;
class Shoal_TensorOf<list<Type> elements>
    : ConfinedType<StaticShapeTensorOf<elements>, [Shoal_CountablePred],
                   StaticShapeTensorOf<elements>.summary # " and less than 2^56 elements",
                   "::mlir::RankedTensorType">;

// Floats of 8 bits are stored, moved, converted, compared, combined element by
// element and multiplied by einsums; what sums takes wider types.
def Shoal_FloatTensor : Shoal_TensorOf<[F32, F64, BF16, F16]>;
def Shoal_IntTensor : Shoal_TensorOf<[I64, I32, I16, I8, I1]>;
def Shoal_Tensor
    : Shoal_TensorOf<[F32, F64, BF16, F16, F8E4M3FN, F8E5M2, I64, I32, I16, I8,
                      I1]>;
def Shoal_KeyTensor : 1DTensorOf<[I32, I64]>;

#endif // SHOAL_TYPES_TD

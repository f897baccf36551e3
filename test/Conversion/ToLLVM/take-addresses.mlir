// RUN: shoal-opt %s --shoal-lower-runtime-calls --shoal-take-addresses | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-runtime-calls --shoal-take-addresses --shoal-statistics -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COUNT

// COUNT-DAG: 13 shoal-take-addresses {{ *}}- Arguments that are addresses now
// COUNT-DAG: 2 shoal-take-addresses {{ *}}- Descriptors made of them

// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr {llvm.noalias}, %[[I:.*]]: index, %[[Y:.*]]: !llvm.ptr) {
// CHECK: %[[D:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<{{.*}}> to memref<4xf32>
// CHECK: memref.load %[[D]][%[[I]]] : memref<4xf32>
func.func private @kernel(%x: memref<4xf32> {llvm.noalias}, %i: index, %y: memref<4xf32>) {
  %0 = memref.load %x[%i] : memref<4xf32>
  vector.print %0 : f32
  return
}

// A call gets addresses; one view has one, and what nothing else uses is gone.
// CHECK-LABEL: func.func @views_of_an_arena(%arg0: !llvm.ptr)
// CHECK-NEXT: %[[I:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[A:.*]] = llvm.getelementptr %arg0[32] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT: call @kernel(%[[A]], %[[I]], %arg0)
// CHECK-NEXT: call @kernel(%arg0, %[[I]], %[[A]])
// CHECK-NEXT: return
func.func @views_of_an_arena(%arena: memref<64xi8>) {
  %i = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = memref.view %arena[%c32][] : memref<64xi8> to memref<4xf32>
  %y = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  call @kernel(%x, %i, %y) : (memref<4xf32>, index, memref<4xf32>) -> ()
  call @kernel(%y, %i, %x) : (memref<4xf32>, index, memref<4xf32>) -> ()
  return
}

// A constant of getelementptr has 29 bits, sign included; MLIR cuts what is wider.
// CHECK-LABEL: func.func @far_away(%arg0: !llvm.ptr)
// CHECK-DAG: %[[NEAR:.*]] = llvm.getelementptr %arg0[268435440] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-DAG: %[[BYTES:.*]] = arith.index_cast %c268435456
// CHECK-DAG: %[[FAR:.*]] = llvm.getelementptr %arg0[%[[BYTES]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: call @kernel(%[[NEAR]], %{{.*}}, %[[FAR]])
func.func @far_away(%arena: memref<536870912xi8>) {
  %i = arith.constant 1 : index
  %near = arith.constant 268435440 : index
  %far = arith.constant 268435456 : index
  %x = memref.view %arena[%near][] : memref<536870912xi8> to memref<4xf32>
  %y = memref.view %arena[%far][] : memref<536870912xi8> to memref<4xf32>
  call @kernel(%x, %i, %y) : (memref<4xf32>, index, memref<4xf32>) -> ()
  return
}

// The callee's type says where it begins: it gets the address that this counts from.
func.func private @row(%x: memref<4xf32, strided<[1], offset: 8>>) {
  return
}

// CHECK-LABEL: func.func @parts(%arg0: !llvm.ptr)
// CHECK-NEXT: call @row(%arg0)
func.func @parts(%x: memref<4x4xf32>) {
  %row = memref.subview %x[2, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1], offset: 8>>
  call @row(%row) : (memref<4xf32, strided<[1], offset: 8>>) -> ()
  return
}

// The runtime gets the first element's.
// CHECK-LABEL: func.func @first_elements(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
// CHECK: %[[A:.*]] = llvm.getelementptr %arg0[32]
// CHECK: llvm.call @shoal_rt_cumulative(%{{.*}}, %[[A]], %arg1)
func.func @first_elements(%x: memref<4x4xf32>, %y: memref<4xf32>) {
  %row = memref.subview %x[2, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1], offset: 8>>
  rt.cumulative sum dim 0 ins(%row : memref<4xf32, strided<[1], offset: 8>>) outs(%y : memref<4xf32>)
  return
}

// Where a part begins in a loop the run knows.
// CHECK-LABEL: func.func @dynamic_parts(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: index)
// CHECK: memref.extract_strided_metadata
// CHECK: arith.muli
// CHECK: %[[A:.*]] = llvm.inttoptr
// CHECK: llvm.call @shoal_rt_cumulative(%{{.*}}, %[[A]], %arg1)
func.func @dynamic_parts(%x: memref<4x4xf32>, %y: memref<4xf32>, %i: index) {
  %row = memref.subview %x[%i, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  rt.cumulative sum dim 0 ins(%row : memref<4xf32, strided<[1], offset: ?>>) outs(%y : memref<4xf32>)
  return
}

// More than 32 bits are no constant of an address' own.
// CHECK-LABEL: func.func @far(%arg0: !llvm.ptr)
// CHECK: %[[C:.*]] = arith.constant 4294967296 : index
// CHECK: %[[B:.*]] = arith.index_cast %[[C]] : index to i64
// CHECK: %[[A:.*]] = llvm.getelementptr %arg0[%[[B]]]
// CHECK: call @kernel(%[[A]],
func.func @far(%arena: memref<8589934592xi8>) {
  %i = arith.constant 1 : index
  %c = arith.constant 4294967296 : index
  %x = memref.view %arena[%c][] : memref<8589934592xi8> to memref<4xf32>
  call @kernel(%x, %i, %x) : (memref<4xf32>, index, memref<4xf32>) -> ()
  return
}

// Constants are no function's arguments.
memref.global "private" constant @table : memref<4xf32> = dense<1.0>

// CHECK-LABEL: func.func @constants()
// CHECK: %[[T:.*]] = memref.get_global @table
// CHECK-NEXT: memref.extract_aligned_pointer_as_index %[[T]]
// CHECK: %[[A:.*]] = llvm.inttoptr
// CHECK: call @kernel(%[[A]],
func.func @constants() {
  %i = arith.constant 1 : index
  %x = memref.get_global @table : memref<4xf32>
  call @kernel(%x, %i, %x) : (memref<4xf32>, index, memref<4xf32>) -> ()
  return
}

// An address does not say sizes: such functions, and their calls, stay.
// CHECK-LABEL: func.func private @any_size(%arg0: memref<?xf32>)
func.func private @any_size(%x: memref<?xf32>) {
  return
}

// CHECK-LABEL: func.func @calls_it(%arg0: memref<?xf32>)
// CHECK-NEXT: call @any_size(%arg0) : (memref<?xf32>) -> ()
func.func @calls_it(%x: memref<?xf32>) {
  call @any_size(%x) : (memref<?xf32>) -> ()
  return
}

// Of no elements, and without strides.
// CHECK-LABEL: func.func @nothing(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
func.func @nothing(%x: memref<15x0x2xi64>, %y: memref<4xf32>) {
  return
}

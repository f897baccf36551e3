// GShard's dispatch and combine, and what is near them: the places of the masks
// are gathered and scattered, and nobody makes a mask.
//
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=1 | FileCheck %s --implicit-check-not=96x16x10
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=1 --shoal-verify-collectives | FileCheck %s

// CHECK-LABEL: @combine_gathers_rows(
// CHECK-SAME: %[[E:.*]]: tensor<96xi32>, %[[C:.*]]: tensor<96xi32>, %[[W:.*]]: tensor<96xf32>, %[[X:.*]]: tensor<16x10x12xf32>)
// CHECK: %[[PLACES:.*]] = shoal.concatenate {{.*}} -> tensor<96x2xi32>
// CHECK: %[[ROWS:.*]] = shoal.gather %[[X]], %[[PLACES]] {{.*}} slice_sizes = [1, 1, 12]
// CHECK: %[[WEIGHTED:.*]] = arith.mulf {{.*}}%[[ROWS]]
// Behind the product: the row of a place out of range may be NaN.
// CHECK: %[[Y:.*]] = arith.select {{.*}}, %[[WEIGHTED]], %{{.*}}
// CHECK: return %[[Y]]
func.func @combine_gathers_rows(%e: tensor<96xi32>, %c: tensor<96xi32>, %w: tensor<96xf32>, %x: tensor<16x10x12xf32>) -> tensor<96x12xf32> {
  %zero = arith.constant dense<0.0> : tensor<96x16xf32>
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %wb = shoal.broadcast_in_dim %w dims = [0] : tensor<96xf32> -> tensor<96x16xf32>
  %we = arith.select %em, %wb, %zero : tensor<96x16xi1>, tensor<96x16xf32>
  %ci = shoal.iota dim = 1 : tensor<96x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x10xi32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %we, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,ECM->SM" %m, %x : (tensor<96x16x10xf32>, tensor<16x10x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// Slots that count the tokens of an expert are unique; others are not known to be.
// CHECK-LABEL: @slots_are_counted(
// CHECK: shoal.scatter sum {{.*}} {unique_indices}
// CHECK: shoal.scatter sum
// CHECK-NOT: unique_indices
// CHECK: return
func.func @slots_are_counted(%e: tensor<96xi32>, %first: tensor<16xi32>, %x: tensor<96x12xf32>) -> (tensor<16x10x12xf32>, tensor<16x10x12xf32>) {
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %en = arith.extui %em : tensor<96x16xi1> to tensor<96x16xi32>
  %eh = arith.uitofp %em : tensor<96x16xi1> to tensor<96x16xf32>
  %before = shoal.cumulative sum %en dim = 0 {exclusive} : tensor<96x16xi32>
  %fb = shoal.broadcast_in_dim %first dims = [1] : tensor<16xi32> -> tensor<96x16xi32>
  %slots = arith.addi %before, %fb : tensor<96x16xi32>
  %mine = arith.muli %slots, %en : tensor<96x16xi32>
  %c = shoal.reduce sum %mine dims = [1] : tensor<96x16xi32> -> tensor<96xi32>
  %ci = shoal.iota dim = 1 : tensor<96x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x10xi32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,SM->ECM" %m, %x : (tensor<96x16x10xf32>, tensor<96x12xf32>) -> tensor<16x10x12xf32>
  // Half of the count: two tokens have one slot.
  %two = arith.constant dense<2> : tensor<96xi32>
  %h = arith.divsi %c, %two : tensor<96xi32>
  %hb = shoal.broadcast_in_dim %h dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %hm = arith.cmpi eq, %hb, %ci : tensor<96x10xi32>
  %hh = arith.uitofp %hm : tensor<96x10xi1> to tensor<96x10xf32>
  %m2 = shoal.einsum "SE,SC->SEC" %eh, %hh : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y2 = shoal.einsum "SEC,SM->ECM" %m2, %x : (tensor<96x16x10xf32>, tensor<96x12xf32>) -> tensor<16x10x12xf32>
  return %y, %y2 : tensor<16x10x12xf32>, tensor<16x10x12xf32>
}

// -----

// So are those that are counted in f32, as GShard's text does, as long as f32 has
// all of these numbers.
// CHECK-LABEL: @slots_are_counted_in_floats(
// CHECK: shoal.scatter sum {{.*}} {unique_indices}
// CHECK: return
func.func @slots_are_counted_in_floats(%e: tensor<96xi32>, %x: tensor<96x12xf32>) -> tensor<16x10x12xf32> {
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %eh = arith.uitofp %em : tensor<96x16xi1> to tensor<96x16xf32>
  %count = shoal.cumulative sum %eh dim = 0 : tensor<96x16xf32>
  %before = arith.subf %count, %eh : tensor<96x16xf32>
  %mine = arith.mulf %before, %eh : tensor<96x16xf32>
  %c = shoal.reduce sum %mine dims = [1] : tensor<96x16xf32> -> tensor<96xf32>
  %i = shoal.iota dim = 1 : tensor<96x10xi32>
  %ci = arith.sitofp %i : tensor<96x10xi32> to tensor<96x10xf32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xf32> -> tensor<96x10xf32>
  %cm = arith.cmpf oeq, %cb, %ci : tensor<96x10xf32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,SM->ECM" %m, %x : (tensor<96x16x10xf32>, tensor<96x12xf32>) -> tensor<16x10x12xf32>
  return %y : tensor<16x10x12xf32>
}

// -----

// CHECK-LABEL: @slots_are_converted_counts(
// CHECK: shoal.scatter sum {{.*}} {unique_indices}
// CHECK: return
func.func @slots_are_converted_counts(%e: tensor<96xi32>, %x: tensor<96x12xf32>) -> tensor<16x10x12xf32> {
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %eh = arith.uitofp %em : tensor<96x16xi1> to tensor<96x16xf32>
  %count = shoal.cumulative sum %eh dim = 0 {exclusive} : tensor<96x16xf32>
  %mine = arith.mulf %count, %eh : tensor<96x16xf32>
  %f = shoal.reduce sum %mine dims = [1] : tensor<96x16xf32> -> tensor<96xf32>
  // As JAX converts: what does not fit becomes the nearest integer.
  %large = arith.constant dense<2147483648.0> : tensor<96xf32>
  %most = arith.constant dense<2147483647> : tensor<96xi32>
  %whole = arith.fptosi %f : tensor<96xf32> to tensor<96xi32>
  %above = arith.cmpf oge, %f, %large : tensor<96xf32>
  %c = arith.select %above, %most, %whole : tensor<96xi1>, tensor<96xi32>
  %ci = shoal.iota dim = 1 : tensor<96x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x10xi32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,SM->ECM" %m, %x : (tensor<96x16x10xf32>, tensor<96x12xf32>) -> tensor<16x10x12xf32>
  return %y : tensor<16x10x12xf32>
}

// -----

// bf16 counts up to 256: of 300 tokens the last ones may have one slot.
// CHECK-LABEL: @counts_that_are_rounded(
// CHECK: shoal.scatter sum
// CHECK-NOT: unique_indices
// CHECK: return
func.func @counts_that_are_rounded(%e: tensor<300xi32>, %x: tensor<300x12xf32>) -> tensor<16x10x12xf32> {
  %ei = shoal.iota dim = 1 : tensor<300x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<300xi32> -> tensor<300x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<300x16xi32>
  %eh = arith.uitofp %em : tensor<300x16xi1> to tensor<300x16xbf16>
  %count = shoal.cumulative sum %eh dim = 0 {exclusive} : tensor<300x16xbf16>
  %mine = arith.mulf %count, %eh : tensor<300x16xbf16>
  %f = shoal.reduce sum %mine dims = [1] : tensor<300x16xbf16> -> tensor<300xbf16>
  %c = arith.fptosi %f : tensor<300xbf16> to tensor<300xi32>
  %ci = shoal.iota dim = 1 : tensor<300x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<300xi32> -> tensor<300x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<300x10xi32>
  %ch = arith.uitofp %cm : tensor<300x10xi1> to tensor<300x10xf32>
  %ef = arith.uitofp %em : tensor<300x16xi1> to tensor<300x16xf32>
  %m = shoal.einsum "SE,SC->SEC" %ef, %ch : (tensor<300x16xf32>, tensor<300x10xf32>) -> tensor<300x16x10xf32>
  %y = shoal.einsum "SEC,SM->ECM" %m, %x : (tensor<300x16x10xf32>, tensor<300x12xf32>) -> tensor<16x10x12xf32>
  return %y : tensor<16x10x12xf32>
}

// -----

// CHECK-LABEL: @dispatch_scatters_rows(
// CHECK-SAME: %{{.*}}: tensor<96xi32>, %{{.*}}: tensor<96xi32>, %[[X:.*]]: tensor<96x12xf32>)
// CHECK: shoal.scatter sum %{{.*}}, %{{.*}}, %[[X]] update_window_dims = [1] inserted_window_dims = [0, 1]
// CHECK-NOT: shoal.einsum
func.func @dispatch_scatters_rows(%e: tensor<96xi32>, %c: tensor<96xi32>, %x: tensor<96x12xf32>) -> tensor<16x10x12xf32> {
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %eh = arith.uitofp %em : tensor<96x16xi1> to tensor<96x16xf32>
  %ci = shoal.iota dim = 1 : tensor<96x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x10xi32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,SM->ECM" %m, %x : (tensor<96x16x10xf32>, tensor<96x12xf32>) -> tensor<16x10x12xf32>
  return %y : tensor<16x10x12xf32>
}

// -----

// What is read at places alone is a product of rows: no tensor of all of them.
// CHECK-LABEL: @an_einsum_read_at_places_is_sampled(
// CHECK-SAME: %[[P:.*]]: tensor<96xi32>, %[[X:.*]]: tensor<96x12xf32>, %[[Y:.*]]: tensor<1000x12xf32>)
// CHECK-NOT: 96x1000
// CHECK: %[[ROWS:.*]] = shoal.gather %[[Y]], %[[P]]
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[ROWS]] : tensor<96x12xf32>
// CHECK: shoal.reduce sum %[[PRODUCT]] dims = [1]
// CHECK-NOT: 96x1000
// CHECK: return
func.func @an_einsum_read_at_places_is_sampled(%p: tensor<96xi32>, %x: tensor<96x12xf32>, %y: tensor<1000x12xf32>) -> tensor<96xf32> {
  %zero = arith.constant dense<0.0> : tensor<96x1000xf32>
  %i = shoal.iota dim = 1 : tensor<96x1000xi32>
  %b = shoal.broadcast_in_dim %p dims = [0] : tensor<96xi32> -> tensor<96x1000xi32>
  %m = arith.cmpi eq, %i, %b : tensor<96x1000xi32>
  %logits = shoal.einsum "SM,EM->SE" %x, %y : (tensor<96x12xf32>, tensor<1000x12xf32>) -> tensor<96x1000xf32>
  %own = arith.select %m, %logits, %zero : tensor<96x1000xi1>, tensor<96x1000xf32>
  %r = shoal.reduce sum %own dims = [1] : tensor<96x1000xf32> -> tensor<96xf32>
  return %r : tensor<96xf32>
}

// -----

// (L2) Places that are themselves places of a form: one exception in both.
// CHECK-LABEL: @nested_places(
// CHECK: shoal.gather %{{.*}} slice_sizes = [1, 1, 12]
// CHECK-NOT: shoal.einsum
func.func @nested_places(%e: tensor<96xi32>, %c: tensor<96xi32>, %x: tensor<16x10x12xf32>) -> tensor<96x12xf32> {
  %none = arith.constant dense<-1> : tensor<96x16xi32>
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %places = arith.select %em, %cb, %none : tensor<96x16xi1>, tensor<96x16xi32>
  %pb = shoal.broadcast_in_dim %places dims = [0, 1] : tensor<96x16xi32> -> tensor<96x16x10xi32>
  %ci = shoal.iota dim = 2 : tensor<96x16x10xi32>
  %m = arith.cmpi eq, %pb, %ci : tensor<96x16x10xi32>
  %mask = arith.uitofp %m : tensor<96x16x10xi1> to tensor<96x16x10xf32>
  %y = shoal.einsum "SEC,ECM->SM" %mask, %x : (tensor<96x16x10xf32>, tensor<16x10x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// (L11) Places move with slices, pads, reshapes and shards.
// CHECK-LABEL: @merged_dimensions(
// CHECK: shoal.gather %{{.*}} slice_sizes = [1, 12]
// CHECK-NOT: shoal.einsum
func.func @merged_dimensions(%e: tensor<96xi32>, %c: tensor<96xi32>, %x: tensor<160x12xf32>) -> tensor<96x12xf32> {
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %eh = arith.uitofp %em : tensor<96x16xi1> to tensor<96x16xf32>
  %ci = shoal.iota dim = 1 : tensor<96x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0] : tensor<96xi32> -> tensor<96x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x10xi32>
  %ch = arith.uitofp %cm : tensor<96x10xi1> to tensor<96x10xf32>
  %m = shoal.einsum "SE,SC->SEC" %eh, %ch : (tensor<96x16xf32>, tensor<96x10xf32>) -> tensor<96x16x10xf32>
  %f = shoal.reshape %m : tensor<96x16x10xf32> -> tensor<96x160xf32>
  %y = shoal.einsum "SC,CM->SM" %f, %x : (tensor<96x160xf32>, tensor<160x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// CHECK-LABEL: @shards_of_a_mask(
// CHECK: %[[I:.*]] = spmd.axis_index @mesh {"x"} : tensor<i32>
// CHECK: arith.subi
// CHECK: shoal.gather %{{.*}} slice_sizes = [1, 12]
// CHECK-NOT: spmd.all_slice
shoal.mesh @mesh = <["x" = 4]>
func.func @shards_of_a_mask(%e: tensor<96xi32>, %x: tensor<40x12xf32>) -> tensor<96x12xf32> attributes {shoal.spmd} {
  %ei = shoal.iota dim = 1 : tensor<96x160xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x160xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x160xi32>
  %eh = arith.uitofp %em : tensor<96x160xi1> to tensor<96x160xf32>
  %s = spmd.all_slice @mesh [{}, {"x"}] %eh : tensor<96x160xf32> -> tensor<96x40xf32>
  %y = shoal.einsum "SE,EM->SM" %s, %x : (tensor<96x40xf32>, tensor<40x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// So where each device counts from its first expert, as iotas that are split do.
// CHECK-LABEL: @experts_of_the_device(
// CHECK: %[[I:.*]] = spmd.axis_index @mesh {"x"} : tensor<i32>
// CHECK: arith.subi
// CHECK: shoal.scatter sum {{.*}} : (tensor<40x12xf32>, tensor<96xi32>, tensor<96x12xf32>)
shoal.mesh @mesh = <["x" = 4]>
func.func @experts_of_the_device(%e: tensor<96xi32>, %x: tensor<96x12xf32>) -> tensor<40x12xf32> attributes {shoal.spmd} {
  %size = arith.constant dense<40> : tensor<i32>
  %device = spmd.axis_index @mesh {"x"} : tensor<i32>
  %first = arith.muli %device, %size : tensor<i32>
  %i = shoal.iota dim = 1 : tensor<96x40xi32>
  %fb = shoal.broadcast_in_dim %first dims = [] : tensor<i32> -> tensor<96x40xi32>
  %ei = arith.addi %i, %fb : tensor<96x40xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x40xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<96x40xi32>
  %eh = arith.uitofp %em : tensor<96x40xi1> to tensor<96x40xf32>
  %y = shoal.einsum "SE,SM->EM" %eh, %x : (tensor<96x40xf32>, tensor<96x12xf32>) -> tensor<40x12xf32>
  return %y : tensor<40x12xf32>
}

// -----

// What an argsort gives are numbers of rows, so that the place behind it is in
// range, and no element is what stands for one that is not.
// CHECK-LABEL: @permuted_places(
// CHECK: shoal.gather %arg2, %{{.*}} slice_sizes = [1, 12]
// CHECK-NOT: tensor<96x16
// CHECK: return
func.func @permuted_places(%score: tensor<96xf32>, %e: tensor<96xi32>, %x: tensor<16x12xf32>) -> tensor<96x12xf32> {
  %least = arith.constant dense<-2147483648> : tensor<96x16xi32>
  %zero = arith.constant dense<0> : tensor<96xi32>
  %i = shoal.iota dim = 0 : tensor<96xi32>
  %sorted:2 = shoal.sort %score, %i dim = 0 : (tensor<96xf32>, tensor<96xi32>) -> (tensor<96xf32>, tensor<96xi32>)
  %ei = shoal.iota dim = 1 : tensor<96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<96xi32> -> tensor<96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<96x16xi32>
  %en = arith.extui %em : tensor<96x16xi1> to tensor<96x16xi32>
  %p = shoal.gather %en, %sorted#1 offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1 slice_sizes = [1, 16] : (tensor<96x16xi32>, tensor<96xi32>) -> tensor<96x16xi32>
  %in = arith.cmpi sge, %sorted#1, %zero : tensor<96xi32>
  %ib = shoal.broadcast_in_dim %in dims = [0] : tensor<96xi1> -> tensor<96x16xi1>
  %f = arith.select %ib, %p, %least : tensor<96x16xi1>, tensor<96x16xi32>
  %h = arith.sitofp %f : tensor<96x16xi32> to tensor<96x16xf32>
  %y = shoal.einsum "SE,EM->SM" %h, %x : (tensor<96x16xf32>, tensor<16x12xf32>) -> tensor<96x12xf32>
  return %y : tensor<96x12xf32>
}

// -----

// Masks one behind the other are one, of which a row has the places of its own.
// CHECK-LABEL: @concatenated_masks(
// CHECK-NOT: shoal.concatenate {{.*}} tensor<3x96x16xf32>
// CHECK-COUNT-2: shoal.gather %arg2, %{{.*}} slice_sizes = [1, 20]
// CHECK: return
func.func @concatenated_masks(%e: tensor<96xi32>, %f: tensor<96xi32>, %x: tensor<16x20xf32>) -> tensor<96x20xf32> {
  %none = arith.constant dense<0.0> : tensor<1x96x16xf32>
  %ei = shoal.iota dim = 2 : tensor<1x96x16xi32>
  %eb = shoal.broadcast_in_dim %e dims = [1] : tensor<96xi32> -> tensor<1x96x16xi32>
  %em = arith.cmpi eq, %ei, %eb : tensor<1x96x16xi32>
  %eh = arith.uitofp %em : tensor<1x96x16xi1> to tensor<1x96x16xf32>
  %fb = shoal.broadcast_in_dim %f dims = [1] : tensor<96xi32> -> tensor<1x96x16xi32>
  %fm = arith.cmpi eq, %ei, %fb : tensor<1x96x16xi32>
  %fh = arith.uitofp %fm : tensor<1x96x16xi1> to tensor<1x96x16xf32>
  %k = shoal.concatenate %eh, %none, %fh dim = 0 : (tensor<1x96x16xf32>, tensor<1x96x16xf32>, tensor<1x96x16xf32>) -> tensor<3x96x16xf32>
  %s = shoal.reduce sum %k dims = [0] : tensor<3x96x16xf32> -> tensor<96x16xf32>
  %y = shoal.einsum "SE,EM->SM" %s, %x : (tensor<96x16xf32>, tensor<16x20xf32>) -> tensor<96x20xf32>
  return %y : tensor<96x20xf32>
}

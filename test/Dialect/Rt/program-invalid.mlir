// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// custom_call (C1)
func.func @target_is_no_symbol(%x: memref<4xf32>) {
  // expected-error@+1 {{target "a b": expected letters, digits, '_', '.' and '$'}}
  rt.custom_call "a b" outs(%x : memref<4xf32>)
  return
}

// -----

// custom_call (C1)
func.func @target_of_the_runtime(%x: memref<4xf32>) {
  // expected-error@+1 {{target "shoal_rt_copy": expected no function of the runtime}}
  rt.custom_call "shoal_rt_copy" outs(%x : memref<4xf32>)
  return
}

// -----

// custom_call (C1)
func.func @config_is_no_text(%x: memref<4xf32>) {
  // expected-error@+1 {{config: expected no zero bytes}}
  rt.custom_call "f" config "a\00b" outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C1)
func.func @block(%x: memref<4xf32>) {
  // expected-error@+1 {{expected three sizes each but got grid [1, 1, 1] and block [32, 0, 1]}}
  rt.launch 0 grid [1, 1, 1] block [32, 0, 1] touches [#rt.touch<write 16 from 0>] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C1)
func.func @grid_of_two_sizes(%x: memref<4xf32>) {
  // expected-error@+1 {{expected three sizes each but got grid [1, 1] and block [32, 1, 1]}}
  rt.launch 0 grid [1, 1] block [32, 1, 1] touches [#rt.touch<write 16 from 0>] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C2)
func.func @touches(%x: memref<4xf32>) {
  // expected-error@+1 {{touches: expected 1 entries but got 0}}
  rt.launch 0 grid [1, 1, 1] block [32, 1, 1] touches [] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C2)
func.func @touches_what_is_before(%x: memref<4xf32>) {
  // expected-error@+1 {{touches: expected bytes and offsets of at least 0 but got 16 from -8}}
  rt.launch 0 grid [1, 1, 1] block [32, 1, 1] touches [#rt.touch<write 16 from -8>] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C3)
func.func @no_such_kernel(%x: memref<4xf32>) {
  // expected-error@+1 {{expected a kernel and shared bytes of at least 0 but got -3 and 0}}
  rt.launch -3 grid [1, 1, 1] block [32, 1, 1] touches [#rt.touch<write 16 from 0>] outs(%x : memref<4xf32>)
  return
}

// -----

// launch (C3)
func.func @negative_shared_bytes(%x: memref<4xf32>) {
  // expected-error@+1 {{expected a kernel and shared bytes of at least 0 but got 0 and -5}}
  rt.launch 0 grid [1, 1, 1] block [32, 1, 1] shared -5 touches [#rt.touch<write 16 from 0>] outs(%x : memref<4xf32>)
  return
}

// -----

// copy (C1)
func.func @copy(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<5xf32>'}}
  rt.copy ins(%x : memref<4xf32>) outs(%y : memref<5xf32>)
  return
}

// -----

// copy (C1)
func.func @copies_its_elements(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error@+1 {{expected an output like the input, 'memref<4xf32>', but got 'memref<4xi32>'}}
  rt.copy ins(%x : memref<4xf32>) outs(%y : memref<4xi32>)
  return
}

// -----

// host_call (C1)
func.func @host_call_number(%x: memref<4xf32>) {
  // expected-error @below {{expected a number of at least 0 but got -1}}
  rt.host_call "f" number -1 at "f.py:1:1" ins(%x : memref<4xf32>)
  return
}

// -----

// host_call (C1)
func.func @print_with_outputs(%x: memref<4xf32>) {
  // expected-error @below {{expected no outputs of what is printed but got 1}}
  rt.host_call "x" at "f.py:1:1" outs(%x : memref<4xf32>)
  return
}

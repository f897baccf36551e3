# Products of f32 and bf16 on wide units; without oneDNN, BLAS computes them all.
# Version 2 is known: 3 has other descriptors of primitives.
option(SHOAL_ONEDNN "Multiply by oneDNN where it is faster than BLAS" ON)

if(SHOAL_ONEDNN)
  find_path(SHOAL_ONEDNN_INCLUDE oneapi/dnnl/dnnl_version.h)
  find_library(SHOAL_ONEDNN_LIBRARY dnnl)
  # The pool of threads that the library takes.
  find_library(SHOAL_GOMP_LIBRARY NAMES gomp libgomp.so.1)
  set(version "none")
  if(SHOAL_ONEDNN_INCLUDE AND SHOAL_ONEDNN_LIBRARY AND SHOAL_GOMP_LIBRARY)
    file(STRINGS ${SHOAL_ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h line
         REGEX "#define DNNL_VERSION_MAJOR")
    string(REGEX MATCH "[0-9]+" version "${line}")
  endif()
  if(NOT version STREQUAL "2")
    message(STATUS "oneDNN 2 (libdnnl-dev) not found: BLAS computes all products")
    set(SHOAL_ONEDNN OFF)
  endif()
endif()

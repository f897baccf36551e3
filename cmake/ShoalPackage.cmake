# What the Python package has of this build: `pip install .` builds the target
# shoal-package and installs the component shoal. Tools look for the runtime's
# libraries in the folder lib beside their own, as the package does.

add_custom_target(shoal-package)
foreach(target shoalc shoal-bench shoal-opt shoal-run shoal-lsp-server shoal-worker)
  install(TARGETS ${target} RUNTIME DESTINATION shoal/bin COMPONENT shoal)
  add_dependencies(shoal-package ${target})
endforeach()
install(TARGETS shoal-loopback LIBRARY DESTINATION shoal/bin COMPONENT shoal)
foreach(target shoal_rt_cpu shoal_rt_cuda)
  if(TARGET ${target})
    install(TARGETS ${target} ARCHIVE DESTINATION shoal/lib COMPONENT shoal)
    add_dependencies(shoal-package ${target})
  endif()
endforeach()
# For functions of custom_call, and for programs that are opened as libraries.
install(FILES include/shoal/Runtime/ABI.h include/shoal/Runtime/CustomCall.h
              include/shoal/Runtime/Session.h
        DESTINATION shoal/include/shoal/Runtime COMPONENT shoal)
# By their names: machine="dgx-h100".
install(DIRECTORY machines DESTINATION shoal COMPONENT shoal FILES_MATCHING PATTERN *.toml)
if(TARGET shoal_native)
  install(TARGETS shoal_native LIBRARY DESTINATION shoal COMPONENT shoal)
  install(FILES ${PROJECT_BINARY_DIR}/python/shoal/_native.pyi DESTINATION shoal COMPONENT shoal)
  add_dependencies(shoal-package shoal_native shoal_native_stub)
endif()

# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based random numbers: the same whatever the devices and the sharding.

A key is two integers; what is drawn from it depends on the key and on the
element's place alone (threefry-2x32). Draw from a key once; `split` it for more.
"""

from shoal.frontend.random import *
from shoal.frontend.random import __all__

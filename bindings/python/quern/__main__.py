# SPDX-License-Identifier: Apache-2.0
"""`python -m quern` is the program `quern`."""

from ._program import main

main()

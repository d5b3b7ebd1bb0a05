// SPDX-License-Identifier: Apache-2.0
// The part of check_cuda_runtime that needs the CUDA compiler.
#pragma once

#include "device/devices.hpp"

namespace quern::device {

/// Defined only if the program is built with CUDA.
cuda_runtime_report probe_cuda_runtime(int ordinal);

}  // namespace quern::device

// SPDX-License-Identifier: Apache-2.0
// Orders our work after a caller's on a GPU. Defined only if the program is built with CUDA.
#pragma once

#include "device/cuda/cuda_place.hpp"
#include "quern/base/device_memory.hpp"

namespace quern::cuda {

/// Work enqueued on the stream from now on starts when the data is complete. Its device is current.
void wait_for_caller(const data_location& data, CUstream_st* stream);
/// The same for a place of the data's device.
void wait_for_caller(const data_location& data, const cuda_place& place);

}  // namespace quern::cuda

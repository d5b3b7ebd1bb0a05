// SPDX-License-Identifier: Apache-2.0
// Host threads of the context for a device, each with the device made current.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <cstddef>

#include "device/cpu/threads.hpp"
#include "device/cuda/cuda_place.hpp"

namespace quern {

template <class Work>
void on_threads(const cuda_place& place, std::size_t threads, const Work& work) {
    run_parallel(place.ctx(), [&] {
        tbb::parallel_for(
            std::size_t{0}, threads,
            [&](std::size_t t) {
                place.make_current();
                work(t);
            },
            tbb::simple_partitioner());
    });
}

}  // namespace quern

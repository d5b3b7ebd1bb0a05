// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program: limits Highway to QUERN_INSTRUCTION_SET (SSE2, SSE4 or AVX2), so that this processor runs the
// kernels of older ones. Exit 77 where the processor lacks it, 78 for another name.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hwy/targets.h"

namespace {

__attribute__((constructor)) void limit() {
    const char* wanted = std::getenv("QUERN_INSTRUCTION_SET");
    const std::string_view name = wanted == nullptr ? "" : wanted;
    const std::int64_t best = name == "AVX2"   ? HWY_AVX2
                              : name == "SSE4" ? HWY_SSE4
                              : name == "SSE2" ? HWY_EMU128
                                               : 0;
    if (best == 0) _exit(78);
    if ((hwy::SupportedTargets() & best) == 0) _exit(77);
    hwy::DisableTargets(best - 1);  // a better target has a lower bit
    if ((hwy::SupportedTargets() & (best - 1)) != 0) _exit(78);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/abilities.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"

namespace quern::cuda {

std::size_t shared_bytes_of(unsigned architecture) {
    constexpr std::size_t kibibyte = 1024;
    switch (architecture) {
        case 80:
        case 87:
            return 163 * kibibyte;
        case 86:
        case 88:
        case 89:
        case 120:
        case 121:
            return 99 * kibibyte;
        case 90:
        case 100:
        case 103:
        case 110:
            return abilities::hopper_shared_bytes;
        default:
            return 64 * kibibyte;
    }
}

abilities limited_abilities(unsigned architecture, std::size_t shared_bytes, const char* limit) {
    abilities may{architecture, shared_bytes};
    if (limit == nullptr || *limit == '\0') return may;
    const std::string_view text(limit);
    unsigned most = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
    if (error != std::errc() || end != text.data() + text.size() || most < min_architecture || most > 999)
        throw device_error("QUERN_CUDA_ARCHITECTURE is \"" + std::string(text) +
                           "\", which is no compute capability (75 for 7.5 to 120 for 12.0); unset it");
    may.architecture = std::min(may.architecture, most);
    may.shared_bytes = std::min(may.shared_bytes, shared_bytes_of(most));
    return may;
}

std::size_t abilities::dynamic_shared(std::size_t static_bytes) const {
    return shared_bytes > static_bytes ? shared_bytes - static_bytes : 0;
}

}  // namespace quern::cuda

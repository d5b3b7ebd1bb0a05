// SPDX-License-Identifier: Apache-2.0
// XXH3, the project's only hash: checksums, hash tables, fingerprints. The same value on every machine.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace quern {

inline std::uint64_t hash64(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

/// 128 bits: distinct strings of one collection may be assumed to have distinct hashes (the chance that any two of 10^9
/// strings collide is below 10^-20).
struct hash128_value {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const hash128_value&, const hash128_value&) = default;
};
inline hash128_value hash128(std::string_view bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.low64, h.high64};
}

}  // namespace quern

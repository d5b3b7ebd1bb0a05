// SPDX-License-Identifier: Apache-2.0
// XXH3 of bytes that arrive in pieces: equal to hash128() of all of them, and to the output of `xxh128sum`.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace quern {

class hash128_stream {
  public:
    hash128_stream() { XXH3_128bits_reset(&state_); }

    void append(std::string_view bytes) { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
    /// Of everything appended so far: 32 hexadecimal digits.
    std::string hex() const {
        XXH128_canonical_t bytes;
        XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state_));
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text;
        for (const unsigned char byte : bytes.digest) {
            text += digits[byte >> 4U];
            text += digits[byte & 15U];
        }
        return text;
    }

  private:
    alignas(64) XXH3_state_t state_{};
};

}  // namespace quern

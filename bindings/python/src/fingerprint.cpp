// SPDX-License-Identifier: Apache-2.0
#include "fingerprint.hpp"

namespace quern::python {

std::string fingerprint::text() const {
    XXH64_canonical_t bytes;
    XXH64_canonicalFromHash(&bytes, XXH3_64bits_digest(state_.get()));
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes.digest) {
        text += digits[byte / 16];
        text += digits[byte % 16];
    }
    return text;
}

}  // namespace quern::python

// SPDX-License-Identifier: Apache-2.0
// The reference compressors, and hard data for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::io::test {

std::string pack_bzip2(std::string_view plain, int level = 9);
std::string pack_gzip(std::string_view plain, int level = 6);
std::string pack_zstd(std::string_view plain, int level = 3);
std::string pack_xz(std::string_view plain, std::size_t block_bytes = 0);
/// Without a length in the header, with a window of 2^window_log bytes (zstd --long).
std::string pack_zstd_long(std::string_view plain, int window_log);
/// By preset 9, whose dictionary has 64 MiB.
std::string pack_xz_wide(std::string_view plain);

struct format {
    const char* name;
    std::function<std::string(std::string_view)> pack;
};
const std::vector<format>& formats();

/// The result of libbz2 for a whole file of one or more streams, and whether it was valid.
std::string unpack_bzip2(std::string_view packed, bool& sound);

/// `bytes` pseudo-random bytes of an alphabet of `letters`.
std::string random_bytes(std::size_t bytes, unsigned letters, std::uint64_t seed);
/// Text-like words, drawn from a vocabulary with Zipf frequencies.
std::string words(std::size_t bytes, std::uint64_t seed);

}  // namespace quern::io::test

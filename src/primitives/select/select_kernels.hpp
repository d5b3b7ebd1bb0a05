// SPDX-License-Identifier: Apache-2.0
// Selection within a range of memory, with the vector registers of the current processor. The selection is given as bits:
// bit i % 64 of word i / 64, in whole words, 0 past the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::select_detail {

/// Bit i: flags[i] is not 0. Returns the number of set bits.
std::size_t bits_of_flags(const std::uint8_t* flags, std::size_t size, std::uint64_t* bits);

/// Bit i: values[i] differs from values[i − 1], which is read even for i = 0 unless that one `begins` a run anyway.
std::size_t bits_of_runs(const std::uint32_t* values, std::size_t size, bool begins, std::uint64_t* bits);
std::size_t bits_of_runs(const std::uint64_t* values, std::size_t size, bool begins, std::uint64_t* bits);

/// Writes the values whose bits are set, `count` of them, and nothing after them.
void keep_values(const std::uint32_t* values, const std::uint64_t* bits, std::size_t size, std::uint32_t* out,
                 std::size_t count);
void keep_values(const std::uint64_t* values, const std::uint64_t* bits, std::size_t size, std::uint64_t* out,
                 std::size_t count);

/// The same for the numbers first, first + 1, …
void keep_positions(std::uint32_t first, const std::uint64_t* bits, std::size_t size, std::uint32_t* out,
                    std::size_t count);
void keep_positions(std::uint64_t first, const std::uint64_t* bits, std::size_t size, std::uint64_t* out,
                    std::size_t count);

}  // namespace quern::primitives::select_detail

// SPDX-License-Identifier: Apache-2.0
// Levels as runs of one value and bit-packed groups of eight: what hybrid_decoder reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace quern::io::parquet {

/// Appends levels of at most `max`, after their length in bytes as version 1 of a data page has it. Nothing if `max` is 0.
void append_levels(std::string& out, std::span<const std::uint16_t> levels, std::uint16_t max);

}  // namespace quern::io::parquet

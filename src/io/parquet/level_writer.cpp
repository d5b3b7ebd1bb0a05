// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/level_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "io/parquet/thrift_writer.hpp"

namespace quern::io::parquet {
namespace {

constexpr std::size_t group = 8;  ///< numbers that are packed together

void append_packed(std::string& out, std::span<const std::uint16_t> levels, unsigned width) {
    if (levels.empty()) return;
    const std::size_t groups = (levels.size() + group - 1) / group;
    append_varint(out, groups << 1U | 1U);
    std::uint64_t bits = 0;
    unsigned held = 0;
    for (std::size_t i = 0; i < groups * group; ++i) {
        bits |= std::uint64_t{i < levels.size() ? levels[i] : std::uint16_t{0}} << held;
        for (held += width; held >= 8; held -= 8) {
            out += static_cast<char>(bits & 255);
            bits >>= 8U;
        }
    }
}

void append_run(std::string& out, std::uint16_t level, std::size_t count, unsigned width) {
    append_varint(out, std::uint64_t{count} << 1U);
    out += static_cast<char>(level & 255);
    if (width > 8) out += static_cast<char>(level >> 8U);
}

}  // namespace

void append_levels(std::string& out, std::span<const std::uint16_t> levels, std::uint16_t max) {
    if (max == 0) return;
    const std::size_t begin = out.size();
    out.resize(begin + sizeof(std::uint32_t));
    const auto width = static_cast<unsigned>(std::bit_width(max));
    std::size_t packed = 0;  // levels from here to `at` are not written yet
    for (std::size_t at = 0; at < levels.size();) {
        const auto rest = levels.subspan(at);
        const auto end =
            std::ranges::find_if(rest, [&](std::uint16_t level) { return level != rest.front(); });
        std::size_t run = static_cast<std::size_t>(end - rest.begin());
        // Only the last packed group may lack numbers.
        const std::size_t missing = (group - (at - packed) % group) % group;
        if (run < missing + group) {
            at += run;
            continue;
        }
        at += missing;
        run -= missing;
        append_packed(out, levels.subspan(packed, at - packed), width);
        append_run(out, levels[at], run, width);
        at += run;
        packed = at;
    }
    append_packed(out, levels.subspan(packed), width);
    const auto bytes = static_cast<std::uint32_t>(out.size() - begin - sizeof(std::uint32_t));
    std::memcpy(out.data() + begin, &bytes, sizeof bytes);
}

}  // namespace quern::io::parquet

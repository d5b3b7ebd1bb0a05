// SPDX-License-Identifier: Apache-2.0
// The last step of every export: plain or compressed bytes.
#pragma once

#include <functional>
#include <string_view>

#include "io/compression/gzip_writer.hpp"
#include "quern/tasks/export.hpp"

namespace quern {

/// Returns write(sink), with `bytes` set to the number passed to the sink, before compression.
template <class Write>
auto write_in_form(const std::function<void(std::string_view)>& out, const export_options& options,
                   const context& ctx, const Write& write) {
    std::uint64_t bytes = 0;
    const auto counted = [&](const std::function<void(std::string_view)>& to) {
        auto counts = write([&](std::string_view part) {
            bytes += part.size();
            to(part);
        });
        counts.bytes = bytes;
        return counts;
    };
    if (!options.gzip) return counted(out);
    io::gzip_writer compressed(out, ctx);
    auto counts = counted([&](std::string_view part) { compressed.append(part); });
    compressed.finish();
    return counts;
}

}  // namespace quern

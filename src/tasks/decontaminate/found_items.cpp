// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/found_items.hpp"

#include <cstddef>

#include "base/checked_varint.hpp"
#include "base/varint.hpp"
#include "quern/base/error.hpp"

namespace quern {

std::string bytes_of_matches(std::span<const contamination> matches) {
    std::string bytes;
    for (const contamination& m : matches)
        for (const std::uint32_t number : {m.item, m.found, m.of, m.begin, m.end})
            append_varint(bytes, number);
    return bytes;
}

std::vector<contamination> matches_of_bytes(std::string_view bytes, std::uint32_t items,
                                            const std::filesystem::path& job) {
    std::vector<contamination> matches;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto number = [&] {
            std::uint64_t value = 0;
            if (!read_checked_varint(bytes, at, value) || value > UINT32_MAX)
                throw damaged_store(job.string(), "matches", "ends early");
            return static_cast<std::uint32_t>(value);
        };
        contamination& m = matches.emplace_back();
        m.item = number();
        m.found = number();
        m.of = number();
        m.begin = number();
        m.end = number();
        if (m.item >= items) throw damaged_store(job.string(), "matches", "names an item that is not there");
    }
    return matches;
}

}  // namespace quern

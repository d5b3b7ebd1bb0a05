// SPDX-License-Identifier: Apache-2.0
#include "tasks/filter/verdicts.hpp"

#include <cstddef>
#include <cstdint>

#include "base/checked_varint.hpp"
#include "base/varint.hpp"
#include "quern/base/error.hpp"

namespace quern {

std::string bytes_of_verdict(const verdict_of_text& verdict) {
    const judged& found = verdict.found;
    std::string bytes;
    append_varint(bytes, static_cast<std::uint64_t>(found.reason + 1) * 2 + (found.is_changed ? 1 : 0));
    append_varint(bytes, found.emails);
    append_varint(bytes, found.ips);
    append_varint(bytes, found.value.size());
    bytes += found.value;
    if (found.is_changed) bytes += verdict.text;
    return bytes;
}

verdict_of_text verdict_of(std::string_view bytes, const std::filesystem::path& job) {
    std::size_t at = 0;
    const auto number = [&] {
        std::uint64_t value = 0;
        if (!read_checked_varint(bytes, at, value))
            throw damaged_store(job.string(), "verdicts", "ends early");
        return value;
    };
    verdict_of_text verdict;
    const std::uint64_t kind = number();
    judged& found = verdict.found;
    found.reason = static_cast<std::int32_t>(kind / 2) - 1;
    found.is_changed = kind % 2 != 0;
    found.emails = static_cast<std::uint32_t>(number());
    found.ips = static_cast<std::uint32_t>(number());
    const std::uint64_t size = number();
    if (size > bytes.size() - at) throw damaged_store(job.string(), "verdicts", "ends early");
    found.value = bytes.substr(at, size);
    if (found.is_changed) verdict.text = bytes.substr(at + size);
    return verdict;
}

}  // namespace quern

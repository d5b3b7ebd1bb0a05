// SPDX-License-Identifier: Apache-2.0
// Triples: for any bytes, an accepted triple equals the content of the line, and nothing else is accepted.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tasks/words/triple_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    const quern::triple_line triple = quern::parse_triple(line);
    if (triple.fault != nullptr) return 0;
    std::string again =
        std::string(triple.word).append("\t").append(triple.relation).append("\t").append(triple.other);
    const bool fields = !triple.word.empty() && !triple.relation.empty() && !triple.other.empty();
    if (!fields || triple.count == 0 || !line.starts_with(again)) std::abort();
    if (line.size() == again.size()) return triple.count == 1 ? 0 : (std::abort(), 1);
    // Then the count, perhaps with leading zeros.
    std::string_view count = line.substr(again.size());
    if (!count.starts_with('\t')) std::abort();
    count.remove_prefix(1);
    count.remove_prefix(std::min(count.find_first_not_of('0'), count.size()));
    if (count != std::to_string(triple.count)) std::abort();
    return 0;
}

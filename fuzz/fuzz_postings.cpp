// SPDX-License-Identifier: Apache-2.0
// A search over three lists of arbitrary bytes: damage is reported or the ranking is valid, and it does not depend on the
// partition of the work. Input: counts of the lists (bytes 0 to 5), their ends (6 to 9), then the bytes.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "ops/search/postings.hpp"
#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern;
    constexpr std::size_t head = 10;
    if (size < head) return 0;
    static const std::vector<std::uint32_t> lengths = [] {
        std::vector<std::uint32_t> made(6000);
        for (std::uint32_t d = 0; d < made.size(); ++d) made[d] = d % 11 == 0 ? 0 : 1 + d * 37 % 500;
        return made;
    }();
    const collection_view collection{lengths, 1u << 30};
    const std::span<const char> bytes(reinterpret_cast<const char*>(data) + head, size - head);
    const auto number = [&](std::size_t at) {
        return std::uint32_t{data[at]} | std::uint32_t{data[at + 1]} << 8;
    };

    std::vector<query_term> terms;
    bool sound = true;
    for (std::size_t i = 0, begin = 0; i < 3; ++i) {
        const std::size_t end =
            i == 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), begin + number(6 + 2 * i));
        const std::uint32_t documents = number(2 * i) % 6001;
        const posting_list list{bytes.subspan(begin, end - begin), documents, std::uint64_t{documents} + i};
        terms.push_back({list, static_cast<std::uint32_t>(i + 1)});
        try {
            std::uint64_t next = 0, occurrences = 0;
            for (search_detail::postings_cursor cursor(list, lengths); !cursor.done(); cursor.next_block()) {
                cursor.decode();
                for (std::size_t p = 0; p < cursor.documents().size(); ++p) {
                    if (cursor.documents()[p] < next || cursor.documents()[p] >= lengths.size()) std::abort();
                    next = cursor.documents()[p] + std::uint64_t{1};
                    occurrences += cursor.frequencies()[p];
                }
            }
            auto counted = list;
            counted.collection_frequency = occurrences;
            search_detail::check_postings(counted, lengths);
        } catch (const damaged_store&) {
            sound = false;
        }
        begin = end;
    }
    for (const auto model :
         {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet, ranking_model::two_stage}) {
        try {
            const ranking_options options{.model = model};
            const auto pruned = search(collection, {terms}, options, 10);
            const auto whole = search_detail::rank_cpu(collection, {terms}, options, 10, {512, false});
            if (sound && pruned != whole) std::abort();
        } catch (const damaged_store&) {
            if (sound) std::abort();
        }
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "quern/tasks/similar.hpp"
#include "report/html_page.hpp"
#include "report/word_report.hpp"

namespace quern {

void write_word_report(const std::filesystem::path& space, const words_result& made,
                       const std::function<void(std::string_view)>& out, const context& ctx) {
    constexpr std::uint32_t words_shown = 200, neighbours_shown = 8;
    const word_space opened = word_space::open(space, ctx);
    const word_space_info& info = opened.info();
    report::word_report page;
    const auto size = [&page](const char* name, std::uint64_t value) {
        if (value != 0) page.sizes.emplace_back(name, report::grouped(value));
    };
    size("documents", info.documents);
    size("occurrences of words", info.occurrences);
    size("distinct words", info.distinct);
    size("words of the space", info.vocabulary);
    size("relations", info.relations);
    size("co-occurrences", info.cooccurrences);
    size("distinct triples", info.triples);
    size("contexts of all words", info.entries);
    size("neighbours of all words", info.neighbours);
    size("dimensions of vectors", info.dimensions);
    size("bytes on disk", made.space_bytes);
    size("peak memory in bytes", made.statistics.peak_memory_bytes);
    size("threads", made.statistics.threads);
    page.sizes.emplace_back("device", made.statistics.device);
    for (const stage_statistics& s : made.statistics.stages)
        page.stages.push_back({s.name, s.seconds, s.bytes});
    page.params.assign(info.requested.begin(), info.requested.end());
    for (std::uint32_t w = 0; w < opened.size() && page.words.size() < words_shown; ++w) {
        if (opened.is_stop_word(w)) continue;
        auto& entry = page.words.emplace_back(std::string(opened.word(w)), opened.frequency(w));
        const std::uint32_t top = std::min(neighbours_shown, opened.params().top);
        for (const neighbour& n : opened.similar_but_stop_words({{w}, {}}, top, ctx)) {
            entry.neighbours.emplace_back(opened.word(n.word), n.score);
        }
    }
    report::write_word_report(page, out);
}

}  // namespace quern

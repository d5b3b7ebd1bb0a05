// SPDX-License-Identifier: Apache-2.0
// Posting lists of pairs of words: batches of documents are inverted in parallel, as words are when an index is made, with
// pairs in place of words; the runs are merged once.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/cpu/threads.hpp"
#include "device/files/scratch_folder.hpp"
#include "ops/search/indexing/inverter.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/ngram_index.hpp"
#include "tasks/store_build/run_store.hpp"
#include "tasks/store_build/stages.hpp"

namespace quern {
namespace {

/// The letters of the words that are in pairs; of others nothing.
std::vector<std::string> words_in_pairs(const opened_store& store) {
    const word_index& words = store.words();
    std::vector<std::string> letters(words.dictionary().size());
    for (std::uint32_t w = 0; w < letters.size(); ++w)
        if (is_in_pairs(store.info().documents, words.document_frequency(w)))
            letters[w] = words.dictionary().word(w);
    return letters;
}

struct documents_to_pair {
    std::uint32_t first = 0, last = 0;
    search_detail::sorted_run run;
};

search_detail::sorted_run pairs_of(const documents_to_pair& batch, const search_detail::token_stream& tokens,
                                   const std::vector<std::string>& letters) {
    search_detail::inverter inverter;
    std::vector<std::uint32_t> words;
    std::string pair;
    for (std::uint32_t d = batch.first; d < batch.last; ++d) {
        words.clear();
        tokens.code->decode(tokens.words_of(d), words);
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string &before = letters[words[i - 1]], &word = letters[words[i]];
            if (before.empty() || word.empty()) continue;
            set_pair_key(pair, before, word);
            inverter.add(pair);
        }
        inverter.end_document();
    }
    return inverter.finish();
}

}  // namespace

stage_outcome make_ngrams(const opened_store& store, const context& ctx) {
    constexpr std::uint64_t bytes_a_word = 64;  // of an inverter, at most
    const auto lengths = store.collection().document_lengths;
    const std::vector<std::string> letters = words_in_pairs(store);
    const search_detail::token_stream tokens = store.tokens();
    const std::uint64_t memory = ctx.memory_limit();
    const std::uint64_t words_at_once = std::clamp<std::uint64_t>(
        memory / 4 / (ctx.thread_count() + std::uint64_t{2}) / bytes_a_word, 1 << 16, 1 << 22);
    const scratch_folder scratch(ctx);
    run_store runs(scratch.file("pair_runs"), memory / 4);
    std::uint32_t next = 0;
    pipeline<documents_to_pair> line(ctx.thread_count() + std::size_t{2});
    line.from([&](documents_to_pair& batch) {
        ctx.check_stop();
        ctx.report({"ngrams", next, lengths.size(), "documents"});
        batch.first = next;
        for (std::uint64_t words = 0; next < lengths.size() && words < words_at_once;)
            words += lengths[next++];
        batch.last = next;
        return batch.first != batch.last;
    });
    line.in_parallel([&](documents_to_pair& batch) { batch.run = pairs_of(batch, tokens, letters); });
    line.in_order([&](documents_to_pair& batch) { runs.append(std::move(batch.run)); });
    run_parallel(ctx, [&] { line.run(); });
    const auto made = run_parallel(ctx, [&] {
        return runs.merge("merge ngrams", store.path(), store_layout::pairs, lengths, ctx, memory / 2);
    });
    stage_outcome outcome;
    outcome.sections = made.sections;
    std::uint64_t bytes = 0;
    for (const store_section& section : made.sections) bytes += section.bytes;
    outcome.counts = {{"ngrams", made.vocabulary}, {"ngram_postings", made.postings}, {"ngram_bytes", bytes}};
    return outcome;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Batches of documents go through a pipeline: the words of each are counted (in parallel) and become one row, rows are
// appended in order. Words outside the thesaurus are ignored.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/canonical_math.hpp"
#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/store/section.hpp"
#include "ops/word_similarity/vectors/text_vectors.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store_build/stages.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {
namespace {

using word_similarity_detail::counted_word;
using word_similarity_detail::text_vectors;

constexpr std::uint32_t no_word = 0xffffffff;

/// The words of a thesaurus, by the store's numbers.
struct known_words {
    std::vector<std::uint32_t> in_thesaurus;  ///< of each word of the store, or no_word
    text_vectors vectors;
};

known_words words_of(const opened_store& store, const std::filesystem::path& thesaurus, const context& ctx) {
    const word_space_info info = read_word_space_info(thesaurus);
    const auto open = [&](std::string_view name) {
        return space_layout::open_section(thesaurus, info, name);
    };
    const io::section_view words = open(space_layout::words), vectors = open(space_layout::vectors),
                           singular_values = open(space_layout::singular_values);
    const std::uint32_t vocabulary = store.words().dictionary().size();
    with_remaining_memory(ctx,
                          text_vectors::bytes(info.vocabulary, info.dimensions) +
                              std::uint64_t{vocabulary} * sizeof(std::uint32_t) +
                              std::uint64_t{info.vocabulary} * (sizeof(double) + 4 * ctx.thread_count()),
                          "vectors of words");

    std::vector<std::uint32_t> in_thesaurus(vocabulary, no_word);
    std::vector<double> weights(info.vocabulary);
    cpu_place place(ctx);
    const std::size_t pieces = pieces_for(place, info.vocabulary, 1024);
    for_each_piece(place, pieces, [&](std::size_t p) {
        ctx.check_stop();
        const item_range mine = piece_of(info.vocabulary, pieces, p);
        for (auto w = static_cast<std::uint32_t>(mine.begin); w < mine.end; ++w) {
            const auto id = store.words().dictionary().find(io::column_string(words, w, info.vocabulary));
            if (!id) words.fail("has a word that the store lacks");
            in_thesaurus[*id] = w;
            const double holding = store.words().postings(*id).document_frequency;
            weights[w] = canonical_log(static_cast<double>(store.info().documents) / holding);
        }
    });
    return {std::move(in_thesaurus),
            text_vectors(place, vectors.values<float>(0, std::uint64_t{info.vocabulary} * info.dimensions),
                         singular_values.values<double>(0, info.dimensions), weights)};
}

/// How often each word of a document occurs. One per thread.
class word_counter {
  public:
    explicit word_counter(std::size_t words) : counts_(words) {}

    std::span<const counted_word> count(const search_detail::token_stream& tokens, std::uint32_t document,
                                        std::span<const std::uint32_t> in_thesaurus) {
        words_.clear();
        found_.clear();
        tokens.code->decode(tokens.words_of(document), words_);
        for (const std::uint32_t word : words_) {
            const std::uint32_t known = in_thesaurus[word];
            if (known != no_word && counts_[known]++ == 0) found_.push_back({known, 0});
        }
        for (counted_word& w : found_) w.count = std::exchange(counts_[w.word], 0);
        return found_;
    }

  private:
    std::vector<std::uint32_t> counts_, words_;
    std::vector<counted_word> found_;
};

struct batch {
    std::uint32_t first = 0, last = 0;
    std::vector<std::int16_t> rows;
    std::uint32_t without = 0;  ///< number of zero rows
};

}  // namespace

stage_outcome make_document_vectors(const opened_store& store, const context& ctx) {
    constexpr std::uint32_t documents_at_once = 64;
    stage_outcome outcome;
    const auto thesaurus = store.thesaurus();
    if (!thesaurus || read_word_space_info(*thesaurus).dimensions == 0) {
        outcome.nothing = "the store has no thesaurus, which they need";
        return outcome;
    }
    const known_words known = words_of(store, *thesaurus, ctx);
    const std::uint32_t dimensions = known.vectors.dimensions();
    const auto documents = static_cast<std::uint32_t>(store.info().documents);
    const search_detail::token_stream tokens = store.tokens();
    const std::uint32_t vocabulary = read_word_space_info(*thesaurus).vocabulary;
    tbb::enumerable_thread_specific<word_counter> counters([vocabulary] { return word_counter(vocabulary); });

    const auto file = store_layout::file_of(store.path(), store_layout::document_vectors);
    io::section_writer section(file);
    std::uint32_t next = 0, without = 0;
    pipeline<batch> line(ctx.thread_count() + std::size_t{2});
    line.from([&](batch& s) {
        ctx.check_stop();
        ctx.report({"vectors", next, documents, "documents"});
        s.first = next;
        next += std::min(documents_at_once, documents - next);
        s.last = next;
        return s.first != s.last;
    });
    line.in_parallel([&](batch& s) {
        s.rows.resize(std::size_t{s.last - s.first} * dimensions);
        for (std::uint32_t d = s.first; d < s.last; ++d) {
            const auto row = std::span(s.rows).subspan(std::size_t{d - s.first} * dimensions, dimensions);
            known.vectors.direction(counters.local().count(tokens, d, known.in_thesaurus), row);
            s.without += std::ranges::all_of(row, [](std::int16_t x) { return x == 0; }) ? 1 : 0;
        }
    });
    line.in_order([&](const batch& s) {
        section.append_values(std::span<const std::int16_t>(s.rows));
        without += s.without;
    });
    run_parallel(ctx, [&] { line.run(); });
    const auto done = section.finish();
    if (without == documents) {
        std::filesystem::remove(file);
        outcome.nothing = "no word distinguishes documents";
        return outcome;
    }
    outcome.sections = {listed_section(store_layout::document_vectors, done)};
    outcome.vectors = {dimensions, text_vectors::unit};
    outcome.counts = {{"vector_dimensions", dimensions}, {"documents_without_vector", without}};
    return outcome;
}

}  // namespace quern

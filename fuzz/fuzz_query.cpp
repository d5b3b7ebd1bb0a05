// SPDX-License-Identifier: Apache-2.0
// Any bytes as a query: splitting at quotes loses nothing, explanations add up to the exact score, the best hits are the
// first of all, and every hit contains the quoted phrases, according to counting. With operators: any bytes are a query or
// an error at a place in it, counting agrees with the ranking, and `auto` never refuses; also with typos, an unfinished word
// and accents ignored. Completions continue what is typed. Input: a byte that selects model, phrases, typos and the like, one
// for the n-gram order, then the query.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "quern/tasks/build.hpp"
#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/search/parsed_query.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quern;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::string_view corpus =
    R"({"id":"a","title":"The red mill","text":"A mill grinds grain. The red mill, the old mill: 12 stones."}
{"id":"b","title":"","text":"grain and flour and grain and flour and bread"}
{"id":"c","title":"Zürich","text":"zürich ZÜRICH \"old mill\" 東京都 מ\"מ can't won't"}
{"id":"d","title":"Empty","text":""}
)";

struct opened {
    quern::testing::temporary_folder folder;
    search_engine engine;
    ngram_counter counter;
    opened()
        : engine(search_engine::open(store(), context::cpu(1))),
          counter(ngram_counter::open(store(), context::cpu(1))) {}

    std::filesystem::path store() {
        const std::filesystem::path path = folder / "store";
        if (is_store(path)) return path;
        quern::testing::write_file(folder / "corpus.jsonl", std::string(corpus));
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = path;
        options.skip = all_build_stages;
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        return path;
    }
};

/// The pieces are parts of the query in order, with only quotation marks between them.
void check_pieces(std::string_view query, const std::vector<query_piece>& pieces) {
    const auto only_marks = [](std::string_view text) {
        while (!text.empty()) {
            const bool curly =
                text.starts_with("\u201C") || text.starts_with("\u201D") || text.starts_with("\u201E");
            require(curly || text.front() == '"');
            text.remove_prefix(curly ? 3 : 1);
        }
    };
    const char* at = query.data();
    for (const query_piece& piece : pieces) {
        require(!piece.text.empty() && piece.text.data() >= at);
        only_marks({at, piece.text.data()});
        at = piece.text.data() + piece.text.size();
    }
    require(at <= query.data() + query.size());
    only_marks({at, query.data() + query.size()});
}

/// Counting finds as many documents as the complete ranking.
void check_counts(const search_engine& engine, std::string_view query, search_options options,
                  const search_result& complete) {
    options.count = true;
    require(engine.search(query, options).total == complete.hits.size());
}

void check_operators(const search_engine& engine, std::string_view query, search_options options) {
    options.phrases = true;
    options.syntax = query_syntax::automatic;
    const search_result read = engine.search(query, options);
    check_counts(engine, query, options, read);
    for (const search_hit& hit : read.hits) {
        double sum = 0;
        for (const explained_term& of : hit.explanation) sum += of.score;
        require(sum == hit.score);
    }
    engine.matches(query, engine.words_of(query, read.syntax));
    options.syntax = query_syntax::operators;
    try {
        const search_result strict = engine.search(query, options);
        check_counts(engine, query, options, strict);
    } catch (const query_error& e) {
        require(e.position() <= query.size());
        require(e.caret().size() <= e.excerpt().size() + 1 && e.excerpt().size() < 4 * query.size() + 16);
    }
}

void check_completions(const search_engine& engine, std::string_view typed) {
    const completion_result all = engine.complete(typed, {.k = ~std::size_t{0}}, context::cpu(1));
    require(typed.starts_with(all.before) && all.total == all.words.size());
    for (const completed_word& of : all.words)
        require(of.documents != 0 && of.occurrences >= of.documents &&
                (of.distance != 0 || of.word.starts_with(all.beginning)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    static opened all;
    const std::string_view query(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::vector<query_piece> pieces = split_at_quotes(query);
    check_pieces(query, pieces);

    search_options options;
    options.ranking.model = static_cast<ranking_model>(data[0] % 4);
    if (options.ranking.model == ranking_model::ql) options.order = 1 + data[1] % 5;
    options.phrases = (data[0] & 0x80) == 0;
    options.typos = static_cast<typo_tolerance>(data[0] / 4 % 4);
    options.prefix_last = (data[0] & 0x10) != 0;
    options.explain = true;
    options.k = 4;
    check_completions(all.engine, query);
    const search_result result = all.engine.search(query, options);
    for (const search_hit& hit : result.hits) {
        double sum = 0;
        for (const explained_term& of : hit.explanation) sum += of.score;
        require(sum == hit.score);
    }
    check_counts(all.engine, query, options, result);
    search_options of_operators = options;
    if ((data[0] & 0x20) != 0) of_operators.fold = folding::accents;
    check_operators(all.engine, query, of_operators);
    for (const query_piece& piece : pieces) {
        if (!piece.quoted || !options.phrases) continue;
        const auto found = all.counter.count(piece.text, context::cpu(1));
        if (found.words.empty()) continue;
        for (const search_hit& hit : result.hits)
            require(std::ranges::find(found.documents, hit.document, &ngram_document::document) !=
                    found.documents.end());
    }
    options.k = 1;
    const search_result best = all.engine.search(query, options);
    require(best.hits.size() == std::min<std::size_t>(1, result.hits.size()));
    if (!best.hits.empty()) {
        require(best.hits[0].document == result.hits[0].document &&
                best.hits[0].score == result.hits[0].score);
        all.engine.matches(best.hits[0].snippet, query);
    }
    return 0;
}

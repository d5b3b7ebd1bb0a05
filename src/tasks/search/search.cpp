// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/search.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>

#include "device/cpu/pipeline.hpp"
#include "io/trec_files.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/snippet.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

constexpr std::size_t snippet_bytes = 240;

/// A query's words, in order, with their counts.
struct analysed_query {
    std::vector<query_term> terms;
    std::vector<std::string> words;  ///< sorted, distinct: those of the collection
    std::vector<std::string> unknown;
    bool empty = true;
};

}  // namespace

struct search_engine::state {
    explicit state(const std::filesystem::path& path)
        : store(open_store(path)),
          analysis(with_stop_words_of(store.info().text, path)),
          analyzers([options = analysis] { return text::analyzer(options); }) {}

    void words_of(std::string_view text, text::token_list& words) const;
    analysed_query analyse(std::string_view query) const;
    search_hit hit(const scored_document& scored, std::uint32_t rank) const;
    std::string snippet_of(std::uint32_t document, std::span<const std::string> words) const;

    opened_store store;
    text_options analysis;
    mutable tbb::enumerable_thread_specific<text::analyzer> analyzers;
};

/// The words of a text of the collection, or of a query, as the build read them.
void search_engine::state::words_of(std::string_view text, text::token_list& words) const {
    if (store.info().verbatim) {
        text::analyzer::take_lines(text, words);
    } else {
        analyzers.local().analyze(text, words);
    }
}

analysed_query search_engine::state::analyse(std::string_view query) const {
    text::token_list tokens;
    std::string lines(
        query);  // words stand on lines of their own in the collection, between blanks in a query
    if (store.info().verbatim)
        std::ranges::replace_if(
            lines, [](char c) { return c == ' ' || c == '\t'; }, '\n');
    words_of(lines, tokens);
    std::vector<std::string> words;
    for (const text::token& t : tokens.tokens) words.emplace_back(tokens.word(t));
    std::sort(words.begin(), words.end());

    analysed_query result;
    result.empty = words.empty();
    for (std::size_t i = 0, next; i < words.size(); i = next) {
        next = i + 1;
        while (next < words.size() && words[next] == words[i]) ++next;
        if (const auto id = store.words().dictionary().find(words[i])) {
            result.terms.push_back({store.words().postings(*id), static_cast<std::uint32_t>(next - i),
                                    store.title_words().find(words[i])});
            result.words.push_back(words[i]);
        } else {
            result.unknown.push_back(words[i]);
        }
    }
    return result;
}

std::string search_engine::state::snippet_of(std::uint32_t document,
                                             std::span<const std::string> words) const {
    const std::string text = store.text(document);
    text::token_list tokens;
    words_of(text, tokens);
    return snippet(text, tokens, words, snippet_bytes);
}

search_hit search_engine::state::hit(const scored_document& scored, std::uint32_t rank) const {
    search_hit hit;
    hit.rank = rank;
    hit.document = scored.document;
    hit.score = scored.score();
    hit.id = store.id(scored.document);
    hit.title = store.title(scored.document);
    return hit;
}

search_engine::search_engine(std::unique_ptr<state> s) : state_(std::move(s)) {}
search_engine::~search_engine() = default;
search_engine::search_engine(search_engine&&) noexcept = default;
search_engine& search_engine::operator=(search_engine&&) noexcept = default;

search_engine search_engine::open(const std::filesystem::path& store, const context& run) {
    require_cpu(run, "search");
    search_engine engine(std::make_unique<state>(store));
    const std::string& made_with = engine.state_->store.info().unicode_version;
    if (made_with != text::unicode_version()) {
        run.log(log_level::warning, store.string() + " was made with Unicode " + made_with +
                                        "; this program has " + text::unicode_version() +
                                        ", and may cut some words differently");
    }
    return engine;
}

search_answer search_engine::search(std::string_view query, const search_options& options) const {
    if (options.text && as_recorded(*options.text) != state_->store.info().text) {
        throw usage_error(state_->store.path().string() +
                          " was built with other text options than the query's");
    }
    const analysed_query analysed = state_->analyse(query);
    search_answer answer;
    answer.empty_query = analysed.empty;
    answer.unknown_words = analysed.unknown;
    const auto ranking =
        quern::search(state_->store.collection(), {analysed.terms}, options.ranking, options.k);
    answer.hits.reserve(ranking.size());
    for (const scored_document& scored : ranking) {
        answer.hits.push_back(state_->hit(scored, static_cast<std::uint32_t>(answer.hits.size() + 1)));
        if (options.snippets)
            answer.hits.back().snippet = state_->snippet_of(scored.document, analysed.words);
    }
    return answer;
}

std::vector<search_answer> search_engine::search(std::span<const search_topic> topics,
                                                 const search_options& options, const context& run) const {
    std::vector<search_answer> answers(topics.size());
    for_each_index(run, topics.size(), [&](std::uint64_t i) {
        run.check_stop();
        answers[i] = search(topics[i].query, options);
    });
    return answers;
}

std::uint64_t search_engine::documents() const {
    return state_->store.info().documents;
}
std::uint64_t search_engine::vocabulary() const {
    return state_->store.info().vocabulary;
}
const text_options& search_engine::text() const {
    return state_->store.info().text;
}

std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& run) {
    std::vector<search_topic> topics;
    for (io::topic& t : io::read_topics(path, run)) topics.push_back({std::move(t.id), std::move(t.query)});
    return topics;
}

}  // namespace quern

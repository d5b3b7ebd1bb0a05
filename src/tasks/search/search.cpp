// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "io/trec_files.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/query_pieces.hpp"
#include "tasks/search/suggestions.hpp"
#include "tasks/store/snippet.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"

namespace quern {
namespace {

constexpr std::size_t snippet_bytes = 240;
constexpr std::size_t other_lists = 2;        // beside the words': the prior and likeness
constexpr std::size_t piece_bytes = 1 << 20;  // of a long text: its words are not held together

/// The thesaurus that belongs to the store; nothing where the store has none.
std::optional<word_space> thesaurus_of(const opened_store& store) {
    const auto folder = store.thesaurus();
    if (!folder) return {};
    const store_section& listed = *store.info().thesaurus;
    const auto fail = [&](std::string_view reason) -> damaged_store {
        return {store.path().string(), listed.name, reason};
    };
    if (!is_word_space(*folder)) throw fail("is missing");
    const context run = context::cpu(1);
    auto opened = word_space::open(*folder, run);
    // Behind the opening: a thesaurus that takes this one's place meanwhile is not taken for it.
    if (checksum_of_file(*folder / space_layout::manifest, run) != listed.checksum)
        throw fail("is not the one of this store");
    return opened;
}

double as_double(std::int64_t fixed) {
    return static_cast<double>(fixed) * 0x1p-32;
}

}  // namespace

search_engine::state::state(const std::filesystem::path& path, std::uint64_t memory)
    : store(path),
      query_memory(memory),
      analyzers([this] { return store.make_analyzer(); }),
      thesaurus(thesaurus_of(store)) {}

/// The words of a text of the collection, as the build read them.
void search_engine::state::words_of(std::string_view text, text::token_list& words) const {
    if (store.info().verbatim) {
        text::analyzer::take_lines(text, words);
    } else {
        analyzers.local().analyze(text, words);
    }
}

void search_engine::state::query_words_of(std::string_view text, between_words separators,
                                          text::token_list& words) const {
    if (store.info().verbatim) {
        words_of(lines_of_query(text, separators), words);
    } else {
        words_of(text, words);
    }
}

std::vector<query_part> search_engine::state::parts_of(std::string_view query, bool phrases) const {
    std::vector<query_part> parts;
    const between_words separators = between_words_of(query);
    const auto add = [&](const query_piece& piece) {
        text::token_list tokens;
        query_words_of(piece.text, separators, tokens);
        auto& part = parts.emplace_back();
        part.quoted = piece.quoted;
        for (const text::token& t : tokens.tokens) part.words.emplace_back(tokens.word(t));
    };
    if (phrases) {
        std::ranges::for_each(split_at_quotes(query), add);
    } else {
        add({query, false});
    }
    return parts;
}

std::string search_engine::state::snippet_of(std::uint32_t document, const asked_query& asked,
                                             const context& run) const {
    const std::string text = store.text(document);
    text::token_list& words = token_lists.local();
    snippet_finder finder(asked.sought());
    for (std::size_t begin = 0; begin < text.size();) {
        run.check_stop();
        const std::string_view rest = std::string_view(text).substr(begin);
        const std::size_t bytes = first_piece(rest, piece_bytes);
        words_of(rest.substr(0, bytes), words);
        finder.look_through(words, begin);
        begin += bytes;
    }
    return finder.passage(text, snippet_bytes);
}

search_hit search_engine::state::hit(const scored_document& scored, std::uint32_t rank) const {
    search_hit hit;
    hit.rank = rank;
    hit.document = scored.document;
    hit.score = scored.score();
    hit.id = store.id(scored.document);
    hit.title = store.title(scored.document);
    hit.words = store.collection().document_lengths[scored.document];
    return hit;
}

search_engine::search_engine(std::unique_ptr<state> s) : state_(std::move(s)) {}
search_engine::~search_engine() = default;
search_engine::search_engine(search_engine&&) noexcept = default;
search_engine& search_engine::operator=(search_engine&&) noexcept = default;

search_engine search_engine::open(const std::filesystem::path& store, const context& run) {
    constexpr unsigned share = 4;  // of the memory, for one query
    std::unique_ptr<state> opened;
    open_as_one(store, [&] { opened = std::make_unique<state>(store, run.memory_limit() / share); });
    search_engine engine(std::move(opened));
    text::warn_of_other_unicode(store, engine.state_->store.info().unicode_version, run);
    return engine;
}

void search_engine::state::check(const search_options& options) const {
    if (options.text && as_recorded(*options.text) != store.info().text)
        throw usage_error(store.path().string() + " was built with other text options than the query's");
    if (options.order < 1 || options.order > most_query_order)
        throw usage_error(fmt::format("order must lie between 1 and {}", most_query_order));
    if (options.order > 1 && options.ranking.model != ranking_model::ql)
        throw usage_error("order beyond 1 is for the model ql alone");
    if (!(options.prior >= 0 && options.prior <= 100))
        throw usage_error("the weight of the prior must lie between 0 and 100");
    if (!(options.expand_weight > 0 && options.expand_weight <= 1))
        throw usage_error("the weight of similar words must lie above 0, and be 1 at most");
    if (!(options.like_weight > 0 && options.like_weight <= 100))
        throw usage_error("the weight of likeness must lie above 0, and be 100 at most");
}

search_engine::prepared::prepared(const state& of, const search_options& options, const context& run) {
    of.check(options);
    if (options.prior != 0) ranks = &of.ranks();
    if (options.expand != 0) {
        thesaurus = &of.needed_thesaurus();
        if (const auto most = thesaurus->question().top; options.expand > most)
            throw usage_error(
                fmt::format("similar words may be {} a word at most: the thesaurus of {} holds no more", most,
                            of.store.path().string()));
    }
    if (options.like) like.emplace(of.store, of.squares(run), *options.like, options.like_weight, run);
}

search_answer search_engine::search(std::string_view query, const search_options& options) const {
    return search(query, options, context());
}

search_answer search_engine::search(std::string_view query, const search_options& options,
                                    const context& run) const {
    return answer(query, options, *prepare(options, run), run);
}

std::shared_ptr<const search_engine::prepared> search_engine::prepare(const search_options& options,
                                                                      const context& run) const {
    return std::make_shared<prepared>(*state_, options, run);
}

search_answer search_engine::answer(std::string_view query, const search_options& options,
                                    const prepared& lists, const context& run) const {
    const auto asked = state_->ask(query, options, lists, run);
    return state_->answer(*asked,
                          quern::search(state_->store.collection(), asked->whole, options.ranking, options.k),
                          options, lists, run);
}

std::unique_ptr<search_engine::question> search_engine::state::ask(std::string_view query,
                                                                   const search_options& options,
                                                                   const prepared& lists,
                                                                   const context& run) const {
    auto made = std::make_unique<question>(
        store, lists.thesaurus, parts_of(query, options.phrases), options, query_memory, run,
        [this](std::string_view text, text::token_list& words) { words_of(text, words); });
    made->whole = made->asked.view();
    if (lists.ranks != nullptr) made->whole.prior = lists.ranks->weighing(options.prior);
    if (lists.like) {
        made->whole.listed = lists.like->parts();
        made->whole.left_out = lists.like->document();
    }
    return made;
}

search_answer search_engine::state::answer(const question& of, std::span<const scored_document> ranking,
                                           const search_options& options, const prepared& lists,
                                           const context& run) const {
    const asked_query& asked = of.asked;
    const search_query& whole = of.whole;
    search_answer answer;
    answer.empty_query = asked.empty();
    answer.unknown_words = asked.unknown();
    answer.similar_words = asked.similar();
    if (options.suggestions != 0)
        answer.suggestions = suggest_words(store.words(), asked.unknown_words(), options.suggestions, run);
    const auto explained = [&](std::uint32_t document) {
        auto terms = asked.explain(options.ranking, document);
        if (whole.prior) {
            auto& made = terms.emplace_back();
            made.list = explained_list::prior;
            made.term = "link rank";
            made.weight = options.prior;
            made.value = lists.ranks->over_average(document);
            made.score = made.part = as_double(prior_part(*whole.prior, document));
        }
        if (whole.listed && (*whole.listed)[document] != not_listed) {
            auto& made = terms.emplace_back();
            made.list = explained_list::like;
            made.term = store.id(lists.like->document());
            made.weight = options.like_weight;
            made.value = lists.like->cosine(document);
            made.score = made.part = as_double((*whole.listed)[document]);
        }
        return terms;
    };
    const std::size_t shown = ranking.size() - std::min(options.offset, ranking.size());
    if (options.explain) {
        const std::uint64_t bytes = shown * (asked.most_explained() + other_lists) * sizeof(explained_term);
        if (bytes > query_memory)
            throw out_of_memory(fmt::format("the explanations of {} results", shown), bytes, query_memory);
    }
    answer.hits.reserve(shown);
    for (std::size_t i = options.offset; i < ranking.size(); ++i) {
        run.check_stop();
        auto& found = answer.hits.emplace_back(hit(ranking[i], static_cast<std::uint32_t>(i + 1)));
        if (options.snippets) found.snippet = snippet_of(ranking[i].document, asked, run);
        if (options.explain) found.explanation = explained(ranking[i].document);
        if (options.copies) add_copies(found, asked);
    }
    return answer;
}

const document_finder& search_engine::state::finder() const {
    std::call_once(finder_asked, [&] { made_finder.emplace(store); });
    return *made_finder;
}

void search_engine::state::add_copies(search_hit& hit, const asked_query& asked) const {
    if (store.copies().size() == 0) return;
    const std::vector<document_copies::copy> copies = store.copies().of(hit.document);
    hit.copy_count = copies.size();
    std::vector<std::pair<std::size_t, std::size_t>> order;  // words of the query that a title lacks, copy
    text::token_list& title = token_lists.local();
    for (std::size_t i = 0; i < copies.size(); ++i) {
        words_of(copies[i].title, title);
        const auto stands_there = [&](std::string_view word) {
            return std::ranges::any_of(title.tokens,
                                       [&](const text::token& t) { return title.word(t) == word; });
        };
        order.emplace_back(std::ranges::count_if(asked.words(), std::not_fn(stands_there)), i);
    }
    const std::size_t shown = std::min(most_hit_copies, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown));
    for (const auto& [lacking, i] : std::span(order).first(shown))
        hit.copies.push_back({copies[i].id, copies[i].title, copies[i].distance});
}

const prior_ranks& search_engine::state::ranks() const {
    std::call_once(ranks_asked, [&] { made_ranks.emplace(store); });
    return *made_ranks;
}

const vector_squares& search_engine::state::squares(const context& run) const {
    std::call_once(squares_asked, [&] { made_squares.emplace(store, run); });
    return *made_squares;
}

const word_space& search_engine::state::needed_thesaurus() const {
    if (!thesaurus)
        throw usage_error(store.path().string() +
                          " has no thesaurus, which similar words come from: the stage thesaurus of quern "
                          "build makes it");
    return *thesaurus;
}

std::optional<std::uint32_t> search_engine::find(std::string_view id) const {
    return state_->finder().find(id);
}

std::optional<std::string_view> search_engine::near_id(std::string_view text) const {
    const auto folded = [](char c) {
        return c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const auto alike = [&](std::string_view other) {
        return std::ranges::equal(text, other, {}, folded, folded);
    };
    const opened_store& store = state_->store;
    std::optional<std::string_view> near;
    for (std::uint32_t d = 0; d < documents(); ++d) {
        if (store.title(d) == text) return store.id(d);
        if (!near && (alike(store.id(d)) || alike(store.title(d)))) near = store.id(d);
    }
    return near;
}

void search_engine::warm_up() const {
    state_->analyzers.local();
    state_->finder();
    if (has_link_ranks()) state_->ranks();
    if (has_document_vectors()) state_->squares(context());
}

const word_space* search_engine::thesaurus() const {
    return state_->thesaurus ? &*state_->thesaurus : nullptr;
}

stored_document search_engine::document(std::uint32_t number) const {
    if (number >= documents()) throw usage_error("there is no document " + std::to_string(number));
    const opened_store& store = state_->store;
    return {store.id(number), store.title(number), store.text(number),
            store.collection().document_lengths[number]};
}

std::vector<text_match> search_engine::matches(std::string_view text, std::string_view query) const {
    return matches(text, words_of(query));
}

std::vector<text_match> search_engine::matches(std::string_view text,
                                               std::span<const std::string> words) const {
    text::token_list held;
    // Of a snippet, whose words stand between blanks too.
    state_->query_words_of(text, between_words::blanks, held);
    std::vector<text_match> found;
    for (const text::token& t : held.tokens) {
        if (std::ranges::binary_search(words, held.word(t))) found.push_back({t.source_begin, t.source_end});
    }
    return found;
}

std::vector<std::string> search_engine::words_of(std::string_view query) const {
    std::string unquoted(query);
    std::ranges::replace(unquoted, '"', ' ');
    text::token_list held;
    state_->query_words_of(unquoted, between_words::blanks, held);
    std::vector<std::string> words;
    words.reserve(held.tokens.size());
    for (const text::token& t : held.tokens) words.emplace_back(held.word(t));
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    return words;
}

std::vector<std::string> search_engine::telling_words_of(std::string_view query) const {
    return telling_words(state_->store, words_of(query));
}

std::uint64_t search_engine::documents() const {
    return state_->store.info().documents;
}
std::uint64_t search_engine::vocabulary() const {
    return state_->store.info().vocabulary;
}
bool search_engine::has_link_ranks() const {
    return state_->store.link_ranks().has_value();
}
bool search_engine::has_thesaurus() const {
    return state_->thesaurus.has_value();
}
bool search_engine::has_document_vectors() const {
    return state_->store.document_vectors().has_value();
}
std::uint64_t search_engine::copies() const {
    return state_->store.copies().size();
}
const text_options& search_engine::text() const {
    return state_->store.info().text;
}
const store_info& search_engine::store() const {
    return state_->store.info();
}

std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& run) {
    std::vector<search_topic> topics;
    for (io::topic& t : io::read_topics(path, run)) topics.push_back({std::move(t.id), std::move(t.query)});
    return topics;
}

}  // namespace quern

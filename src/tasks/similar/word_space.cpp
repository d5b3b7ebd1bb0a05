// SPDX-License-Identifier: Apache-2.0
// A word space, mapped. The results stored by words() are read in place; others (more neighbours, combinations,
// neighbours within a list) are computed from the rows of weights, or from the vectors, by the same formulas.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "base/utf8.hpp"
#include "device/cpu/cpu_place.hpp"
#include "io/store/section.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/similar/opened_space.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_of_language.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/words_checks.hpp"

namespace quern {
namespace {

namespace layout = space_layout;

/// The edits that a typing error may take: 1 in a word of up to 3 letters, 2 of up to 7, else 3.
std::uint32_t near_enough(std::size_t letters) {
    return letters < 4 ? 1 : letters < 8 ? 2 : 3;
}

void append_code_points(std::string_view text, std::vector<std::uint32_t>& out) {
    for (std::size_t at = 0; at < text.size();)
        out.push_back(static_cast<std::uint32_t>(next_utf8(text, at)));
}

void keep_best(std::vector<neighbour>& found, std::size_t top) {
    const auto before = [](const neighbour& a, const neighbour& b) {
        return a.score != b.score ? a.score > b.score : a.word < b.word;
    };
    if (found.size() > top) {
        std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(top), before);
        found.resize(top);
    }
    std::ranges::sort(found, before);
}

}  // namespace

word_space::state::state(std::filesystem::path where, const context& ctx)
    : path(std::move(where)), info(layout::read_manifest(path).info) {
    try {
        text = layout::text_of(info.requested);
        params = layout::params_of(info.requested);
    } catch (const std::runtime_error& e) {
        throw damaged_store((path / layout::manifest).string(), "manifest", e.what());
    }
    analyzers.emplace(text, path);
    const auto open_as = [this](std::string_view name) { return layout::open_section(path, info, name); };
    words = open_as(layout::words);
    word_order = open_as(layout::word_order);
    frequencies = open_as(layout::frequencies);
    context_ends = open_as(layout::context_ends);
    contexts = open_as(layout::contexts);
    context_weights = open_as(layout::context_weights);
    context_counts = open_as(layout::context_counts);
    neighbour_ends = open_as(layout::neighbour_ends);
    neighbours = open_as(layout::neighbours);
    neighbour_scores = open_as(layout::neighbour_scores);
    if (info.dimensions != 0) vectors = open_as(layout::vectors);
    of_triples = manifests::find_section(info.sections, layout::relations) != nullptr;
    if (of_triples) relations = open_as(layout::relations);
    refuse_other_sizes();
    if (info.unicode_version != text::unicode_version() && !info.verbatim) {
        ctx.log(log_level::warning,
                fmt::format(
                    "{} was made with Unicode {}, this program has {}: words may be segmented differently",
                    path.string(), info.unicode_version, text::unicode_version()));
    }
}

void word_space::state::refuse_other_sizes() const {
    const std::uint64_t n = info.vocabulary, contexts_in_all = std::uint64_t{info.relations} * n;
    const auto expect = [](const io::section_view& section, std::uint64_t bytes) {
        if (section.size() != bytes) section.fail("has another length");
    };
    expect(word_order, 4 * n);
    expect(frequencies, 8 * n);
    expect(context_ends, 8 * (n + 1));
    expect(contexts, 4 * info.entries);
    expect(context_weights, 4 * info.entries);
    expect(context_counts, 8 * contexts_in_all);
    expect(neighbour_ends, 8 * (n + 1));
    expect(neighbours, 4 * info.neighbours);
    expect(neighbour_scores, 8 * info.neighbours);
    if (info.dimensions != 0) expect(vectors, 4 * n * info.dimensions);
    if (!of_triples && info.relations != 1 && info.relations != 2 * params.counting.window) {
        contexts.fail("has another number of relations than its window");
    }
}

text::token_list word_space::state::tokens_of(std::string_view typed) const {
    const std::lock_guard one_at_a_time(analyzing);
    if (!analyzer) analyzer.emplace(analyzers->make());
    text::token_list tokens;
    analyzer->analyze(typed, tokens, text::boundaries::none, text::dropped_words::keep_place);
    return tokens;
}

range_of word_space::state::row_of(const io::section_view& ends, std::uint32_t row, std::uint64_t max) {
    const auto two = ends.values<std::uint64_t>(std::uint64_t{row} * 8, 2);
    if (two[0] > two[1] || two[1] > max) ends.fail("is out of order");
    return {two[0], two[1] - two[0]};
}

context_matrix_view word_space::state::matrix(const context& ctx) const {
    std::call_once(matrix_checked, [&] {
        const auto ends = context_ends.values<std::uint64_t>(0, info.vocabulary + std::uint64_t{1});
        if (ends.front() != 0 || ends.back() != info.entries || !std::ranges::is_sorted(ends)) {
            context_ends.fail("is out of order");
        }
        for (const io::section_view* section : {&contexts, &context_weights, &context_counts}) {
            manifests::check_all(*section, ctx);
        }
    });
    const std::uint64_t n = info.vocabulary;
    return {info.vocabulary,
            info.relations,
            context_ends.values<std::uint64_t>(0, n + 1),
            contexts.values<std::uint32_t>(0, info.entries),
            context_weights.values<float>(0, info.entries),
            context_counts.values<std::uint64_t>(0, info.relations * n)};
}

std::span<const float> word_space::state::vector(std::uint32_t word) const {
    return vectors.values<float>(std::uint64_t{word} * info.dimensions * 4, info.dimensions);
}

context_matrix word_space::state::neighbour_matrix(const context& ctx) const {
    if (info.neighbours == 0)
        throw usage_error(path.string() +
                          " stores no neighbours to compare by (make it with --top of at least 1)");
    context_matrix made;
    made.words = info.vocabulary;
    made.relations = 1;
    made.offsets.push_back(0);
    made.column_counts.resize(info.vocabulary);
    for (std::uint32_t w = 0; w < info.vocabulary; ++w) {
        if (w % 1024 == 0) ctx.check_stop();
        std::vector<neighbour> row = stored_neighbours(w);
        std::ranges::sort(row, {}, &neighbour::word);
        for (const neighbour& n : row) {
            const auto weight = static_cast<float>(n.score);
            if (!(weight > 0)) continue;  // of vectors
            made.columns.push_back(n.word);
            made.weights.push_back(weight);
            ++made.column_counts[n.word];
        }
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

std::vector<double> word_space::state::scores(std::span<const word_pair> pairs, const context& ctx) const {
    if (second_order) return pair_similarities(second_order->view(), similarity_options{}, pairs, ctx);
    if (params.measure == word_measure::lsa) {
        return scores_of_vectors([this](std::uint32_t w) { return vector(w); }, params.lsa_measure, pairs,
                                 ctx);
    }
    return pair_similarities(matrix(ctx), similarity_of(params, similarity_method::automatic), pairs, ctx);
}

word_space::word_space(std::unique_ptr<state> s) : state_(std::move(s)) {}
word_space::~word_space() = default;
word_space::word_space(word_space&&) noexcept = default;
word_space& word_space::operator=(word_space&&) noexcept = default;

word_space word_space::open(const std::filesystem::path& space, const context& ctx) {
    return word_space(std::make_unique<state>(space, ctx));
}

void word_space::compare_by_neighbours(const context& ctx) {
    state_->second_order = state_->neighbour_matrix(ctx);
}

const word_space_info& word_space::info() const {
    return state_->info;
}
const space_params& word_space::params() const {
    return state_->params;
}
std::uint32_t word_space::size() const {
    return state_->info.vocabulary;
}
std::string_view word_space::word(std::uint32_t id) const {
    return io::column_string(state_->words, id, size());
}
std::uint64_t word_space::frequency(std::uint32_t id) const {
    return state_->frequencies.value<std::uint64_t>(std::uint64_t{id} * 8);
}
bool word_space::has_vectors() const {
    return state_->info.dimensions != 0;
}
std::span<const float> word_space::vector(std::uint32_t word) const {
    if (!has_vectors()) throw usage_error(state_->path.string() + " has no vectors; make it with --vectors");
    return state_->vector(word);
}

std::string word_space::relation(std::uint32_t r) const {
    if (state_->of_triples) {
        return std::string(io::column_string(state_->relations, r, state_->info.relations));
    }
    if (state_->info.relations == 1 && state_->params.counting.relation == word_relation::none) return "*";
    const std::uint32_t window = state_->params.counting.window;
    return r < window ? fmt::format("-{}", window - r) : fmt::format("+{}", r - window + 1);
}

std::string word_space::spelling(std::string_view typed) const {
    if (state_->info.verbatim) return std::string(typed);
    const text::token_list words = state_->tokens_of(typed);
    if (words.tokens.size() != 1) {
        throw usage_error(fmt::format("'{}' is {} by the text options of {}", typed,
                                      words.tokens.empty() ? "not a word" : "more than one word",
                                      state_->path.string()));
    }
    const std::string_view word = words.word(words.tokens[0]);
    if (word.empty()) {
        throw usage_error(fmt::format("'{}' is a stop word or too short by the text options of {}", typed,
                                      state_->path.string()));
    }
    return std::string(word);
}

std::optional<std::uint32_t> word_space::find(std::string_view spelling) const {
    const auto order = state_->word_order.values<std::uint32_t>(0, size());
    const auto word_at = [this](std::uint32_t id) {
        if (id >= size()) state_->word_order.fail("names a missing word");
        return word(id);
    };
    const auto at = std::ranges::lower_bound(order, spelling, {}, word_at);
    if (at == order.end() || word_at(*at) != spelling) return std::nullopt;
    return *at;
}

std::span<const std::uint32_t> word_space::state::stop_words(const word_space& of) const {
    std::call_once(stop_words_requested, [&] {
        counted_vocabulary counted{text, info.verbatim, info.occurrences, {}, {}};
        counted.find = [&](std::string_view word) { return of.find(word); };
        counted.frequency = [&](std::uint32_t id) { return of.frequency(id); };
        found_stop_words = stop_words_in(counted);
    });
    return found_stop_words;
}

bool word_space::is_stop_word(std::uint32_t id) const {
    return std::ranges::binary_search(state_->stop_words(*this), id);
}

std::vector<neighbour> word_space::similar_but_stop_words(const word_combination& requested,
                                                          std::uint32_t top, const context& ctx) const {
    // Stored neighbours cost nothing; more would be computed.
    std::vector<neighbour> found = similar(requested, std::max(top, state_->params.top), ctx);
    std::erase_if(found, [&](const neighbour& n) { return is_stop_word(n.word); });
    if (found.size() > top) found.resize(top);
    return found;
}

std::vector<std::uint32_t> word_space::near_spellings(std::string_view spelling, const context& ctx,
                                                      std::size_t max) const {
    std::vector<std::uint32_t> units;
    append_code_points(spelling, units);
    const std::size_t letters = units.size();
    const std::uint32_t bound = near_enough(letters);
    // String 0 is the typed word, the others are the words of similar length.
    std::vector<std::uint64_t> offsets{0, letters};
    std::vector<std::uint32_t> ids;
    std::vector<primitives::bounded_pair> pairs;
    for (std::uint32_t id = 0; id < size(); ++id) {
        const std::size_t before = units.size();
        append_code_points(word(id), units);
        const std::size_t other = units.size() - before;
        if (other > letters + bound || other + bound < letters) {
            units.resize(before);
            continue;
        }
        offsets.push_back(units.size());
        ids.push_back(id);
        pairs.push_back({0, static_cast<std::uint32_t>(ids.size()), bound});
    }
    std::vector<std::uint32_t> distances(pairs.size());
    cpu_place place(ctx);
    primitives::edit_distances<std::uint32_t>(place, units, offsets, pairs, distances);

    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // distance, id: ids fall in frequency
    for (std::size_t i = 0; i < ids.size(); ++i) {
        // If both letters of a two-letter word may differ, nothing of it remains.
        const bool shares_a_letter = distances[i] < std::max<std::size_t>(letters, 1);
        if (distances[i] != primitives::beyond_bound && shares_a_letter)
            found.emplace_back(distances[i], ids[i]);
    }
    std::ranges::sort(found);
    if (found.size() > max) found.resize(max);
    std::vector<std::uint32_t> near;
    for (const auto& [distance, id] : found) near.push_back(id);
    return near;
}

std::vector<neighbour> word_space::similar(const word_combination& requested, std::uint32_t top,
                                           const context& ctx,
                                           std::optional<std::span<const std::uint32_t>> within) const {
    if (requested.plus.empty() && requested.minus.empty()) throw usage_error("no word given");
    for (const std::span<const std::uint32_t> words : {std::span(requested.plus), std::span(requested.minus),
                                                       within.value_or(std::span<const std::uint32_t>())}) {
        if (std::ranges::any_of(words, [this](std::uint32_t w) { return w >= size(); })) {
            throw usage_error("the space lacks a query word");
        }
    }
    word_combination query = requested;
    std::ranges::sort(query.plus);
    std::ranges::sort(query.minus);
    if (query.plus.size() == 1 && query.minus.empty() && !within && !state_->second_order) {
        std::vector<neighbour> stored = state_->stored_neighbours(query.plus[0]);
        if (top <= state_->params.top || stored.size() < state_->params.top) {
            if (stored.size() > top) stored.resize(top);
            return stored;
        }
    }
    std::vector<std::uint32_t> candidates;
    if (within) {
        candidates.assign(within->begin(), within->end());
        std::ranges::sort(candidates);
        candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    } else {
        candidates.resize(size());
        std::iota(candidates.begin(), candidates.end(), std::uint32_t{0});
    }
    std::erase_if(candidates, [&](std::uint32_t w) {
        return std::ranges::binary_search(query.plus, w) || std::ranges::binary_search(query.minus, w);
    });

    std::vector<word_pair> pairs;
    for (const auto* words : {&query.plus, &query.minus}) {
        for (const std::uint32_t word : *words) {
            for (const std::uint32_t candidate : candidates) pairs.emplace_back(word, candidate);
        }
    }
    const std::vector<double> scores = state_->scores(pairs, ctx);
    std::vector<double> plus(candidates.size()), minus(candidates.size());
    auto score = scores.begin();
    for (std::size_t q = 0; q < query.plus.size() + query.minus.size(); ++q) {
        for (double& sum : q < query.plus.size() ? plus : minus) sum += *score++;
    }
    const bool all = state_->params.measure == word_measure::lsa && !state_->second_order;
    std::vector<neighbour> found;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double total = plus[i] - minus[i];
        if (all || total > 0) found.push_back({candidates[i], total});
    }
    keep_best(found, top);
    return found;
}

std::vector<double> word_space::scores(std::span<const word_pair> pairs, const context& ctx) const {
    for (const auto& [a, b] : pairs) {
        if (a >= size() || b >= size()) throw usage_error("a pair names a word that the space lacks");
    }
    return state_->scores(pairs, ctx);
}

std::vector<neighbour> word_space::state::stored_neighbours(std::uint32_t word) const {
    const range_of row = row_of(neighbour_ends, word, info.neighbours);
    const auto ids = neighbours.values<std::uint32_t>(row.begin * 4, row.count);
    const auto scores = neighbour_scores.values<double>(row.begin * 8, row.count);
    std::vector<neighbour> out(row.count);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (ids[i] >= info.vocabulary) neighbours.fail("names a missing word");
        out[i] = {ids[i], scores[i]};
    }
    return out;
}

namespace {

struct weighted_context {
    std::uint32_t column;
    float weight;
};

}  // namespace

std::vector<shared_context> word_space::contexts(std::uint32_t word, std::size_t top) const {
    const auto row = state_->context_row(word);
    std::vector<weighted_context> all(row.columns.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {row.columns[i], row.weights[i]};
    std::ranges::stable_sort(all, std::greater<>(), &weighted_context::weight);
    if (all.size() > top) all.resize(top);
    std::vector<shared_context> out;
    for (const auto& [column, weight] : all) out.push_back({column / size(), column % size(), weight, 0});
    return out;
}

std::vector<shared_context> word_space::contexts(std::uint32_t first, std::uint32_t second,
                                                 std::size_t top) const {
    const auto a = state_->context_row(first), b = state_->context_row(second);
    std::vector<shared_context> out;
    for (std::size_t i = 0, j = 0; i < a.columns.size() && j < b.columns.size();) {
        if (a.columns[i] == b.columns[j]) {
            out.push_back({a.columns[i] / size(), a.columns[i] % size(), a.weights[i], b.weights[j]});
            ++i;
            ++j;
        } else if (a.columns[i] < b.columns[j]) {
            ++i;
        } else {
            ++j;
        }
    }
    std::ranges::stable_sort(
        out, std::greater<>(), [measure = state_->params.measure](const shared_context& c) {
            const auto x = static_cast<double>(c.first), y = static_cast<double>(c.second);
            return measure == word_measure::cosine    ? x * y
                   : measure == word_measure::jaccard ? std::min(x, y)
                                                      : x + y;
        });
    if (out.size() > top) out.resize(top);
    return out;
}

context_row word_space::state::context_row(std::uint32_t word) const {
    const range_of row = row_of(context_ends, word, info.entries);
    const quern::context_row out = {contexts.values<std::uint32_t>(row.begin * 4, row.count),
                                    context_weights.values<float>(row.begin * 4, row.count)};
    const std::uint64_t columns = std::uint64_t{info.relations} * info.vocabulary;
    if (std::ranges::any_of(out.columns, [columns](std::uint32_t c) { return c >= columns; })) {
        contexts.fail("names a missing context");
    }
    return out;
}

void word_space::each_neighbour(const std::function<void(std::uint32_t, const neighbour&)>& neighbour_sink,
                                const context& ctx) const {
    for (std::uint32_t w = 0; w < size(); ++w) {
        if (w % 1024 == 0) ctx.check_stop();
        for (const neighbour& n : state_->stored_neighbours(w)) neighbour_sink(w, n);
    }
}

}  // namespace quern

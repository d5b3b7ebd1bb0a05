// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/engine_state.hpp"

#include <algorithm>

#include "quern/base/error.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/search/field_weights.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {
namespace {

constexpr std::uint64_t max_kept_texts = 8 << 20;

/// The thesaurus of the store; nothing if the store has none.
std::optional<word_space> thesaurus_of(const opened_store& store) {
    const auto folder = store.thesaurus();
    if (!folder) return {};
    const store_section& boosts = *store.info().thesaurus;
    const auto fail = [&](std::string_view reason) -> damaged_store {
        return {store.path().string(), boosts.name, reason};
    };
    if (!is_word_space(*folder)) throw fail("is missing");
    const context ctx = context::cpu(1);
    auto opened = word_space::open(*folder, ctx);
    // After opening: a thesaurus that has replaced this one meanwhile is not accepted.
    if (checksum_of_file(*folder / space_layout::manifest, ctx) != boosts.checksum)
        throw fail("belongs to another store");
    return opened;
}

}  // namespace

search_engine::state::state(const std::filesystem::path& path, std::uint64_t memory,
                            const given_vectors& of_user, const context& ctx)
    : store(path),
      query_memory(memory),
      analyzers([this] { return store.make_analyzer(); }),
      prefix_analyzers([this] {
          text_options of_prefixes = store.info().text;
          of_prefixes.min_length = 1;
          of_prefixes.stem = stemmer::none;
          return text::analyzer(of_prefixes, std::span<const std::string>());
      }),
      near(store),
      thesaurus(thesaurus_of(store)),
      filters(memory / 8),
      texts(std::min(memory / 16, max_kept_texts)),
      known(memory / 4),
      of_passing(memory / 8) {
    if (!of_user.empty()) {
        given = order_vectors(store, of_user, ctx);
        vectors.emplace(view_of(given.values, given.dimensions));
    } else if (const auto rows = store.user_vectors()) {
        vectors.emplace(*rows);
    }
}

const document_finder& search_engine::state::finder(const context& ctx) const {
    std::call_once(finder_once, [&] { made_finder.emplace(store, ctx); });
    return *made_finder;
}

const folded_words* search_engine::state::folded(const search_options& options) const {
    if (options.fold == folding::none || store.info().text.fold == options.fold) return nullptr;
    std::call_once(folded_once, [&] { made_folded.emplace(store); });
    return &*made_folded;
}

const prior_ranks& search_engine::state::ranks() const {
    std::call_once(ranks_once, [&] { made_ranks.emplace(store); });
    return *made_ranks;
}

const search_detail::vector_squares& search_engine::state::squares(const context& ctx) const {
    std::call_once(squares_once, [&] { made_squares.emplace(vectors_for_similarity(store), ctx); });
    return *made_squares;
}

const std::deque<field_lengths>& search_engine::state::lengths_of_fields() const {
    std::call_once(lengths_once, [&] {
        made_lengths.push_back(lengths_of_titles(
            store, [this](std::string_view text, text::token_list& words) { words_of(text, words); }));
        for (const word_index& field : store.field_words())
            made_lengths.push_back(lengths_of_field(store, field));
    });
    return made_lengths;
}

const word_space& search_engine::state::required_thesaurus() const {
    if (!thesaurus)
        throw usage_error(store.path().string() +
                          " has no thesaurus, which similar words need; the stage thesaurus of quern "
                          "build makes it");
    return *thesaurus;
}

void search_engine::state::check_document(std::uint32_t number) const {
    if (number >= store.info().documents) throw usage_error("there is no document " + std::to_string(number));
}

stored_document search_engine::state::document(std::uint32_t number) const {
    check_document(number);
    return {std::string(store.id(number)), std::string(store.title(number)), store.text(number),
            store.collection().document_lengths[number],
            store.fields() ? store.fields()->json(number) : std::string()};
}

}  // namespace quern

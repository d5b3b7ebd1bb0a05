// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/search.hpp"

#include <algorithm>
#include <utility>

#include "device/paced_checks.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/shards.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/sharded.hpp"
#include "tasks/search/word_weights.hpp"

namespace quern {

bool search_engine::ranks_by(ranking_model model) const {
    return quern::ranks_by(state_->store, model);
}
void search_engine::require_model(ranking_model model) const {
    quern::require_model(state_->store, model);
}

search_engine::search_engine(std::shared_ptr<const state> s) : state_(std::move(s)) {}
search_engine::~search_engine() = default;
search_engine::search_engine(search_engine&&) noexcept = default;
search_engine& search_engine::operator=(search_engine&&) noexcept = default;

search_engine search_engine::open(const std::filesystem::path& store, const context& ctx,
                                  const given_vectors& vectors, const ask_shards& ask) {
    constexpr unsigned share = 4;  // of the memory, for one query
    if (is_sharded_store(store)) {
        if (!vectors.empty())
            throw usage_error(store.string() +
                              " is a sharded store, which takes no vectors (expected one store)");
        auto shards = std::make_shared<const sharded>(store, ctx.memory_limit() / share, ask, ctx);
        search_engine engine(shards->shards[shards->first_local]);
        engine.sharded_ = std::move(shards);
        text::warn_of_other_unicode(store, engine.store().unicode_version, ctx);
        return engine;
    }
    std::shared_ptr<const state> opened;
    open_as_one(store, [&] {
        opened = std::make_shared<const state>(store, ctx.memory_limit() / share, vectors, ctx);
    });
    search_engine engine(std::move(opened));
    text::warn_of_other_unicode(store, engine.state_->store.info().unicode_version, ctx);
    return engine;
}

search_result search_engine::search(std::string_view query, const search_options& options) const {
    return search(query, options, context());
}

search_result search_engine::search(std::string_view query, const search_options& options,
                                    const context& ctx) const {
    if (state_->store.info().listed == word_listing::weights) {
        const search_options fitted = fitted_to_weights(options, state_->store);
        return result(query, fitted.vector, fitted, *prepare(fitted, ctx), ctx);
    }
    return result(query, options.vector, options, *prepare(options, ctx), ctx);
}

search_result search_engine::result(std::string_view query, std::span<const float> vector,
                                    const search_options& options, const prepared& lists,
                                    const context& ctx) const {
    if (sharded_ != nullptr) return sharded_->result(query, options, lists, ctx);
    if (!vector.empty()) {
        auto of = state_->hybrid_parts(query, vector, options, lists, ctx);
        state_->rank_vectors(std::span(&of, 1), options, ctx);
        return state_->hybrid_result(std::move(of), options, lists, ctx);
    }
    if (auto plain = state_->plain_result(query, options, lists, ctx)) return std::move(*plain);
    const auto planned = state_->plan(query, options, lists, ctx, true);
    if (options.feedback != feedback_method::none && !planned->finds_all)
        state_->add_feedback(*planned, options, lists, ctx);
    std::vector<scored_document> ranking;
    const std::size_t k = lists.order ? state_->store.info().documents : options.k;
    if (!options.count) ranking = state_->ranked(*planned, options, lists, k, ctx);
    if (lists.order) lists.order->keep_first(ranking, options.k);
    return state_->result(*planned, ranking, options, lists, ctx);
}

std::optional<std::uint32_t> search_engine::find(std::string_view id, const context& ctx) const {
    if (sharded_ != nullptr) return sharded_->find(id, ctx);
    return state_->finder(ctx).find(id);
}

std::optional<std::string_view> search_engine::near_id(std::string_view text, const context& ctx) const {
    const auto folded = [](char c) {
        return c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const auto alike = [&](std::string_view other) {
        return std::ranges::equal(text, other, {}, folded, folded);
    };
    std::optional<std::string_view> near;
    if (has_remote_shards()) return near;
    paced_checks checks(ctx, neighbouring_values);
    for (std::uint32_t d = 0; d < documents(); ++d) {
        checks.after(1);
        if (title(d) == text) return id(d);
        if (!near && (alike(id(d)) || alike(title(d)))) near = id(d);
    }
    return near;
}

void search_engine::warm_up() const {
    if (sharded_ != nullptr) return sharded_->warm_up();
    state_->analyzers.local();
    state_->finder(context());
    if (has_link_ranks()) state_->ranks();
    if (has_document_vectors()) state_->squares(context());
}

const word_space* search_engine::thesaurus() const {
    return sharded_ == nullptr && state_->thesaurus ? &*state_->thesaurus : nullptr;
}

std::string_view search_engine::id(std::uint32_t number) const {
    const state& of = sharded_ != nullptr ? sharded_->shard_with(number) : *state_;
    of.check_document(number);
    return of.store.id(number);
}

std::string_view search_engine::title(std::uint32_t number) const {
    const state& of = sharded_ != nullptr ? sharded_->shard_with(number) : *state_;
    of.check_document(number);
    return of.store.title(number);
}

stored_document search_engine::document(std::uint32_t number, const context& ctx) const {
    return sharded_ != nullptr ? sharded_->document(number, ctx) : state_->document(number);
}

std::uint64_t search_engine::documents() const {
    return store().documents;
}
std::size_t search_engine::shards() const {
    return sharded_ != nullptr ? sharded_->shards.size() : 1;
}
bool search_engine::has_remote_shards() const {
    return sharded_ != nullptr && sharded_->has_remote;
}
std::uint64_t search_engine::vocabulary() const {
    return store().vocabulary;
}
bool search_engine::has_link_ranks() const {
    return sharded_ == nullptr && state_->store.link_ranks().has_value();
}
bool search_engine::has_thesaurus() const {
    return thesaurus() != nullptr;
}
bool search_engine::has_document_vectors() const {
    return sharded_ == nullptr && state_->store.document_vectors().has_value();
}
std::uint64_t search_engine::duplicates() const {
    return state_->store.duplicates().size();
}
std::uint32_t search_engine::vector_dimensions() const {
    return sharded_ == nullptr && state_->vectors ? state_->vectors->dimensions() : 0;
}
const text_options& search_engine::text() const {
    return state_->store.info().text;
}
const store_info& search_engine::store() const {
    if (const sharded* const of = sharded_.get()) return of->info;
    return state_->store.info();
}
void search_engine::require_one_store(std::string_view what) const {
    if (sharded_ != nullptr) throw sharded::not_with_shards(what);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/count.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "ops/search/phrases.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/tasks/shards.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/query_words.hpp"
#include "tasks/store/shards_manifest.hpp"

namespace quern {
namespace {

using search_detail::phrase_posting;

/// The documents are split into ranges only if that is worth starting threads. The stop flag is read before each range:
/// there are many even for one thread.
std::size_t ranges_for(std::uint64_t documents, const context& ctx) {
    constexpr std::uint64_t least = 1 << 15, for_one_thread = 64;
    const std::uint64_t max = std::max(for_one_thread, 4 * std::uint64_t{ctx.thread_count()});
    return std::clamp<std::uint64_t>(documents / least, 1, max);
}

}  // namespace

struct ngram_counter::state {
    explicit state(const std::filesystem::path& path) {
        if (is_sharded_store(path)) {
            for (const shard_info& shard : read_shards(path).shards) {
                if (!shard.url.empty())
                    throw usage_error(path.string() + ": counts of n-grams need all shards on this machine");
                require_present(path, shard);
                stores.push_back(open_store(shard.store));
                require_unchanged(path, shard, stores.back().info());
            }
        } else {
            stores.push_back(open_store(path));
        }
        for (const opened_store& store : stores) {
            first.push_back(static_cast<std::uint32_t>(documents));
            documents += store.info().documents;
        }
        readers.local();  // reports damaged stop words now
    }

    /// The n-gram's words in a store; nothing if it lacks one.
    static std::optional<std::vector<search_detail::phrase_word>> phrase_in(
        const opened_store& store, const std::vector<std::string>& words);

    std::deque<opened_store> stores;   ///< the shards of a sharded store
    std::vector<std::uint32_t> first;  ///< of each: the number of its first document
    std::uint64_t documents = 0;
    mutable tbb::enumerable_thread_specific<query_words> readers{
        [this] { return query_words(stores.front()); }};
};

std::optional<std::vector<search_detail::phrase_word>> ngram_counter::state::phrase_in(
    const opened_store& store, const std::vector<std::string>& words) {
    std::vector<search_detail::phrase_word> phrase;
    for (const std::string& word : words) {
        const auto id = store.words().dictionary().find(word);
        if (!id) return {};
        phrase.push_back({*id, store.words().postings(*id)});
    }
    return phrase;
}

namespace {

std::vector<phrase_posting> find(const opened_store& store,
                                 std::span<const search_detail::phrase_word> phrase, const context& ctx) {
    const std::uint64_t documents = store.info().documents;
    const std::size_t ranges = ranges_for(documents, ctx);
    std::vector<std::vector<phrase_posting>> found(ranges);
    const auto find_in = [&](std::size_t i) {
        const auto bound = [&](std::size_t r) { return static_cast<std::uint32_t>(documents * r / ranges); };
        ctx.check_stop();
        found[i] =
            search_detail::find_phrase(store.collection(), store.tokens(), phrase, {bound(i), bound(i + 1)});
    };
    if (ranges == 1) {
        find_in(0);
    } else {
        for_each_index(ctx, ranges, find_in);
    }
    std::vector<phrase_posting> all = std::move(found.front());
    for (std::size_t i = 1; i < ranges; ++i) all.insert(all.end(), found[i].begin(), found[i].end());
    return all;
}

}  // namespace

ngram_counter::ngram_counter(std::unique_ptr<state> s) : state_(std::move(s)) {}
ngram_counter::~ngram_counter() = default;
ngram_counter::ngram_counter(ngram_counter&&) noexcept = default;
ngram_counter& ngram_counter::operator=(ngram_counter&&) noexcept = default;

ngram_counter ngram_counter::open(const std::filesystem::path& store, const context& ctx) {
    require_cpu(ctx, "count");
    ngram_counter counter(std::make_unique<state>(store));
    text::warn_of_other_unicode(store, counter.state_->stores.front().info().unicode_version, ctx);
    return counter;
}

ngram_occurrences ngram_counter::count(std::string_view text, const context& ctx) const {
    const std::deque<opened_store>& stores = state_->stores;
    require_word_order(stores.front(), "counts of n-grams");
    ngram_occurrences counts;
    counts.words = state_->readers.local().words_of(text);
    const auto has = [](std::string_view word) {
        return
            [word](const opened_store& store) { return store.words().dictionary().find(word).has_value(); };
    };
    for (const std::string& word : counts.words)
        if (std::ranges::none_of(stores, has(word)) &&
            std::ranges::find(counts.unknown_words, word) == counts.unknown_words.end())
            counts.unknown_words.push_back(word);
    if (!counts.unknown_words.empty()) return counts;
    for (std::size_t i = 0; i < stores.size(); ++i) {
        const auto phrase = state::phrase_in(stores[i], counts.words);
        if (!phrase) continue;
        for (const phrase_posting& posting : find(stores[i], *phrase, ctx)) {
            counts.count += posting.frequency;
            counts.followed += posting.followed;
            counts.documents.push_back(
                {state_->first[i] + posting.document, posting.frequency, posting.followed});
        }
    }
    return counts;
}

std::string_view ngram_counter::id(std::uint32_t document) const {
    const auto after = std::ranges::upper_bound(state_->first, document);
    const auto store = static_cast<std::size_t>(after - state_->first.begin()) - 1;
    return state_->stores[store].id(document - state_->first[store]);
}
std::uint64_t ngram_counter::documents() const {
    return state_->documents;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/count.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "ops/search/phrases.hpp"
#include "quern/base/choose_device.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/query_words.hpp"

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
    explicit state(const std::filesystem::path& path)
        : store(open_store(path)), readers([this] { return query_words(store); }) {
        readers.local();  // reports damaged stop words now
    }

    std::vector<phrase_posting> find(std::span<const search_detail::phrase_word> phrase,
                                     const context& ctx) const;

    opened_store store;
    mutable tbb::enumerable_thread_specific<query_words> readers;
};

std::vector<phrase_posting> ngram_counter::state::find(std::span<const search_detail::phrase_word> phrase,
                                                       const context& ctx) const {
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

ngram_counter::ngram_counter(std::unique_ptr<state> s) : state_(std::move(s)) {}
ngram_counter::~ngram_counter() = default;
ngram_counter::ngram_counter(ngram_counter&&) noexcept = default;
ngram_counter& ngram_counter::operator=(ngram_counter&&) noexcept = default;

ngram_counter ngram_counter::open(const std::filesystem::path& store, const context& ctx) {
    require_cpu(ctx, "count");
    ngram_counter counter(std::make_unique<state>(store));
    text::warn_of_other_unicode(store, counter.state_->store.info().unicode_version, ctx);
    return counter;
}

ngram_occurrences ngram_counter::count(std::string_view text, const context& ctx) const {
    const opened_store& store = state_->store;
    require_word_order(store, "counts of n-grams");
    ngram_occurrences counts;
    counts.words = state_->readers.local().words_of(text);
    std::vector<search_detail::phrase_word> phrase;
    for (const std::string& word : counts.words) {
        if (const auto id = store.words().dictionary().find(word)) {
            phrase.push_back({*id, store.words().postings(*id)});
        } else if (std::ranges::find(counts.unknown_words, word) == counts.unknown_words.end()) {
            counts.unknown_words.push_back(word);
        }
    }
    if (!counts.unknown_words.empty()) return counts;
    for (const phrase_posting& posting : state_->find(phrase, ctx)) {
        counts.count += posting.frequency;
        counts.followed += posting.followed;
        counts.documents.push_back({posting.document, posting.frequency, posting.followed});
    }
    return counts;
}

std::string_view ngram_counter::id(std::uint32_t document) const {
    return state_->store.id(document);
}
std::uint64_t ngram_counter::documents() const {
    return state_->store.info().documents;
}

}  // namespace quern

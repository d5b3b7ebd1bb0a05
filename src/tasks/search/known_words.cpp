// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/known_words.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <utility>

#include "base/hash.hpp"
#include "tasks/search/ngram_terms.hpp"

namespace quern {
namespace {

constexpr std::size_t max_probes = 8;
constexpr std::uint64_t max_slots = 1 << 17;
/// A list of at most this many postings is kept at its first use, which would read it anyway; one with n times as many at
/// its n-th use.
constexpr std::uint64_t postings_per_use = 4096;
/// Places of words cost the words of a document each, and are made at the second use at first.
constexpr std::uint64_t documents_per_use = 1024;

}  // namespace

known_words::known_words(const opened_store& store, const whole_statistics* whole,
                         const ranking_options& options, std::vector<std::uint32_t> order_weights,
                         std::uint64_t memory)
    : store_(store),
      whole_(whole),
      options_(options),
      order_weights_(std::move(order_weights)),
      memory_(memory),
      slots_(std::bit_ceil(std::clamp<std::uint64_t>(2 * store.info().vocabulary, 1024, max_slots))) {
    used_ = std::min(memory_, slots_.size() * sizeof(slots_[0]));
}

known_words::known_word::known_word(const opened_store& store, const whole_statistics* whole,
                                    std::string_view word)
    : word_(word) {
    id_ = store.words().dictionary().find(word);
    term_.titles = store.title_words().find(word);
    // A word that occurs only in titles of near-duplicates belongs to their kept documents.
    term_.list = id_ ? store.words().postings(*id_) : term_.titles;
    if (whole != nullptr) term_.list.whole = whole->of_word(word);
    unknown_ = !id_ && term_.list.scored_documents() == 0;
}

known_words::known_word::known_word(std::string_view key, const query_term& term,
                                    search_detail::made_list made)
    : word_(key), term_(term), unknown_(term.list.document_frequency == 0), made_(std::move(made)) {
    if (!made_.bytes.empty()) term_.list = made_.view();
}

std::atomic<known_words::known_word*>* known_words::slot_of(std::string_view key) {
    const std::size_t first = hash64(key);
    for (std::size_t i = 0; i < max_probes; ++i) {
        std::atomic<known_word*>& slot = slots_[(first + i) & (slots_.size() - 1)];
        const known_word* const found = slot.load(std::memory_order_acquire);
        if (found == nullptr || found->word_ == key) return &slot;
    }
    return nullptr;
}

template <typename... Arguments>
known_words::known_word* known_words::add(std::string_view key, std::uint64_t bytes,
                                          Arguments&&... arguments) {
    const std::scoped_lock lock(making_);
    std::atomic<known_word*>* const slot = slot_of(key);
    if (slot == nullptr) return nullptr;
    if (known_word* const found = slot->load(std::memory_order_relaxed)) return found;
    bytes += sizeof(known_word) + key.size();
    if (bytes > memory_ - used_) return nullptr;
    known_word& made = words_.emplace_back(std::forward<Arguments>(arguments)...);
    used_ += bytes;
    slot->store(&made, std::memory_order_release);
    return &made;
}

known_words::known_word* known_words::find(std::string_view word) {
    std::atomic<known_word*>* const slot = slot_of(word);
    if (slot == nullptr) return nullptr;
    if (known_word* const found = slot->load(std::memory_order_acquire)) return found;
    return add(word, 0, store_, whole_, word);
}

known_words::known_word* known_words::find_ngram(std::span<known_word* const> words) {
    std::string key(words.front()->word_);
    for (const known_word* const word : words.subspan(1)) key.append("\n").append(word->word_);
    std::atomic<known_word*>* const slot = slot_of(key);
    if (slot == nullptr) return nullptr;
    if (known_word* const found = slot->load(std::memory_order_acquire)) return found;
    std::vector<std::uint32_t> ids;
    for (const known_word* const word : words) {
        if (!word->id_) return nullptr;
        ids.push_back(*word->id_);
    }
    search_detail::made_list made;
    query_term term;
    term.list = documents_of_ngram(store_, store_.tokens(), ids, made);
    term.weight = order_weights_[words.size() - 2];
    const std::uint64_t bytes = made.bytes.size();
    return add(key, bytes, key, term, std::move(made));
}

const search_detail::kept_list* known_words::list_of(known_word& word) {
    if (const auto* const list = word.list_.load(std::memory_order_acquire)) return list;
    const std::uint64_t uses = word.uses_.fetch_add(1, std::memory_order_relaxed) + std::uint64_t{1};
    if (word.term_.list.document_frequency > uses * postings_per_use) return nullptr;
    return make_list(word);
}

const search_detail::kept_list* known_words::make_list(known_word& word) {
    // Without waiting: the query can be ranked without the list.
    const std::unique_lock lock(making_, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    if (const auto* const list = word.list_.load(std::memory_order_relaxed)) return list;
    collection_view collection = store_.collection();
    if (whole_ != nullptr) collection.whole = whole_->collection();
    const std::uint64_t postings = std::uint64_t{word.term_.list.document_frequency} +
                                   (options_.title_weight != 0 ? word.term_.titles.document_frequency : 0);
    if (search_detail::kept_bytes(postings, collection.document_lengths.size()) > memory_ - used_)
        return nullptr;
    word.owned_ = std::make_unique<const search_detail::kept_list>(
        search_detail::keep_list(collection, word.term_, options_));
    used_ += word.owned_->bytes();
    word.list_.store(word.owned_.get(), std::memory_order_release);
    return word.owned_.get();
}

const search_detail::word_places* known_words::places_of(known_word& word,
                                                         const search_detail::token_stream& tokens,
                                                         const context& ctx) {
    if (const auto* const places = word.places_.load(std::memory_order_acquire)) return places;
    const search_detail::kept_list* const list = word.list_.load(std::memory_order_acquire);
    const std::uint64_t uses = word.uses_of_places_.fetch_add(1, std::memory_order_relaxed);
    if (list == nullptr || list->size > uses * documents_per_use) return nullptr;
    const std::unique_lock lock(making_, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    if (const auto* const places = word.places_.load(std::memory_order_relaxed)) return places;
    const std::uint64_t ends =
        list->form == search_detail::kept_form::dense ? list->parts.size() : list->size;
    const std::uint64_t numbers = word.term_.list.collection_frequency + ends;
    if (numbers * sizeof(std::uint32_t) > memory_ - used_) return nullptr;
    word.owned_places_ = std::make_unique<const search_detail::word_places>(
        search_detail::places_of(tokens, *word.id(), *list, ctx));
    used_ += word.owned_places_->memory();
    word.places_.store(word.owned_places_.get(), std::memory_order_release);
    return word.owned_places_.get();
}

std::shared_ptr<known_words> known_words_cache::find(const opened_store& store, const whole_statistics* whole,
                                                     const ranking_options& options,
                                                     const std::vector<std::uint32_t>& order_weights) {
    const std::scoped_lock lock(lock_);
    const auto found = std::ranges::find_if(kept_, [&](const auto& of) {
        return of->options() == options && of->order_weights() == order_weights;
    });
    if (found == kept_.end()) {
        if (kept_.size() == max_kept) kept_.pop_back();
        kept_.push_front(std::make_shared<known_words>(store, whole, options, order_weights, memory_));
    } else if (found != kept_.begin()) {
        std::rotate(kept_.begin(), found, found + 1);
    }
    return kept_.front();
}

}  // namespace quern

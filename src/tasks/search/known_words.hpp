// SPDX-License-Identifier: Apache-2.0
// The words of earlier queries with their lists, and the scored lists that pay: for queries of plain words with the same
// ranking options, which need neither the dictionary nor the postings again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/kept_list.hpp"
#include "ops/search/phrases.hpp"
#include "ops/search/query_lists.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"
#include "tasks/search/whole_statistics.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Thread-safe. Never forgets: once the memory is full, further words and lists are not kept.
class known_words {
  public:
    /// The stores must outlive it. `whole`: null, or the counts of all shards, of which the store is one; n-grams are then not
    /// found. `order_weights`: fixed_order_weights, if n-grams are asked for.
    known_words(const opened_store& store, const whole_statistics* whole, const ranking_options& options,
                std::vector<std::uint32_t> order_weights, std::uint64_t memory);
    known_words(const known_words&) = delete;  // lists are pointed to
    known_words& operator=(const known_words&) = delete;

    const ranking_options& options() const { return options_; }
    const std::vector<std::uint32_t>& order_weights() const { return order_weights_; }
    /// The maximum number of words of an n-gram.
    unsigned order() const { return static_cast<unsigned>(order_weights_.size()) + 1; }

    class known_word {
      public:
        known_word(const opened_store& store, const whole_statistics* whole, std::string_view word);
        /// An n-gram with its term; `made` owns the list, unless it is the store's.
        known_word(std::string_view key, const query_term& term, search_detail::made_list made);
        std::string_view word() const { return word_; }
        bool unknown() const { return unknown_; }  ///< no document has it
        std::optional<std::uint32_t> id() const {
            return id_;
        }  ///< unless only titles of near-duplicates have it
        const posting_list& postings() const { return term_.list; }

      private:
        friend known_words;
        std::string word_;
        std::optional<std::uint32_t> id_;
        query_term term_;
        bool unknown_ = false;
        search_detail::made_list made_;
        std::atomic<std::uint32_t> uses_{0};
        std::unique_ptr<const search_detail::kept_list> owned_;
        std::atomic<const search_detail::kept_list*> list_{nullptr};
        std::atomic<std::uint32_t> uses_of_places_{0};
        std::unique_ptr<const search_detail::word_places> owned_places_;
        std::atomic<const search_detail::word_places*> places_{nullptr};
    };

    /// Null if it cannot be kept. Valid as long as this object.
    known_word* find(std::string_view word);
    /// An n-gram of two words or more, which documents have; it is unknown() if none has them in order. Null if it cannot be
    /// kept. Cost at its first use: that of documents_of_ngram.
    known_word* find_ngram(std::span<known_word* const> words);
    /// Counts a use of a word that documents have. Null until its uses have cost as much as keeping the list, or if the
    /// memory does not suffice.
    const search_detail::kept_list* list_of(known_word& word);
    /// The places of a word that leads a phrase and whose list is kept; null as with list_of.
    const search_detail::word_places* places_of(known_word& word, const search_detail::token_stream& tokens,
                                                const context& ctx);

  private:
    const search_detail::kept_list* make_list(known_word& word);
    /// The slot of a key, or where it may be put; null if its places are taken by others.
    std::atomic<known_word*>* slot_of(std::string_view key);
    template <typename... Arguments>
    known_word* add(std::string_view key, std::uint64_t bytes, Arguments&&... arguments);

    const opened_store& store_;
    const whole_statistics* const whole_;
    const ranking_options options_;
    const std::vector<std::uint32_t> order_weights_;
    const std::uint64_t memory_;
    std::uint64_t used_ = 0;  // of memory_; with making_ held
    std::mutex making_;
    std::deque<known_word> words_;
    std::vector<std::atomic<known_word*>> slots_;  // by hash; a power of two
};

/// The known words of the last two ranking options in use, with their weights of n-grams. Thread-safe.
class known_words_cache {
  public:
    explicit known_words_cache(std::uint64_t memory) : memory_(memory / max_kept) {}
    std::shared_ptr<known_words> find(const opened_store& store, const whole_statistics* whole,
                                      const ranking_options& options,
                                      const std::vector<std::uint32_t>& order_weights);

  private:
    static constexpr std::size_t max_kept = 2;
    const std::uint64_t memory_;
    std::mutex lock_;
    std::deque<std::shared_ptr<known_words>> kept_;  // the last used first
};

}  // namespace quern

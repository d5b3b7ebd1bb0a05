// SPDX-License-Identifier: Apache-2.0
// Search in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/collection.hpp"
#include "quern/tasks/given_vectors.hpp"
#include "quern/tasks/search_options.hpp"
#include "quern/tasks/search_result.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

class word_space;

/// A store opened for search; cheap to keep, thread-safe.
class search_engine {
  public:
    /// Opens a snapshot: later replacement or deletion of the store on disk does not affect this engine. A sharded store
    /// (quern/tasks/shards.hpp) is searched as the store of all its documents would be: the same hits, scores, order and
    /// ties; documents are numbered through its shards. What needs one store is refused (usage_error): check() and `vectors`
    /// say so.
    /// `ask`: sends steps to the servers of shards on other machines; needed if there are any.
    /// Throws usage_error for a folder without a store, and for a shard that is missing or has changed; damaged_store with
    /// the section. Warns through `ctx.on_log` if the store was made with another version of the Unicode data. Ignores the
    /// device of `ctx`: single queries run on the CPU. `vectors`: of the documents, for hybrid search, instead of those in the store; throws as `build` for them.
    static search_engine open(const std::filesystem::path& store, const context& ctx,
                              const given_vectors& vectors = {}, const ask_shards& ask = {});
    ~search_engine();
    search_engine(search_engine&&) noexcept;
    search_engine& operator=(search_engine&&) noexcept;

    /// Throws usage_error if a search would refuse these options: one is out of range
    /// (quern/tasks/search_option_table.hpp), or the store lacks what it requires.
    void check(const search_options& options, const context& ctx) const;
    /// Whether the store is ranked by this model: one of weights by impact alone, others by every other model.
    bool ranks_by(ranking_model model) const;
    /// Throws usage_error unless it is: for a model that a user names. The default in search_options, bm25, stands for
    /// impact in a store of weights.
    void require_model(ranking_model model) const;
    search_result search(std::string_view query, const search_options& options) const;
    /// The same, with one thread, or of a sharded store up to ctx.thread_count(), one for each shard; throws `interrupted` soon after the run's stop flag is set.
    search_result search(std::string_view query, const search_options& options, const context& ctx) const;
    /// One result per topic, in the given order, computed by up to `ctx.thread_count()` threads, or on a GPU.
    /// For many topics or long results use search_each.
    std::vector<search_result> search(std::span<const search_topic> topics, const search_options& options,
                                      const context& ctx) const;
    /// The words of the store that complete the last word of `typed`: complete, exact. Cost: a pass over the numbers of
    /// documents of the words that begin so, of a sharded store over their letters, too; with typos a walk over the vocabulary.
    completion_result complete(std::string_view typed, const completion_options& options,
                               const context& ctx) const;
    // With a `ctx` these throw `interrupted` soon after its stop flag is set: the first call of find() is slow, near_id() is, and
    // shards on other machines may be.
    /// The number of the document with this id. The first call makes a table of 6 bytes per document.
    std::optional<std::uint32_t> find(std::string_view id, const context& ctx = {}) const;
    /// A suggestion for an unknown id: the id of the first document with this text as its title, else of the
    /// first one whose id or title equals this text except for the case of ASCII letters and _ for blanks.
    /// Cost: a pass over ids and titles.
    std::optional<std::string_view> near_id(std::string_view text, const context& ctx = {}) const;
    /// Does the work of first calls in advance: the table of find, the data of the score components, a text
    /// analyzer. Throws damaged_store, and usage_error for unknown text options.
    void warm_up() const;
    /// The source of similar words; valid as long as the engine, also after a move. Null if the store has none.
    const word_space* thesaurus() const;
    /// Without its text; valid as long as a copy of a search_result, or as this engine. Throws usage_error for an
    /// invalid number.
    std::string_view id(std::uint32_t number) const;
    std::string_view title(std::uint32_t number) const;
    /// Throws usage_error for an invalid number. Cost: proportional to its text, at least 64 KiB.
    stored_document document(std::uint32_t number, const context& ctx = {}) const;
    /// The occurrences of query words in `text` (a snippet, a title, a document's text), in order, compared
    /// like the store's words: if the store stems, also other forms of a word.
    std::vector<text_match> matches(std::string_view text, std::string_view query) const;
    /// The same for many texts and one query: `words` are its words_of, or others in the store's form
    /// (suggested_words::unknown, similar_word::word), in byte order.
    std::vector<text_match> matches(std::string_view text, std::span<const std::string> words) const;
    /// The words of a query, quoted and unquoted, in the store's form (stems if it stems), each once, in byte
    /// order. With operators (search_result::syntax): without those that are excluded, and with the words of the store
    /// that have a prefix of the query.
    std::vector<std::string> words_of(std::string_view query,
                                      query_syntax syntax = query_syntax::words) const;
    /// The discriminative ones of these, by which snippets are chosen: without words in more than three
    /// quarters of the documents, if the query has a rarer one.
    std::vector<std::string> discriminative_words_of(std::string_view query,
                                                     query_syntax syntax = query_syntax::words,
                                                     const context& ctx = {}) const;
    /// The query with each unknown word replaced by its first suggestion, otherwise unchanged; empty if no word
    /// has a suggestion.
    std::optional<std::string> corrected(std::string_view query,
                                         std::span<const suggested_words> suggestions) const;

    /// Formats a result; called by any thread.
    using result_text = std::function<std::string(const search_topic&, const search_result&)>;
    /// Receives the results one at a time, in the order of the topics, each with its text.
    using result_sink = std::function<void(const search_topic&, const search_result&, std::string_view text)>;
    /// Runs the topics on the device of choose_device, holding a few results at a time; the results are the
    /// same on every device. `text` may be empty. The first exception, also of `text` and `sink`, ends the
    /// search and is rethrown.
    void search_each(std::span<const search_topic> topics, const search_options& options, const context& ctx,
                     const result_text& text, const result_sink& sink) const;
    /// The device for this number of topics, with the reason. `automatic` leaves few topics over few documents
    /// to the CPU. Topics with a prior, similar words, a like document or an order above 1 run on the CPU, with
    /// a warning if CUDA is requested. Throws usage_error for options out of range; logs and throws as
    /// quern::choose_device does.
    chosen_device choose_device(std::size_t topics, const search_options& options, const context& ctx) const;
    std::uint64_t documents() const;
    /// The number of stores that are searched: 1, or those of a sharded store.
    std::size_t shards() const;
    /// Whether some of them are on other machines. Then complete(), summary(), id(), title() and near_id() do not work.
    bool has_remote_shards() const;
    /// The answer to a step of a query (shard_request) for this store as a shard; nothing if the step is for another store.
    /// Any bytes may be sent. Throws usage_error for what is not understood or refused, other_version for a step from one.
    std::optional<std::string> answer_step(std::string_view step, const step_limits& limits,
                                           const context& ctx) const;
    bool is_sharded() const { return sharded_ != nullptr; }
    /// The store as a whole, with up to that many frequent words and documents of high link rank. Cost: passes over the
    /// lengths, the vocabulary's counts and the link ranks at the first call; up to 1,000 words and documents are kept.
    collection_summary summary(std::size_t words, std::size_t documents, const context& ctx) const;
    /// Documents with near-duplicates, those with most of them first, then in their order: `k` after the first `offset`,
    /// each with up to `copies` of its near-duplicates. Cost: the first call passes over all
    /// near-duplicates, and keeps 8 bytes for each document that has some.
    duplicated_documents duplicated(std::size_t offset, std::size_t k, std::size_t copies,
                                    const context& ctx) const;
    /// Whether the store supports search_options: prior, expand, like.
    bool has_link_ranks() const;
    bool has_thesaurus() const;
    bool has_document_vectors() const;
    /// The dimensions of the vectors of documents for hybrid search; 0: there are none.
    std::uint32_t vector_dimensions() const;
    /// Near-duplicates that the build excluded (search_hit::duplicates).
    std::uint64_t duplicates() const;
    std::uint64_t vocabulary() const;
    const text_options& text() const;
    /// As of opening; of a sharded store what the shards have in common, and sums.
    const store_info& store() const;

  private:
    struct state;
    struct prepared;
    struct planned_query;
    struct sharded;
    void search_on_cpu(std::span<const search_topic> topics, const search_options& options,
                       const prepared& lists, const context& ctx, const result_text& text,
                       const result_sink& sink) const;
    void search_on_device(std::span<const search_topic> topics, const search_options& options,
                          const prepared& lists, const context& ctx, const chosen_device& chosen,
                          const result_text& text, const result_sink& sink) const;
    explicit search_engine(std::shared_ptr<const state> s);
    std::shared_ptr<const prepared> prepare(const search_options& options, const context& ctx) const;
    search_result result(std::string_view query, std::span<const float> vector, const search_options& options,
                         const prepared& lists, const context& ctx) const;
    /// Throws usage_error: `what` is not possible with shards.
    void require_one_store(std::string_view what) const;
    std::shared_ptr<const state> state_;  ///< shared with results; of a sharded store that of the first shard
    std::shared_ptr<const sharded> sharded_;  ///< null: one store
};

/// Reads a topics file: `id TAB text`, JSON lines, or TREC topics. `fields`: those of TREC topics that make the query: title,
/// desc, narr, separated by commas. Throws usage_error for other names; invalid_input for a topic without one of them, and for
/// fields other than title of another file.
std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& ctx,
                                      std::string_view fields = "title");

/// Gives each topic its vector from a file in any dense format of docs/vectors.md: by id if it has names, else in order.
/// Throws invalid_input for topics without a vector, another number of vectors, and numbers that are not finite.
void read_topic_vectors(std::vector<search_topic>& topics, const std::filesystem::path& path,
                        const context& ctx);
/// One vector: a JSON list of numbers, or a file with one row. Throws usage_error, and as read_topic_vectors.
std::vector<float> read_query_vector(const std::string& text, const context& ctx);

/// The store of a corpus: built under `cache` at the first call and reused as long as the names, sizes and
/// times of the inputs do not change; otherwise a new store replaces it. Other inputs or options have a
/// separate store. Waits if another search is building it. Throws usage_error for a pipe.
std::filesystem::path cached_store(const build_options& corpus, const std::filesystem::path& cache,
                                   const context& ctx);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Asking a store.
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
#include "quern/base/text_options.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// `ranking_options::title_weight` where people search; 0 for runs of the published models.
inline constexpr double title_weight_for_people = 0.25;

/// `search_options::suggestions` where people search.
inline constexpr std::size_t suggestions_for_people = 3;

class word_space;

struct search_options {
    ranking_options ranking;
    std::size_t k = 10;
    std::size_t offset =
        0;  ///< how many of the k best to pass over: their ids and snippets are not looked up
    bool snippets = true;
    bool copies = true;  ///< whether hits name their near-duplicates, most_hit_copies of each
    /// Text in quotes is a phrase: it must occur in every hit, and scores as one term.
    bool phrases = true;
    /// With ranking_model::ql: a word is scored behind up to order - 1 words before it in the query, as many as the
    /// collection holds with it; 1 to most_query_order.
    unsigned order = 1;
    bool explain = false;  ///< hits say how scores come about; out_of_memory beyond a quarter of the run's

    // Lists beside the words'. A store without what one needs: usage_error. docs/search.md has the formulas.
    /// W: a score gets W · ln(N · rank of the document by its links); 0 to 100, 0: nothing.
    double prior = 0;
    /// Each word outside of quotes brings so many of the words most similar to it in the store's thesaurus, that the query
    /// does not hold itself; a word that more than half of the documents hold brings none and is not brought. One weighs as
    /// much as it is similar, times expand_weight, a word of the query 1. At most as many as the thesaurus holds of each word,
    /// 20 where quern build made it.
    std::uint32_t expand = 0;
    double expand_weight = 0.1;  ///< above 0, to 1
    /// A score gets like_weight · the cosine with this document's vector. Every document with a vector may be a hit then,
    /// whether it holds a word of the query or not, but not this one.
    std::optional<std::uint32_t> like;
    double like_weight = 10;  ///< above 0, to 100; 1 for cosines as scores of a document alone

    /// For each unknown word, of the first 8 of at most 64 characters, so many known ones (search_answer::suggestions).
    std::size_t suggestions = 0;
    /// The query's text options: where given they must equal the store's (else usage_error).
    std::optional<text_options> text;
};

inline constexpr unsigned most_query_order = 32;

enum class explained_list { text, prior, like };
inline constexpr std::string_view explained_list_names[] = {"text", "prior", "like"};

/// What one term of the query, or another list, adds to a hit's score, times its count. Scores are multiples of 2^-32:
/// these add up to the hit's exactly.
struct explained_term {
    explained_list list = explained_list::text;
    std::string term;   ///< a word; a phrase in quotes; `word | history`; of the list like the document's id
    double weight = 1;  ///< of similar words below 1; of another list that of the options
    std::string
        similar_to;  ///< of a similar word: the words of the query that brought it, with blanks between
    std::optional<double> value;  ///< of the prior N · rank; of the list like the cosine
    std::uint32_t count = 1;      ///< how often the query holds it; a word behind a history counts there
    std::uint32_t in_document = 0;
    std::uint64_t documents = 0, in_collection = 0;  ///< that hold it; its occurrences
    /// Of words behind a history: its occurrences that are followed by a word.
    std::optional<std::uint64_t> history_in_document, history_in_collection;
    double part = 0;        ///< by its occurrences in the document
    double background = 0;  ///< what documents get that lack it
    double length = 0;      ///< what the document's length adds to that
    double title = 0;       ///< by the title
    double score = 0;       ///< the sum of the four
};

/// A near-duplicate of a document, which the build left out.
struct hit_copy {
    std::string_view id, title;  ///< in the engine's memory, as those of search_hit
    std::uint32_t distance = 0;  ///< edits, in bytes, between the texts
};

inline constexpr std::size_t most_hit_copies = 10;

struct search_hit {
    std::uint32_t rank = 0;  ///< from 1
    std::uint32_t document = 0;
    double score = 0;
    /// In the engine's memory: valid as long as the engine, also after it is moved.
    std::string_view id, title;
    std::string snippet;
    std::uint32_t words = 0;  ///< in the document, its title included
    std::vector<explained_term> explanation;
    /// Those with most words of the query in their titles first, then in the order of the corpus; most_hit_copies at most.
    std::vector<hit_copy> copies;
    std::uint64_t copy_count = 0;  ///< of all that there are
};

/// A hit's explanation as a list in JSON, a term an object: term, count, f, df, cf, history_f, history_cf, length (the
/// document's words), part, background, length_part, title_part, list, weight, similar_to, value, score.
std::string explanation_json(const search_hit& hit);
/// A hit's `copies` as a list in JSON, a copy an object: id, title, distance.
std::string copies_json(const search_hit& hit);

/// A word that the query does not hold and that was asked for as well.
struct similar_word {
    std::string word;
    std::string similar_to;  ///< as in explained_term
    double weight = 0;
};

/// A word that no document holds, and those of the store that are the fewest edits away from it (a character put in, left
/// out or replaced, two neighbours exchanged): at most 2, with fewer than four characters 1. Those in most documents first,
/// then by bytes. Words are as analysed: where the store stems, stems.
struct suggested_words {
    struct known {
        std::string word;
        std::uint32_t distance = 0;
        std::uint64_t documents = 0;  ///< that hold it
    };
    std::string unknown;
    std::vector<known> words;  ///< one at least
};

struct search_answer {
    std::vector<search_hit> hits;
    std::vector<std::string>
        unknown_words;         ///< of the query, as analysed; phrases that no document holds, in quotes
    bool empty_query = false;  ///< no word was left after analysis
    std::vector<similar_word> similar_words;   ///< with search_options::expand; by bytes
    std::vector<suggested_words> suggestions;  ///< with search_options::suggestions; by bytes
};

/// A document as the store holds it. The views are the engine's, as those of search_hit.
struct stored_document {
    std::string_view id, title;
    std::string text;
    std::uint32_t words = 0;  ///< its length, title included
};

/// A stretch of bytes that is a word of a query.
struct text_match {
    std::size_t begin = 0, end = 0;
    friend bool operator==(const text_match&, const text_match&) = default;
};

struct search_topic {
    std::string id, query;
};

/// A store opened for search; cheap to keep, safe to ask from many threads at once.
class search_engine {
  public:
    /// Opens one store, whole: one that takes its place on the disk later, or its end, is not noticed.
    /// Throws usage_error where there is no store, damaged_store naming the section, and warns through
    /// `run.on_log` where the store was made with another version of the Unicode data. Where `run` is to compute is not
    /// looked at: single queries are the CPU's.
    static search_engine open(const std::filesystem::path& store, const context& run);
    ~search_engine();
    search_engine(search_engine&&) noexcept;
    search_engine& operator=(search_engine&&) noexcept;

    search_answer search(std::string_view query, const search_options& options) const;
    /// The same, by one thread; throws `interrupted` soon after the run's stop flag is raised.
    search_answer search(std::string_view query, const search_options& options, const context& run) const;
    /// One answer a topic, in the order given, computed by up to `run.thread_count()` threads, or on a GPU. For many topics,
    /// or long answers: search_each.
    std::vector<search_answer> search(std::span<const search_topic> topics, const search_options& options,
                                      const context& run) const;
    /// The number of the document of this id. The first call makes a table of 6 bytes a document.
    std::optional<std::uint32_t> find(std::string_view id) const;
    /// For an id that is none: the id of the first document that has this text as title, or else of the first one whose id or
    /// title is this text but for the case of ASCII letters and _ for blanks. Cost: a pass over ids and titles.
    std::optional<std::string_view> near_id(std::string_view text) const;
    /// Does now what first calls would do: the table of find, what search_options' lists read, an analyzer of texts. Throws
    /// damaged_store, and usage_error for text options that this program does not know.
    void warm_up() const;
    /// What similar words come from; valid as long as the engine, also after it is moved. Null where the store has none.
    const word_space* thesaurus() const;
    /// Throws usage_error for a number that is no document's. Cost: as long as its text, 64 KiB at least.
    stored_document document(std::uint32_t number) const;
    /// Where `text` (a snippet, a title, a document's text) holds words of the query, first to last, compared as the
    /// store's words are: of another form of a word, where the store stems, too.
    std::vector<text_match> matches(std::string_view text, std::string_view query) const;
    /// The same for many texts of one query: `words` are words_of it, or others in the store's form
    /// (suggested_words::unknown, similar_word::word), sorted by bytes.
    std::vector<text_match> matches(std::string_view text, std::span<const std::string> words) const;
    /// The words of a query, inside of quotes and outside, in the store's form (stems, where it stems), each once, sorted by
    /// bytes.
    std::vector<std::string> words_of(std::string_view query) const;
    /// Of these, the words that snippets are chosen by: without those that more than three quarters of the documents hold,
    /// where the query holds a rarer one.
    std::vector<std::string> telling_words_of(std::string_view query) const;

    /// What is to be written of an answer; called by any thread.
    using answer_text = std::function<std::string(const search_topic&, const search_answer&)>;
    /// Gets the answers one at a time, in the order of the topics, each with its text.
    using answer_taker =
        std::function<void(const search_topic&, const search_answer&, std::string_view text)>;
    /// Answers the topics, of which a few are held at a time, where choose_device says; the answers are the same there.
    /// `text` may be empty. The first exception, also of `text` and `take`, ends it and is rethrown.
    void search_each(std::span<const search_topic> topics, const search_options& options, const context& run,
                     const answer_text& text, const answer_taker& take) const;
    /// Where so many topics are answered, and why. `automatic` leaves few topics over few documents to the CPU. Topics with a
    /// prior, similar words, a document to be like or an order beyond 1 are the CPU's: where CUDA is asked for, a warning says
    /// so. Throws usage_error for options out of range; logs and throws as quern::choose_device does.
    chosen_device choose_device(std::size_t topics, const search_options& options, const context& run) const;
    std::uint64_t documents() const;
    /// What the store has for search_options: prior, expand, like.
    bool has_link_ranks() const;
    bool has_thesaurus() const;
    bool has_document_vectors() const;
    /// Near-duplicates that the build left out (search_hit::copies).
    std::uint64_t copies() const;
    std::uint64_t vocabulary() const;
    const text_options& text() const;
    const store_info& store() const;  ///< as it was when it was opened

  private:
    struct state;
    struct prepared;
    struct question;
    void search_on_cpu(std::span<const search_topic> topics, const search_options& options,
                       const prepared& lists, const context& run, const answer_text& text,
                       const answer_taker& take) const;
    void search_on_device(std::span<const search_topic> topics, const search_options& options,
                          const prepared& lists, const context& run, const chosen_device& chosen,
                          const answer_text& text, const answer_taker& take) const;
    explicit search_engine(std::unique_ptr<state> s);
    std::shared_ptr<const prepared> prepare(const search_options& options, const context& run) const;
    search_answer answer(std::string_view query, const search_options& options, const prepared& lists,
                         const context& run) const;
    std::unique_ptr<state> state_;
};

/// Reads a topics file: `id TAB text` or TREC topics.
std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& run);

/// The store of a corpus: built under `cache` at the first call, found there again as long as the inputs'
/// names, sizes and times stay the same; where they change, the new store replaces the old one. A request of
/// other inputs or options has a store of its own. Waits where another search builds it. Throws usage_error for a pipe.
std::filesystem::path cached_store(const build_options& corpus, const std::filesystem::path& cache,
                                   const context& run);

}  // namespace quern

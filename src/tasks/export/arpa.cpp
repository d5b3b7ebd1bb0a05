// SPDX-License-Identifier: Apache-2.0
// A store has its words in order, as ids that are ranks by bytes: the same data that quern ngrams gets from reading a
// corpus.
#include <algorithm>
#include <string>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/export.hpp"
#include "tasks/export/form.hpp"
#include "tasks/ngrams/arpa_model.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/scratch_table.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

class stored_corpus {
  public:
    stored_corpus(const opened_store& store, scratch_folder& scratch, table_share& share, const context& ctx)
        : store_(store), scratch_(scratch), share_(share), ctx_(ctx) {}

    ngram_corpus read() {
        const search_detail::token_stream tokens = store_.tokens();
        if (tokens.code->vocabulary() != store_.info().vocabulary)
            damaged("dictionary", "does not have the words of the collection");
        made_.vocabulary = tokens.code->vocabulary();
        made_.distinct = made_.vocabulary;
        take_letters();
        take_words(tokens);
        for (const std::uint64_t bytes :
             {made_.words.spilled_bytes(), made_.letters.spilled_bytes(), made_.word_ends.spilled_bytes()})
            made_.spilled_bytes += bytes;
        return std::move(made_);
    }

  private:
    [[noreturn]] void damaged(std::string_view section, std::string_view reason) const {
        throw damaged_store(store_.path().string(), section, reason);
    }

    void take_letters() {
        const text::dictionary_view& words = store_.words().dictionary();
        std::uint64_t letters = 0;
        for (text::dictionary_view::walker all(words, 0); const auto word = all.next();)
            letters += word->size();
        made_.letters = {share_, scratch_, "letters", letters};
        made_.word_ends = {share_, scratch_, "word_ends", made_.vocabulary};
        std::uint64_t end = 0;
        text::dictionary_view::walker all(words, 0);
        for (std::uint32_t id = 0; const auto word = all.next(); ++id) {
            std::ranges::copy(*word, made_.letters.span().data() + end);
            made_.word_ends[id] = end += word->size();
        }
    }

    void take_words(const search_detail::token_stream& tokens) {
        const std::span<const std::uint32_t> lengths = store_.collection().document_lengths;
        made_.documents.reserve(lengths.size() + 1);
        for (const std::uint32_t words : lengths) made_.documents.push_back(made_.documents.back() + words);
        if (made_.documents.back() != store_.info().words)
            damaged("document_lengths", "does not add up to the words of the collection");
        made_.words = {share_, scratch_, "word_ids", store_.info().words};
        cpu_place place(ctx_);
        const std::size_t pieces = pieces_for(place, lengths.size(), 64, 16);
        for_each_piece(place, pieces, [&](std::size_t p) {
            std::vector<std::uint32_t> words;
            const auto [begin, end] = piece_of(lengths.size(), pieces, p);
            for (std::size_t d = begin; d < end; ++d) {
                ctx_.check_stop();
                words.clear();
                tokens.code->decode(tokens.words_of(static_cast<std::uint32_t>(d)), words);
                if (words.size() != lengths[d]) damaged("tokens", "does not fit the documents' lengths");
                std::ranges::copy(words, made_.words.span().data() + made_.documents[d]);
            }
        });
    }

    const opened_store& store_;
    scratch_folder& scratch_;
    table_share& share_;
    const context& ctx_;
    ngram_corpus made_;
};

arpa_counts write(const opened_store& store, const ngram_options& model, const context& ctx,
                  const std::function<void(std::string_view)>& out) {
    const std::uint64_t memory = ctx.memory_limit();
    scratch_folder scratch(ctx);
    table_share tables(memory / 2);
    const ngram_corpus corpus = stored_corpus(store, scratch, tables, ctx).read();
    ngram_options requested = model;
    requested.measure = ngram_measure::likelihood;
    requested.history_counts = model_needs_histories(model);
    collection_counts counts(scratch, 1, requested.order, requested.history_counts, memory / 8);
    const ngram_record record = count_collection_ngrams(
        {.words = corpus.words.span(), .documents = corpus.documents, .vocabulary = corpus.vocabulary},
        requested, with_remaining_memory(ctx, tables.taken() + memory / 8, "the words of the store"),
        [&](const collection_ngrams& ngrams) { counts.add(ngrams); });
    counts.finish();
    const std::uint64_t excluded = leave_out_unwritable_words(corpus, counts, ctx);
    arpa_counts result{.documents = corpus.document_count(),
                       .words = corpus.words.size(),
                       .excluded_words = excluded,
                       .spilled_bytes = corpus.spilled_bytes + record.bytes_spilled + counts.spilled_bytes()};
    result.ngrams = write_arpa_model(corpus, requested, counts, scratch, tables, ctx, out);
    return result;
}

}  // namespace

arpa_counts export_arpa(const std::filesystem::path& path, const std::function<void(std::string_view)>& out,
                        const ngram_options& model, const export_options& options, const context& ctx) {
    ctx.report({"export", 0, 0, "n-grams"});
    require_cpu(ctx, "export");
    context here = ctx;
    here.device = {device_choice::kind::cpu};
    validate(model);
    if (model.smoothing == ngram_smoothing::kneser_ney)
        throw usage_error(
            "kneser-ney needs sentences, which a store does not mark; use quern ngrams --sentences");
    if (model.only) throw usage_error(std::string(model_needs_all_lengths));
    if (model.method == ngram_method::strings)
        throw usage_error("the method strings compares the strings of words, but a store has their ids");
    const opened_store store = open_store(path);
    require_word_order(store, "n-grams");
    return write_in_form(out, options, ctx, [&](const std::function<void(std::string_view)>& sink) {
        return write(store, model, here, sink);
    });
}

}  // namespace quern

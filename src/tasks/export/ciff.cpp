// SPDX-License-Identifier: Apache-2.0
// Lists are written one after the other. Each message is preceded by its length, so that each list is decoded twice,
// once for its length: that costs less than holding the largest list.
#include <fmt/format.h>

#include "io/retrieval/ciff_writer.hpp"
#include "ops/search/postings.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/export.hpp"
#include "tasks/export/form.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

class ciff_export {
  public:
    ciff_export(const opened_store& store, std::function<void(std::string_view)> out, const context& ctx)
        : store_(store), ctx_(ctx), ciff_(std::move(out)) {}

    ciff_counts write() {
        write_header();
        text::dictionary_view::walker words(store_.words().dictionary(), 0);
        for (std::uint32_t id = 0; const auto word = words.next(); ++id) {
            write_list(*word, store_.words().postings(id));
            if (id % 4096 == 0) ctx_.report({"export", id, info().vocabulary, "words"});
        }
        // Readers compare the three counts of words, so check them.
        if (occurrences_ != info().words) damaged("collection_frequencies");
        write_documents();
        ciff_.finish();
        return counts_;
    }

  private:
    const store_info& info() const { return store_.info(); }
    [[noreturn]] void refuse(std::string_view reason) const {
        throw invalid_input(store_.path().string(), 0, reason);
    }
    [[noreturn]] void damaged(std::string_view section) const {
        throw damaged_store(store_.path().string(), section,
                            "does not add up to the words of the collection");
    }

    void write_header() {
        if (store_.words().dictionary().size() != info().vocabulary) damaged("dictionary");
        if (info().vocabulary > io::max_in_ciff || info().documents > io::max_in_ciff) {
            refuse(
                "has more words or documents than the Common Index File Format can number (2,147,483,647)");
        }
        const text_options& text = info().text;
        const std::string words =
            info().verbatim
                ? "verbatim words"
                : fmt::format(
                      "language {}, tokens {}, at least {} characters, stop words {}, stemmer {}, Unicode {}",
                      text.language, token_rule_names[static_cast<std::size_t>(text.tokens)], text.min_length,
                      text.stop_words, stemmer_names[static_cast<std::size_t>(text.stem)],
                      info().unicode_version);
        ciff_.header({.lists = info().vocabulary,
                      .documents = info().documents,
                      .words = info().words,
                      .description = fmt::format("Quern; words of title and text; {}", words)});
    }

    void write_list(std::string_view word, const posting_list& list) {
        io::ciff_writer::list_size size;
        std::uint64_t documents = 0;
        each_block(list, [&](const search_detail::postings_cursor& block) {
            size.add(block.documents(), block.frequencies());
            documents += block.documents().size();
        });
        if (documents != list.document_frequency || size.occurrences() != list.collection_frequency) {
            damaged("postings");
        }
        if (io::ciff_writer::message_bytes(word, documents, size) > io::max_in_ciff) {
            refuse(
                fmt::format("the documents of '{}' take more than the 2 GiB that the Common Index File "
                            "Format gives a word",
                            word));
        }
        ciff_.begin_list(word, documents, size);
        each_block(list, [&](const search_detail::postings_cursor& block) {
            ciff_.add(block.documents(), block.frequencies());
        });
        ++counts_.lists;
        counts_.postings += documents;
        occurrences_ += size.occurrences();
    }

    template <typename Visit>
    void each_block(const posting_list& list, Visit visit) const {
        for (search_detail::postings_cursor cursor(list, lengths()); !cursor.done(); cursor.next_block()) {
            ctx_.check_stop();
            cursor.decode();
            visit(cursor);
        }
    }

    void write_documents() {
        std::uint64_t words = 0;
        for (std::uint32_t d = 0; d < info().documents; ++d) {
            const std::string_view id = store_.id(d);
            if (lengths()[d] > io::max_in_ciff) {
                refuse(
                    fmt::format("document '{}' has more words than the Common Index File Format can count "
                                "(2,147,483,647)",
                                id));
            }
            ciff_.document(d, id, lengths()[d]);
            words += lengths()[d];
            ctx_.check_stop();
        }
        if (words != info().words) damaged("document_lengths");
        counts_.documents = info().documents;
    }

    std::span<const std::uint32_t> lengths() const { return store_.collection().document_lengths; }

    const opened_store& store_;
    const context& ctx_;
    io::ciff_writer ciff_;
    ciff_counts counts_;
    std::uint64_t occurrences_ = 0;
};

}  // namespace

ciff_counts export_ciff(const std::filesystem::path& path, const std::function<void(std::string_view)>& out,
                        const export_options& options, const context& ctx) {
    require_cpu(ctx, "export");
    const opened_store store = open_store(path);
    return write_in_form(out, options, ctx, [&](const std::function<void(std::string_view)>& sink) {
        return ciff_export(store, sink, ctx).write();
    });
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_merge/stored_duplicates.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/document_duplicates.hpp"
#include "tasks/store_build/document_spool.hpp"
#include "tasks/store_build/store_to_update.hpp"

namespace quern {
namespace {

/// The documents of some text blocks of a store: ids, titles and texts.
class compared_unit : public io::corpus_unit {
  public:
    compared_unit(const opened_store& store, std::uint64_t first, std::uint64_t last)
        : store_(store), first_(first), last_(last) {}

    bool parse_within(const io::reading_budget&, io::parsed_unit& parsed) override {
        for (std::uint64_t block = first_; block < last_; ++block) {
            std::uint32_t number = store_.block(block).first;
            store_.each_text(block, [&](std::string_view text) {
                document& d = parsed.documents.emplace_back();
                d.id = store_.id(number);
                d.title = store_.title(number);
                d.text = text;
                d.verbatim = store_.info().verbatim;
                d.path = store_.path().string();
                ++number;
            });
        }
        return true;
    }
    std::uint64_t raw_bytes() const override { return 0; }

  private:
    const opened_store& store_;
    std::uint64_t first_, last_;
};

class compared_documents_reader : public io::corpus_reader {
  public:
    compared_documents_reader(const source_stores& stores, std::uint64_t unit_bytes)
        : stores_(stores), unit_bytes_(unit_bytes) {
        for (const opened_store& store : stores.all()) total_ += bytes_of(store, store.text_blocks());
    }

    std::unique_ptr<io::corpus_unit> next() override {
        while (store_ != stores_.size() && next_ == stores_[store_].text_blocks()) {
            ++store_;
            next_ = 0;
        }
        if (store_ == stores_.size()) return nullptr;
        const opened_store& store = stores_[store_];
        const std::uint64_t first = next_;
        for (std::uint64_t bytes = 0; next_ < store.text_blocks() && bytes < unit_bytes_; ++next_)
            bytes += store.block(next_).bytes + 1;  // there may be documents without text
        for (std::uint64_t block = first; block < next_; ++block) consumed_ += store.block(block).bytes;
        return std::make_unique<compared_unit>(store, first, next_);
    }
    std::uint64_t consumed_bytes() const override { return consumed_; }
    std::uint64_t total_bytes() const override { return total_; }

  private:
    static std::uint64_t bytes_of(const opened_store& store, std::uint64_t blocks) {
        std::uint64_t bytes = 0;
        for (std::uint64_t block = 0; block < blocks; ++block) bytes += store.block(block).bytes;
        return bytes;
    }

    const source_stores& stores_;
    std::uint64_t unit_bytes_, next_ = 0, consumed_ = 0, total_ = 0;
    std::size_t store_ = 0;
};

}  // namespace

duplicates_outcome leave_out_stored_duplicates(const source_stores& stores,
                                               const std::filesystem::path& store,
                                               const scratch_folder& scratch, const context& ctx) {
    build_options messages;  // name the stores as inputs
    messages.text = with_stop_words_of(stores.info().text, stores[0].path());
    for (std::size_t i = 0; i < stores.size(); ++i) messages.inputs.push_back(stores.name(i));
    std::unique_ptr<store_to_update> decided;
    if (stores.info().stages.contains(build_stage::duplicates))
        decided = std::make_unique<store_to_update>(stores[0].path());
    document_spool spool(
        messages,
        std::make_unique<compared_documents_reader>(stores, corpus_options_for(messages, ctx).unit_bytes),
        decided.get(), scratch, ctx);
    if (spool.documents().size() != stores.positions()) {
        const reading_record& record = spool.record();
        if (record.lost.empty())
            throw invalid_input(stores.name(0).string(), 0, "a store changed while it was read");
        throw invalid_input(record.lost.front().path, 0, record.lost.front().reason);
    }
    duplicates_outcome found = leave_out_duplicates(spool, decided.get(), nullptr, store, scratch, ctx);
    warn_of_many_excluded(found.excluded.size(), stores.positions() - (decided ? decided->documents() : 0),
                          "a merge", ctx);
    return found;
}

std::vector<added_word> title_words_of_duplicates(const source_stores& stores,
                                                  const duplicates_outcome& found,
                                                  std::span<const std::uint32_t> lengths,
                                                  const std::filesystem::path& store, const context& ctx) {
    std::vector<added_word> added;
    if (found.sections.empty()) return added;
    const std::uint64_t max_bytes = ctx.memory_limit() / 8;
    std::uint64_t bytes = 0;
    const document_duplicates copies(store, found.sections);
    const document_duplicates& known = stores[0].duplicates();
    text::analyzer analyzer = stores[0].make_analyzer();
    text::token_list words;
    std::set<std::string> of_document;
    for (std::uint64_t i = 0; i < copies.size();) {
        ctx.check_stop();
        const std::uint32_t kept = copies.kept(i);
        std::uint64_t end = i + 1;
        while (end < copies.size() && copies.kept(end) == kept) ++end;
        if (kept < stores[0].info().documents) i += known.count(kept);  // these come first
        of_document.clear();
        for (; i < end; ++i) {
            if (lengths[kept] == 0) continue;
            analyzer.analyze(copies[i].title, words);
            for (const text::token& t : words.tokens) of_document.emplace(words.word(t));
        }
        for (const std::string& word : of_document) {
            added.push_back({word, kept});
            bytes += sizeof(added_word) + (word.size() > 15 ? word.size() : 0);
        }
        if (bytes > max_bytes) throw out_of_memory("the titles of near-duplicates", 8 * bytes, max_bytes);
    }
    std::ranges::sort(added);
    return added;
}

}  // namespace quern

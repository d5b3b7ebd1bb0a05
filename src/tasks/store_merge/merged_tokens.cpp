// SPDX-License-Identifier: Apache-2.0
// The words in order keep their order; only their codes change, because ids and frequencies do.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/cpu/threads.hpp"
#include "io/store/section.hpp"
#include "ops/search/indexing/recode_tokens.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store_merge/merged_words.hpp"

namespace quern {
namespace {

using search_detail::codeword;
using search_detail::token_code;
using search_detail::token_recoder;

/// The words in order of one store, and the new code of each of its words, in a mapped file.
class source_tokens {
  public:
    source_tokens(const opened_store& store, std::size_t number, std::span<const std::uint32_t> numbers,
                  const token_code& code, scratch_folder& scratch)
        : scratch_(scratch),
          tokens_(open(store, store_layout::tokens)),
          ends_(open(store, store_layout::token_ends)),
          words_(open(store, store_layout::token_words)),
          codes_(scratch, "codes_" + std::to_string(number), numbers.size()) {
        std::filesystem::remove(scratch.file("codes_" + std::to_string(number)));
        constexpr std::size_t words_at_once = 1 << 16;
        const std::span<codeword> codes = codes_.span();
        std::vector<std::uint32_t> present;
        for (std::size_t first = 0; first < numbers.size(); first += words_at_once) {
            const auto some = numbers.subspan(first, std::min(words_at_once, numbers.size() - first));
            present.clear();
            for (const std::uint32_t word : some)
                if (word != word_numbers::none) present.push_back(word);
            const std::vector<codeword> made = code.of_rising(present);
            std::size_t next = 0;
            for (std::size_t i = 0; i < some.size(); ++i)
                codes[first + i] = some[i] == word_numbers::none ? codeword{} : made[next++];
        }
        recoder_.emplace(words_.values<std::uint32_t>(0, words_.size() / sizeof(std::uint32_t)), codes);
    }
    source_tokens(const source_tokens&) = delete;  // gives the room of its file back once
    source_tokens& operator=(const source_tokens&) = delete;
    ~source_tokens() { scratch_.give_back(codes_.span().size_bytes()); }

    std::uint64_t begin_of(std::uint32_t document) const { return document == 0 ? 0 : end_of(document - 1); }
    std::uint64_t end_of(std::uint32_t document) const {
        return ends_.value<std::uint64_t>(std::uint64_t{document} * 8);
    }
    void append(std::uint32_t document, std::string& out) const {
        const std::uint64_t begin = begin_of(document), end = end_of(document);
        if (begin > end) ends_.fail("is out of order");
        recoder_->append(tokens_.bytes(begin, end - begin), out);
    }

  private:
    static io::section_view open(const opened_store& store, std::string_view name) {
        return store_layout::open_section(store.path(), store.info(), name);
    }

    scratch_folder& scratch_;
    io::section_view tokens_, ends_, words_;
    scratch_array<codeword> codes_;
    std::optional<token_recoder> recoder_;
};
using sources_by_store = std::vector<std::unique_ptr<const source_tokens>>;

struct documents_in_work {
    std::vector<source_range> ranges;
    std::uint64_t bytes = 0;
    std::string coded;
    std::vector<std::uint64_t> ends;
};

/// Cuts ranges of documents into pieces of work.
class document_cutter {
  public:
    document_cutter(const sources_by_store& sources, std::span<const source_range> order)
        : sources_(sources), order_(order), next_(order.front().first) {}

    /// False at the end.
    bool next(documents_in_work& work) {
        std::uint32_t documents = 0;
        while (!order_.empty() && documents < documents_at_once && work.bytes < bytes_at_once) {
            const source_range& range = order_.front();
            if (next_ == range.last) {
                order_ = order_.subspan(1);
                if (!order_.empty()) next_ = order_.front().first;
                continue;
            }
            const source_tokens& source = *sources_[range.store];
            const std::uint32_t first = next_;
            const std::uint64_t before = work.bytes, begin = source.begin_of(first);
            for (; next_ < range.last && documents < documents_at_once && work.bytes < bytes_at_once;
                 ++documents)
                work.bytes = before + (source.end_of(next_++) - begin);
            work.ranges.push_back({range.store, first, next_});
        }
        done_ += documents;
        return documents != 0;
    }
    std::uint64_t done() const { return done_; }

    static constexpr std::uint64_t bytes_at_once = 128 << 10;

  private:
    static constexpr std::uint32_t documents_at_once = 1 << 14;

    const sources_by_store& sources_;
    std::span<const source_range> order_;  // those ahead; the first one from next_ on
    std::uint32_t next_;
    std::uint64_t done_ = 0;
};

}  // namespace

std::vector<store_section> merge_tokens(const source_stores& stores, const word_numbers& numbers,
                                        std::span<const std::uint32_t> frequent, std::uint32_t vocabulary,
                                        const std::filesystem::path& store, scratch_folder& scratch,
                                        const context& ctx) {
    const token_code code(frequent, vocabulary);
    io::section_writer tokens(store_layout::file_of(store, store_layout::tokens));
    io::section_writer ends(store_layout::file_of(store, store_layout::token_ends));
    io::section_writer short_codes(store_layout::file_of(store, store_layout::token_words));
    short_codes.append_values(frequent);
    std::uint64_t done = 0;
    // Stores one after the other need the codes of one of them at a time.
    for (std::span<const source_range> order = stores.order(); !order.empty();) {
        const auto some = order.first(stores.are_interleaved() ? order.size() : 1);
        order = order.subspan(some.size());
        sources_by_store sources(stores.size());
        for (const source_range& range : some)
            if (!sources[range.store])
                sources[range.store] = std::make_unique<source_tokens>(
                    stores[range.store], range.store, numbers.of(range.store), code, scratch);
        document_cutter cutter(sources, some);
        pipeline<documents_in_work> line(ctx.thread_count() + std::size_t{2});
        line.from([&](documents_in_work& work) {
            ctx.check_stop();
            ctx.report({"tokens", done + cutter.done(), stores.positions(), "documents"});
            return cutter.next(work);
        });
        const std::uint64_t large =
            std::max<std::uint64_t>(8 * document_cutter::bytes_at_once, ctx.memory_limit() / 64);
        line.alone_when([large](const documents_in_work& work) { return work.bytes > large; });
        line.in_parallel_or_alone([&](documents_in_work& work, bool) {
            for (const source_range& range : work.ranges)
                for (std::uint32_t d = range.first; d < range.last; ++d) {
                    if (stores.numbers(range.store)[d] == document_numbers::none) continue;
                    sources[range.store]->append(d, work.coded);
                    work.ends.push_back(work.coded.size());
                }
            return true;
        });
        line.in_order([&](documents_in_work& work) {
            for (std::uint64_t& end : work.ends) end += tokens.size();
            tokens.append(work.coded);
            ends.append_values(std::span<const std::uint64_t>(work.ends));
        });
        run_parallel(ctx, [&] { line.run(); });
        done += cutter.done();
    }
    std::vector<store_section> sections;
    const auto close = [&sections](std::string_view name, io::section_writer& section) {
        sections.push_back(listed_section(name, section.finish()));
    };
    close(store_layout::tokens, tokens);
    close(store_layout::token_ends, ends);
    close(store_layout::token_words, short_codes);
    return sections;
}

}  // namespace quern

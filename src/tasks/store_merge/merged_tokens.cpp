// SPDX-License-Identifier: Apache-2.0
// The words in order keep their order; only their codes change, because ids and frequencies do.
#include <optional>
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

/// The words in order of one store, and the new code of each of its words.
class source_tokens {
  public:
    source_tokens(const opened_store& store, std::span<const std::uint32_t> numbers, const token_code& code,
                  std::span<codeword> codes)
        : tokens_(open(store, store_layout::tokens)),
          ends_(open(store, store_layout::token_ends)),
          words_(open(store, store_layout::token_words)) {
        constexpr std::size_t words_at_once = 1 << 16;
        std::vector<std::uint32_t> present;
        for (std::size_t first = 0; first < numbers.size(); first += words_at_once) {
            const auto some = numbers.subspan(first, std::min(words_at_once, numbers.size() - first));
            present.clear();
            for (const std::uint32_t number : some)
                if (number != word_numbers::none) present.push_back(number);
            const std::vector<codeword> made = code.of_rising(present);
            std::size_t next = 0;
            for (std::size_t i = 0; i < some.size(); ++i)
                codes[first + i] = some[i] == word_numbers::none ? codeword{} : made[next++];
        }
        recoder_.emplace(words_.values<std::uint32_t>(0, words_.size() / sizeof(std::uint32_t)), codes);
    }

    std::uint64_t end_of(std::uint32_t document) const {
        return ends_.value<std::uint64_t>(std::uint64_t{document} * 8);
    }
    void append(std::uint32_t document, std::string& out) const {
        const std::uint64_t begin = document == 0 ? 0 : end_of(document - 1), end = end_of(document);
        if (begin > end) ends_.fail("is out of order");
        recoder_->append(tokens_.bytes(begin, end - begin), out);
    }

  private:
    static io::section_view open(const opened_store& store, std::string_view name) {
        return store_layout::open_section(store.path(), store.info(), name);
    }

    io::section_view tokens_, ends_, words_;
    std::optional<token_recoder> recoder_;
};

struct documents_in_work {
    std::uint32_t first = 0, last = 0;
    std::uint64_t bytes = 0;
    std::string coded;
    std::vector<std::uint64_t> ends;
};

}  // namespace

std::vector<store_section> merge_tokens(const source_stores& stores, const word_numbers& numbers,
                                        std::span<const std::uint32_t> frequent, std::uint32_t vocabulary,
                                        const std::filesystem::path& store, scratch_folder& scratch,
                                        const context& ctx) {
    constexpr std::uint64_t bytes_at_once = 128 << 10;
    constexpr std::uint32_t documents_at_once = 1 << 14;
    const token_code code(frequent, vocabulary);
    io::section_writer tokens(store_layout::file_of(store, store_layout::tokens));
    io::section_writer ends(store_layout::file_of(store, store_layout::token_ends));
    io::section_writer short_codes(store_layout::file_of(store, store_layout::token_words));
    short_codes.append_values(frequent);
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < stores.size(); ++i) {
        const scratch_array<codeword> codes(scratch, "codes_" + std::to_string(i), numbers.of(i).size());
        std::filesystem::remove(scratch.file("codes_" + std::to_string(i)));
        const source_tokens source(stores[i], numbers.of(i), code, codes.span());
        const document_numbers& kept = stores.numbers(i);
        const auto documents = static_cast<std::uint32_t>(stores[i].info().documents);
        std::uint32_t next = 0;
        pipeline<documents_in_work> line(ctx.thread_count() + std::size_t{2});
        line.from([&](documents_in_work& work) {
            ctx.check_stop();
            ctx.report({"tokens", done + next, stores.positions(), "documents"});
            work.first = next;
            const std::uint64_t begin = next == 0 ? 0 : source.end_of(next - 1);
            while (next < documents && next - work.first < documents_at_once && work.bytes < bytes_at_once)
                work.bytes = source.end_of(next++) - begin;
            work.last = next;
            return work.first != work.last;
        });
        const std::uint64_t large = std::max<std::uint64_t>(8 * bytes_at_once, ctx.memory_limit() / 64);
        line.alone_when([large](const documents_in_work& work) { return work.bytes > large; });
        line.in_parallel_or_alone([&](documents_in_work& work, bool) {
            for (std::uint32_t d = work.first; d < work.last; ++d) {
                if (kept[d] == document_numbers::none) continue;
                source.append(d, work.coded);
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
        scratch.give_back(numbers.of(i).size() * sizeof(codeword));
        done += documents;
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

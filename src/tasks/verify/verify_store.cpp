// SPDX-License-Identifier: Apache-2.0
#include "tasks/verify/verify_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "ops/search/postings.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {
namespace {

// Cross-checks the posting lists against the token stream.

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014): one occurrence's term in a sum that is independent of
/// order.
std::uint64_t hash_of(std::uint32_t word, std::uint32_t document) {
    std::uint64_t x = (std::uint64_t{word} << 32 | document) + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

class word_check {
  public:
    word_check(const opened_store& store, const context& ctx)
        : store_(store), ctx_(ctx), lengths_(store.collection().document_lengths), tokens_(store.tokens()) {}

    void check() {
        const std::uint64_t in_postings =
            sum_of(store_.words().dictionary().size(), [this](std::uint32_t word) { return postings(word); });
        sum_of(store_.title_words().dictionary().size(), [this](std::uint32_t word) {
            search_detail::check_postings(store_.title_words().postings(word), lengths_);
            return std::uint64_t{0};
        });
        if (const word_index* const pairs = store_.ngrams())
            sum_of(pairs->dictionary().size(), [this, pairs](std::uint32_t pair) {
                search_detail::check_postings(pairs->postings(pair), lengths_);
                return std::uint64_t{0};
            });
        for (const word_index& field : store_.field_words())
            sum_of(field.dictionary().size(), [&](std::uint32_t word) {
                search_detail::check_postings(field.postings(word), lengths_);
                return std::uint64_t{0};
            });
        const std::uint64_t in_order =
            sum_of(lengths_.size(), [this](std::uint32_t document) { return words_of(document); });
        if (in_postings != in_order) damaged("do not agree with the postings");
    }

  private:
    /// The sum of `term(i)` over all i below `count`, modulo 2^64.
    template <class Term>
    std::uint64_t sum_of(std::uint64_t count, const Term& term) {
        constexpr std::uint64_t piece = 1024;
        std::atomic<std::uint64_t> sum{0};
        for_each_index(ctx_, (count + piece - 1) / piece, [&](std::uint64_t p) {
            ctx_.check_stop();
            std::uint64_t mine = 0;
            for (std::uint64_t i = p * piece; i < std::min(count, (p + 1) * piece); ++i)
                mine += term(static_cast<std::uint32_t>(i));
            sum.fetch_add(mine, std::memory_order_relaxed);
        });
        return sum;
    }

    std::uint64_t postings(std::uint32_t word) const {
        const posting_list list = store_.words().postings(word);
        const bool weights = store_.info().listed == word_listing::weights;
        search_detail::check_postings(list, lengths_,
                                      weights ? search_detail::postings_writer::values::weights
                                              : search_detail::postings_writer::values::counts);
        std::uint64_t sum = 0;
        for (search_detail::postings_cursor cursor(list, lengths_); !cursor.done(); cursor.next_block()) {
            cursor.decode();
            for (std::size_t i = 0; i < cursor.documents().size(); ++i)
                sum += (weights ? 1 : cursor.frequencies()[i]) * hash_of(word, cursor.documents()[i]);
        }
        return sum;
    }

    std::uint64_t words_of(std::uint32_t document) const {
        thread_local std::vector<std::uint32_t> words;
        words.clear();
        tokens_.code->decode(tokens_.words_of(document), words);
        // The lengths of an index that another program made may be others.
        if (words.size() != lengths_[document] && store_.info().listed != word_listing::counts) {
            damaged(fmt::format("hold {} words for document {}, whose length is {}", words.size(), document,
                                lengths_[document]));
        }
        std::uint64_t sum = 0;
        for (const std::uint32_t word : words) sum += hash_of(word, document);
        return sum;
    }

    [[noreturn]] void damaged(std::string_view reason) const {
        throw damaged_store(store_.path().string(), store_layout::tokens, reason);
    }

    const opened_store& store_;
    const context& ctx_;
    std::span<const std::uint32_t> lengths_;
    const search_detail::token_stream tokens_;
};

/// Reads all words, with all threads. Checks
/// - every posting list (search_detail::check_postings);
/// - that each document has as many words as its length says, all of them in the dictionary;
/// - that both have the same words of the same documents equally often: by a sum of hashes, so that a disagreement is
///   missed with a chance of 2^-64.
///
/// Throws damaged_store. Cost: about five nanoseconds a word.
void check_words(const opened_store& store, const context& ctx) {
    word_check(store, ctx).check();
}

/// An undamaged space may still belong to another store.
std::uint64_t verify_thesaurus(const std::filesystem::path& space, const store_section& listed,
                               const context& ctx) {
    if (!is_word_space(space)) throw damaged_store(space.string(), listed.name, "is missing");
    const std::uint64_t bytes = verify_word_space(space, ctx);
    if (checksum_of_file(space / space_layout::manifest, ctx) != listed.checksum) {
        throw damaged_store(space.string(), listed.name, "belongs to another store");
    }
    return bytes;
}

}  // namespace

std::uint64_t check_files(const std::filesystem::path& store, const store_info& info, const context& ctx) {
    std::uint64_t bytes = check_stop_words(info.text, store);
    for (const store_section& listed : info.sections) {
        manifests::check_all(store_layout::open_section(store, info, listed.name), ctx);
        bytes += listed.bytes;
        ctx.report({"verify", bytes, 0, "bytes"});
    }
    if (info.thesaurus) {
        bytes += verify_thesaurus(store / store_layout::thesaurus, *info.thesaurus, ctx);
    }
    return bytes;
}

std::uint64_t verify_store(const std::filesystem::path& store, const context& ctx) {
    const std::uint64_t bytes = check_files(store, read_store_info(store), ctx);
    const opened_store opened(store);
    check_words(opened, ctx);
    opened.link_ranks();
    if (opened.fields()) opened.fields()->check(ctx);
    opened.document_vectors();
    opened.duplicates().check(opened.info().documents);
    return bytes;
}

}  // namespace quern

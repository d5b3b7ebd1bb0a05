// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/model_pruning.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "base/ascii.hpp"
#include "io/byte_source.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "tasks/corpus/sentence_words.hpp"

namespace quern {

std::vector<std::uint64_t> prune_thresholds(std::string_view text, unsigned order) {
    const auto refuse = [&](const std::string& expected) {
        throw usage_error("prune: invalid value '" + std::string(text) + "' (" + expected + ")");
    };
    std::string lengths(text);
    std::ranges::replace(lengths, ',', ' ');
    std::vector<std::uint64_t> result;
    for_each_line_word(
        lengths, empty_lines::do_not_count,
        [&](std::string_view number) {
            try {
                result.push_back(parse_integer(number, 0, std::uint64_t{1} << 53));
            } catch (const usage_error&) {
                refuse("expected whole numbers, as in 0 0 1");
            }
        },
        [] {});
    if (result.empty()) result.push_back(0);
    if (result.front() != 0) refuse("expected 0 for single words; limit the vocabulary instead");
    if (!std::ranges::is_sorted(result))
        refuse("expected numbers that do not fall, or parts of n-grams would be missing");
    if (result.size() > order)
        refuse("expected at most as many numbers as the order, " + std::to_string(order));
    result.resize(order, result.back());
    return result;
}

namespace {

std::string read_all(const std::filesystem::path& file, const context& ctx) {
    const std::unique_ptr<io::byte_source> source = io::open_bytes(file, ctx);
    constexpr std::size_t chunk = std::size_t{1} << 16;
    std::string text;
    while (true) {
        const std::size_t size = text.size();
        if (size > ctx.memory_limit() / 4)
            throw out_of_memory("the words of " + file.string(), size, ctx.memory_limit() / 4);
        text.resize(size + chunk);
        const std::size_t read = source->read(std::span(text).subspan(size));
        text.resize(size + read);
        if (read < chunk) return text;
    }
}

}  // namespace

std::vector<bool> words_outside(const std::filesystem::path& file, const ngram_corpus& corpus,
                                const context& ctx) {
    const std::string text = read_all(file, ctx);
    std::vector<bool> outside(corpus.vocabulary, true);
    for_each_line_word(
        text, empty_lines::do_not_count,
        [&](std::string_view word) {
            std::uint32_t begin = 0, end = corpus.vocabulary;
            while (begin < end) {
                const std::uint32_t middle = begin + (end - begin) / 2;
                corpus.word(middle) < word ? begin = middle + 1 : end = middle;
            }
            if (begin < corpus.vocabulary && corpus.word(begin) == word) outside[begin] = false;
        },
        [] {});
    return outside;
}

}  // namespace quern

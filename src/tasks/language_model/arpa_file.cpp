// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/arpa_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/byte_source.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"

namespace quern {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/// Takes the next field of a line; empty at its end.
std::string_view next_field(std::string_view& line) {
    std::size_t begin = 0;
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    std::size_t end = begin;
    while (end < line.size() && !is_blank(line[end])) ++end;
    const std::string_view field = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return field;
}

/// Tells numbers that are nearly 0 from those that are too large, where neither a float nor a double has them.
bool has_negative_exponent(std::string_view number) {
    const std::size_t exponent = number.find_first_of("eE");
    return exponent != std::string_view::npos && number.substr(exponent + 1).starts_with('-');
}

class arpa_reader {
  public:
    arpa_reader(const std::filesystem::path& path, const context& ctx)
        : ctx_(ctx), source_(io::open_bytes(path, ctx)), lines_(*source_, ctx) {}

    word_model read() {
        refuse_binary();
        read_sizes();
        while (true) {
            const std::string_view line = next_line();
            if (line.empty()) continue;
            if (line == "\\end\\") break;
            read_section(line);
        }
        for (const ngram_list& list : lists_) {
            const std::uint64_t declared = sizes_[list.n - 1];
            if (list.size() != declared)
                refuse(fmt::format("there are {} n-grams of {} word{}, but the head declares {}", list.size(),
                                   list.n, list.n == 1 ? "" : "s", declared));
        }
        return finished();
    }

  private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw invalid_input(lines_.name(), number_, reason);
    }

    /// A line without its end.
    std::string_view next_line() {
        if (std::exchange(is_back_, false)) {
            ++number_;
            return line_;
        }
        while (at_ == text_.size()) {
            if (!lines_.next(block_))
                refuse(has_head_ ? "the file ends before \\end\\: it is not a whole ARPA file"
                                 : "no line \\data\\: this is no ARPA file");
            if (block_.failure) std::rethrow_exception(block_.failure);
            if (block_.too_long) refuse("a line of more than 1 MiB: this is no ARPA file");
            text_ = block_.text();
            at_ = 0;
            ctx_.check_stop();
            ctx_.report({"model", source_->consumed(), source_->size(), "bytes"});
        }
        const std::size_t end = text_.find('\n', at_);
        line_ = text_.substr(at_, end - at_);
        at_ = end + 1;
        ++number_;
        while (!line_.empty() && is_blank(line_.back())) line_.remove_suffix(1);
        return line_;
    }
    /// next_line() returns the same line again.
    void put_back() {
        is_back_ = true;
        --number_;
    }

    void refuse_binary() {
        if (lines_.begins_with("mmap lm http://kheafield.com/code"))
            throw invalid_input(lines_.name(), 0,
                                "a binary model of KenLM; expected the ARPA file that it was made from");
    }

    void read_sizes() {
        std::string_view line = next_line();
        while (line != "\\data\\") {
            // Text before the head is allowed.
            if (number_ > 1000) refuse("no line \\data\\ among the first 1,000: this is no ARPA file");
            line = next_line();
        }
        has_head_ = true;
        while (true) {
            line = next_line();
            if (line.empty()) {
                if (!sizes_.empty()) break;
                continue;
            }
            if (line.starts_with('\\')) {  // no empty line after the head
                put_back();
                break;
            }
            const std::string expected = fmt::format("expected \"ngram {}=COUNT\"", sizes_.size() + 1);
            std::string_view rest = line;
            if (next_field(rest) != "ngram") refuse(expected);
            const std::string_view pair = next_field(rest);
            const std::size_t sign = pair.find('=');
            if (sign == std::string_view::npos || pair.substr(0, sign) != std::to_string(sizes_.size() + 1))
                refuse(expected);
            std::string_view count = pair.substr(sign + 1);
            if (count.empty()) count = next_field(rest);
            try {
                sizes_.push_back(parse_integer(count, 0, UINT32_MAX - 1));
            } catch (const usage_error&) {
                refuse(expected);
            }
            if (sizes_.size() > back_off_model::max_order)
                refuse(fmt::format("n-grams of more than {} words", back_off_model::max_order));
        }
        if (sizes_.empty() || sizes_[0] == 0) refuse("the head declares no single words");
        declared_ = sizes_.size();
        while (sizes_.back() == 0) sizes_.pop_back();
        const std::uint64_t needed = back_off_model::bytes_for(sizes_) + 64 * sizes_[0];
        if (needed > ctx_.memory_limit())
            throw out_of_memory("the language model", needed, ctx_.memory_limit());
        for (unsigned n = 1; n <= sizes_.size(); ++n) {
            ngram_list& list = lists_.emplace_back();
            list.n = n;
        }
    }

    void read_section(std::string_view head) {
        const unsigned n = section_ + 1;
        if (n > declared_) refuse("expected \\end\\");
        if (head != fmt::format("\\{}-grams:", n)) refuse(fmt::format("expected \\{}-grams:", n));
        if (n > sizes_.size()) {  // declared without n-grams
            ++section_;
            return;
        }
        ++section_;
        ngram_list& list = lists_[n - 1];
        first_line_.push_back(number_ + 1);
        std::vector<std::uint32_t> words(n);
        while (true) {
            std::string_view line = next_line();
            if (line.empty()) continue;
            if (line.front() == '\\') {
                return put_back();
            }
            if (list.size() == sizes_[n - 1])
                refuse(fmt::format("more n-grams of {} word{} than the head declares ({})", n,
                                   n == 1 ? "" : "s", sizes_[n - 1]));
            const std::string_view probability = next_field(line);
            const float logarithm = number(probability, "a logarithm of a probability");
            if (logarithm > 0)
                refuse(
                    fmt::format("the logarithm of a probability is {} (expected at most 0; if it was "
                                "rounded up, write 0)",
                                shown(probability)));
            for (unsigned i = n; i-- > 0;) words[i] = word(next_field(line), n);
            if (n == 1 && words[0] != list.size()) refuse("the word occurs twice");
            list.words.insert(list.words.end(), words.begin(), words.end());
            list.logarithms.push_back(logarithm);
            const std::string_view back_off = next_field(line);
            if (n < declared_)
                list.back_offs.push_back(back_off.empty() ? 0 : number(back_off, "a back-off weight"));
            if (!next_field(line).empty()) refuse(fmt::format("more than {} words and two numbers", n));
        }
    }

    float number(std::string_view text, std::string_view what) const {
        constexpr float least = -99, infinity = std::numeric_limits<float>::infinity();
        const char* const last = text.data() + text.size();
        float value = 0;
        auto [end, failed] = std::from_chars(text.data(), last, value);
        if (failed == std::errc::result_out_of_range) {  // nearly 0, or far from it
            double wide = 0;
            if (std::from_chars(text.data(), last, wide).ec != std::errc())
                wide = has_negative_exponent(text) ? 0 : text.starts_with('-') ? -infinity : infinity;
            failed = {};
            value = wide > 1 ? infinity : static_cast<float>(std::max<double>(wide, least));
        }
        if (text.empty() || end != last || failed != std::errc() || !(value < infinity))
            refuse(fmt::format("expected {}, found '{}'", what, shown(text)));
        return std::max(value, least);
    }

    std::uint32_t word(std::string_view text, unsigned n) {
        if (text.empty()) refuse(fmt::format("expected {} word{}", n, n == 1 ? "" : "s"));
        if (n == 1) {
            std::uint32_t number = 0;
            model_.words.numbers_of(std::span(&text, 1), &number);
            return number;
        }
        const std::uint32_t number = model_.words.find(text);
        if (number == word_model::none)
            refuse(fmt::format("the word '{}' is not among the 1-grams", shown(text)));
        return number;
    }

    /// Lengths declared without n-grams are dropped, except one after n-grams with back-off weights, which count only then.
    void keep_last_back_offs() {
        std::vector<float>& weights = lists_.back().back_offs;
        if (std::ranges::all_of(weights, [](float weight) { return weight == 0; }))
            weights.clear();
        else
            lists_.emplace_back().n = static_cast<unsigned>(sizes_.size()) + 1;
    }

    word_model finished() {
        model_.unknown = model_.words.find("<unk>");
        if (model_.unknown == word_model::none) model_.unknown = model_.words.find("<UNK>");
        model_.begin = model_.words.find("<s>");
        model_.end = model_.words.find("</s>");
        constexpr float impossible = -90;
        model_.ends_sentences =
            model_.end != word_model::none && lists_[0].logarithms[model_.end] > impossible;
        keep_last_back_offs();
        back_off_model::repeated_ngram repeated;
        model_.ngrams = back_off_model(std::move(lists_), repeated);
        if (repeated.n != 0)
            throw invalid_input(
                lines_.name(), first_line_[repeated.n - 1] + repeated.second,
                fmt::format("the n-gram occurs a second time: it is number {} and {} of those "
                            "of {} words",
                            repeated.first + 1, repeated.second + 1, repeated.n));
        return std::move(model_);
    }

    const context& ctx_;
    std::unique_ptr<io::byte_source> source_;
    io::text_blocks lines_;
    io::text_block block_;
    std::string_view text_, line_;
    std::size_t at_ = 0;
    bool is_back_ = false, has_head_ = false;
    std::uint64_t number_ = 0;          ///< of the line, from 1
    std::size_t declared_ = 0;          ///< lengths
    std::vector<std::uint64_t> sizes_;  ///< without lengths of which there are none at the end
    std::vector<ngram_list> lists_;
    std::vector<std::uint64_t> first_line_;
    unsigned section_ = 0;
    word_model model_;
};

}  // namespace

word_model read_model(const std::filesystem::path& path, const context& ctx) {
    if (!is_compact_model(path)) return read_arpa(path, ctx);
    word_model model;
    auto file = std::make_shared<const model_file>(path);
    model.unknown = file->unknown;
    model.begin = file->begin;
    model.end = file->end;
    model.ends_sentences = file->info.ends_sentences;
    model.file = std::move(file);
    return model;
}

word_model read_arpa(const std::filesystem::path& path, const context& ctx) {
    return arpa_reader(path, ctx).read();
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/word_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/hash.hpp"
#include "base/utf8.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {

std::string_view word_numbers::word(std::uint32_t number) const {
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - std::size_t{1}];
    return std::string_view(letters_).substr(begin, ends_[number] - begin);
}

std::size_t word_numbers::slot_of(std::string_view word) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash64(word) & mask;
    while (slots_[at] != 0 && this->word(slots_[at] - 1) != word) at = (at + 1) & mask;
    return at;
}

std::optional<std::uint32_t> word_numbers::find(std::string_view word) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t number_plus_one = slots_[slot_of(word)];
    return number_plus_one == 0 ? std::nullopt : std::optional(number_plus_one - 1);
}

std::uint32_t word_numbers::number_of(std::string_view word) {
    if (3 * (ends_.size() + 1) > 2 * slots_.size()) grow();
    const std::size_t at = slot_of(word);
    if (slots_[at] != 0) return slots_[at] - 1;
    if (size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
        throw out_of_memory("the distinct words", ends_.size(), ends_.size());
    }
    letters_ += word;
    ends_.push_back(letters_.size());
    slots_[at] = size();
    return size() - 1;
}

void word_numbers::grow() {
    std::vector<std::uint32_t> wider(std::max<std::size_t>(64, 2 * slots_.size()));
    const std::size_t mask = wider.size() - 1;
    for (std::uint32_t number = 0; number < size(); ++number) {
        std::size_t at = hash64(word(number)) & mask;
        while (wider[at] != 0) at = (at + 1) & mask;
        wider[at] = number + 1;
    }
    slots_ = std::move(wider);
}

namespace {

/// The characters of a text as words; bytes that are none count as the longest beginning of one.
void take_characters(std::string_view text, word_table::piece& to) {
    constexpr std::uint32_t none = 0xffffffff;
    std::array<std::uint32_t, 128> of_ascii{};
    of_ascii.fill(none);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= of_ascii.size()) {
            next_utf8(text, at);
            to.words.push_back(to.distinct.number_of(text.substr(begin, at - begin)));
            continue;
        }
        ++at;
        std::uint32_t& number = of_ascii[byte];
        if (number == none) number = to.distinct.number_of(text.substr(begin, 1));
        to.words.push_back(number);
    }
}

}  // namespace

word_table::word_table(const text_options& text, const std::filesystem::path& scratch_file, shingle_unit unit)
    : unit_(unit), analyzers_([text] { return text::analyzer(text); }), file_(scratch_file) {
    analyzers_.local();  // refuses invalid options before the work
}

void word_table::analyse(std::string_view text, bool verbatim, piece& to) {
    text::token_list& tokens = tokens_.local();
    const auto take = [&to](const text::token_list& some) {
        for (const text::token& t : some.tokens) to.words.push_back(to.distinct.number_of(some.word(t)));
    };
    if (unit_ == shingle_unit::character) {
        take_characters(text, to);
    } else if (verbatim) {
        text::analyzer::take_lines(text, tokens);
        take(tokens);
    } else {
        analyzers_.local().analyze_in_pieces(text, tokens, take);
    }
    to.ends.push_back(to.words.size());
}

void word_table::append(const piece& from) {
    number_of_distinct_.clear();
    for (std::uint32_t i = 0; i < from.distinct.size(); ++i) {
        number_of_distinct_.push_back(all_.number_of(from.distinct.word(i)));
    }
    renumbered_.clear();
    for (const std::uint32_t word : from.words) renumbered_.push_back(number_of_distinct_[word]);
    file_.append_values(std::span<const std::uint32_t>(renumbered_));
    const std::uint64_t before = offsets_.back();
    for (const std::uint64_t end : from.ends) offsets_.push_back(before + end);
}

void word_table::append_texts(const document_table& documents, std::uint32_t first, std::uint32_t last,
                              bool verbatim, const context& ctx) {
    constexpr std::uint64_t piece_bytes = 2 << 20;
    struct batch {
        std::uint32_t first = 0, last = 0;
        piece words;
    };
    std::uint32_t next = first;
    pipeline<batch> line(units_at_once(ctx));
    line.from([&](batch& s) {
        ctx.check_stop();
        ctx.report({"words", next - first, last - first, "documents"});
        s.first = next;
        for (std::uint64_t bytes = 0; next < last && bytes < piece_bytes; ++next)
            bytes += documents.text_bytes(next);
        s.last = next;
        return s.first < s.last;
    });
    line.in_parallel([&](batch& s) {
        for (std::uint32_t d = s.first; d < s.last; ++d) analyse(documents.text(d), verbatim, s.words);
    });
    line.in_order([&](const batch& s) { append(s.words); });
    run_parallel(ctx, [&] { line.run(); });
}

word_list word_table::words() {
    hashes_.reserve(all_.size());
    while (hashes_.size() < all_.size())
        hashes_.push_back(hash64(all_.word(static_cast<std::uint32_t>(hashes_.size()))));
    file_.flush();
    mapped_ = io::mapped_file(file_.path());
    const auto bytes = mapped_.bytes();
    return {{reinterpret_cast<const std::uint32_t*>(bytes.data()), bytes.size() / sizeof(std::uint32_t)},
            offsets_,
            hashes_};
}

}  // namespace quern

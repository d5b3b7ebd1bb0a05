// SPDX-License-Identifier: Apache-2.0
// A page takes as many words as fit. It is coded again from the start if a new word shortens the common beginning, which
// happens a few times per page.
#include "primitives/dictionary/packed_writer.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "primitives/dictionary/packed_dictionary.hpp"

namespace quern::primitives {

using packed::form;

namespace {

constexpr std::size_t enough_words = std::size_t{packed::pages_a_table} * packed::max_words;
constexpr std::size_t enough_letters = std::size_t{16} << 20;
constexpr std::size_t longest_separator = 255, max_few_codes = 15;
constexpr std::size_t samples_a_run = 24, sample_runs = 512, sample_letters = 64;

std::size_t common_prefix(std::string_view a, std::string_view b) {
    const auto length = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + length, b.begin()).first -
                                    a.begin());
}

template <class Number>
void store(std::string& out, Number number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void fill_up(std::string& out, std::size_t begin) {
    out.resize(begin + packed::padded(out.size() - begin));
}

/// The bytes [skip, skip + count) as a big-endian number, padded with zeros.
std::uint64_t key_of(std::string_view letters, std::size_t skip, unsigned count) {
    std::uint64_t key = 0;
    for (unsigned i = 0; i < count; ++i) {
        key = key << 8 | (skip + i < letters.size() ? static_cast<std::uint8_t>(letters[skip + i]) : 0U);
    }
    return key;
}

std::uint8_t fingerprint_of(std::string_view word) {
    std::array<std::uint8_t, 8> filled{};
    if (word.size() >= filled.size()) {
        return packed::fingerprint(reinterpret_cast<const std::uint8_t*>(word.data()), word.size());
    }
    std::memcpy(filled.data(), word.data(), word.size());
    return packed::fingerprint(filled.data(), word.size());
}

}  // namespace

/// The words of a page, as coded so far.
struct packed_writer::page {
    struct state {
        std::size_t count = 0, begins = 0;  ///< words; letters of the common beginning
        form what = form::few_codes;
        std::size_t codes = 0, letters = 0;  ///< of all words, after the beginning

        std::size_t bytes() const {
            const std::size_t counts = what == form::few_codes ? (count + 1) / 2 : count;
            return packed::page_head + count + counts + begins + (what == form::letters ? letters : codes);
        }
    };
    state now;
    std::array<std::uint8_t, packed::max_words> lengths{};
    std::array<std::array<std::uint8_t, packed::page_bytes>, packed::max_words> coded{};
};

void packed_writer::append(std::string_view word) {
    letters_ += word;
    waiting_.push_back(letters_.size());
    ++size_;
    if (waiting_.size() >= enough_words || letters_.size() >= enough_letters) make_pages(false);
}

void packed_writer::end() {
    make_pages(true);
    pages_.append(packed::read_beyond, '\0');
}

std::string packed_writer::take_pages() {
    return std::exchange(pages_, {});
}

void packed_writer::choose_symbols() {
    std::array<std::uint64_t, 256> known{};
    for (const char c : letters_) ++known[static_cast<std::uint8_t>(c)];
    // Only the ends of words are coded, after the beginnings shared with neighbours.
    std::vector<std::string_view> samples;
    const std::size_t runs = waiting_.size() / samples_a_run + 1, every = runs / sample_runs + 1;
    for (std::size_t run = 0; run < runs; run += every) {
        const std::size_t first = run * samples_a_run,
                          last = std::min(first + samples_a_run, waiting_.size());
        if (first == last) break;
        const std::size_t begins = common_prefix(word(first), word(last - 1));
        for (std::size_t i = first; i < last; ++i) {
            samples.push_back(word(i).substr(begins).substr(0, sample_letters));
        }
    }
    symbols_.emplace_back(samples, known);
}

void packed_writer::make_pages(bool all) {
    constexpr std::size_t kept = packed::max_words + 1;  // a page must see the word after it
    std::size_t first = 0;
    auto made = std::make_unique<page>(), other = std::make_unique<page>();
    while (waiting_.size() - first > (all ? 0 : kept)) {
        if (page_count_ == symbols_.size() * packed::pages_a_table) {
            // Chosen while all words are still present.
            if (first > 0) {
                letters_.erase(0, waiting_[first - 1]);
                const std::uint64_t coded_bytes = waiting_[first - 1];
                waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first));
                for (std::uint64_t& end : waiting_) end -= coded_bytes;
                first = 0;
                if (!all && waiting_.size() < enough_words && letters_.size() < enough_letters) return;
            }
            choose_symbols();
        }
        begin_page(before_, word(first));
        const std::size_t count = fill(*made, *other, first);
        if (count == 0) {
            write_long(word(first));
        } else {
            write(*made, first);
        }
        first += std::max<std::size_t>(count, 1);
        before_ = word(first - 1);
    }
    if (first == 0) return;
    const std::uint64_t coded_bytes = waiting_[first - 1];
    letters_.erase(0, coded_bytes);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::uint64_t& end : waiting_) end -= coded_bytes;
}

/// Codes words from `first` on until the page has `count`; keeps those coded already. False if they do not fit.
bool packed_writer::encode(page& made, std::size_t first, std::size_t count) const {
    page::state& now = made.now;
    for (; now.count < count; ++now.count) {
        const std::string_view rest = word(first + now.count).substr(now.begins);
        const int encoded = symbols_.back().encode(rest, made.coded[now.count]);
        if (encoded > static_cast<int>(packed::page_bytes)) return false;
        now.letters += rest.size();
        if (encoded < 0) {
            now.what = form::letters;
            continue;
        }
        const auto length = static_cast<std::size_t>(encoded);
        if (length > max_few_codes && now.what == form::few_codes) now.what = form::many_codes;
        now.codes += length;
        made.lengths[now.count] = static_cast<std::uint8_t>(length);
    }
    return now.bytes() <= packed::page_bytes;
}

/// As many words from `first` on as fit a page; 0 if not even one does.
std::size_t packed_writer::fill(page& result, page& other, std::size_t first) const {
    const std::string_view head = word(first);
    result.now = {.begins = head.size()};
    if (head.size() > packed::page_bytes || !encode(result, first, 1)) return 0;
    const std::size_t max = std::min<std::size_t>(packed::max_words, waiting_.size() - first);
    for (std::size_t count = 2; count <= max; ++count) {
        const page::state before = result.now;
        const std::size_t begins = std::min(before.begins, common_prefix(head, word(first + count - 1)));
        const bool again = begins != before.begins;
        if (again) other.now = {.begins = begins};
        if (!encode(again ? other : result, first, count)) {
            if (!again) result.now = before;
            break;
        }
        if (again) std::swap(result, other);
    }
    return result.now.count;
}

void packed_writer::begin_page(std::string_view before, std::string_view first) {
    const std::size_t needed = written_ == 0 ? 0 : common_prefix(before, first) + 1;
    separators_ += first.substr(0, std::min(needed, longest_separator));
    separator_ends_.push_back(static_cast<std::uint32_t>(separators_.size()));
}

void packed_writer::write(const page& result, std::size_t first) {
    const page::state& now = result.now;
    const std::size_t begin = pages_.size();
    store(pages_, written_);
    pages_ += static_cast<char>(static_cast<unsigned>(now.what) << 6 | now.count);
    pages_ += static_cast<char>(now.begins);
    for (std::size_t i = 0; i < now.count; ++i) pages_ += static_cast<char>(fingerprint_of(word(first + i)));
    const auto length = [&](std::size_t i) -> unsigned {
        if (i == now.count) return 0;
        if (now.what != form::letters) return result.lengths[i];
        return static_cast<unsigned>(word(first + i).size() - now.begins);
    };
    const std::size_t together = now.what == form::few_codes ? 2 : 1;
    for (std::size_t i = 0; i < now.count; i += together) {
        pages_ += static_cast<char>(together == 2 ? length(i) | length(i + 1) << 4 : length(i));
    }
    pages_ += word(first).substr(0, now.begins);
    for (std::size_t i = 0; i < now.count; ++i) {
        if (now.what == form::letters) {
            pages_ += word(first + i).substr(now.begins);
        } else {
            pages_.append(reinterpret_cast<const char*>(result.coded[i].data()), result.lengths[i]);
        }
    }
    pages_.resize(begin + packed::page_bytes);
    const auto count = static_cast<std::uint32_t>(now.count);
    while (samples_.size() * packed::ids_a_sample < written_ + std::uint64_t{count})
        samples_.push_back(page_count_);
    written_ += count;
    ++page_count_;
}

void packed_writer::write_long(std::string_view word) {
    const std::uint32_t head = page_count_;
    const std::string separator(this->separator(head));
    while (samples_.size() * packed::ids_a_sample <= written_) samples_.push_back(page_count_);
    constexpr char form_only = static_cast<char>(static_cast<unsigned>(form::long_word) << 6);
    std::size_t begin = pages_.size();
    store(pages_, written_++);
    pages_ += static_cast<char>(form_only | 1);
    pages_.append(3, '\0');
    store(pages_, std::uint64_t{word.size()});
    for (;;) {
        const std::size_t capacity = begin + packed::page_bytes - pages_.size();
        pages_ += word.substr(0, capacity);
        word.remove_prefix(std::min(capacity, word.size()));
        pages_.resize(begin + packed::page_bytes);
        ++page_count_;
        if (word.empty()) return;
        if (page_count_ == symbols_.size() * packed::pages_a_table) symbols_.push_back(symbols_.back());
        begin = pages_.size();
        store(pages_, page_count_ - head);
        pages_ += form_only;
        pages_ += '\1';
        pages_.append(2, '\0');
        separators_ += separator;
        separator_ends_.push_back(static_cast<std::uint32_t>(separators_.size()));
    }
}

std::string_view packed_writer::separator(std::uint64_t of) const {
    const std::uint32_t begin = of == 0 ? 0 : separator_ends_[of - 1];
    return std::string_view(separators_).substr(begin, separator_ends_[of] - begin);
}

/// A level whose keys are those of every `apart`th page.
void packed_writer::append_level(std::string& out, std::uint64_t apart, unsigned key_bytes) const {
    const std::uint64_t keys = (page_count_ + apart - 1) / apart;
    std::string skips;
    const std::size_t begin = out.size();
    for (std::uint64_t node = 0; node < keys; node += packed::fan_out) {
        const std::uint64_t beyond = (node + packed::fan_out) * apart;
        const std::string_view next = beyond < page_count_ ? separator(beyond) : std::string_view(before_);
        const std::size_t skip =
            std::min(common_prefix(separator(node * apart), next), longest_separator - 8);
        skips += static_cast<char>(skip);
        for (std::uint64_t i = node; i < node + packed::fan_out; ++i) {
            const std::uint64_t key =
                i < keys ? key_of(separator(i * apart), skip, key_bytes) : ~std::uint64_t{0};
            out.append(reinterpret_cast<const char*>(&key), key_bytes);
        }
    }
    fill_up(out, begin);
    const std::size_t skips_begin = out.size();
    out += skips;
    fill_up(out, skips_begin);
}

std::string packed_writer::tables() const {
    std::string out;
    store(out, size_);
    store(out, page_count_);
    fill_up(out, 0);
    std::uint64_t apart = 1;
    for (std::uint64_t keys = page_count_; keys > 0; apart *= packed::fan_out) {
        append_level(out, apart, apart == 1 ? 4 : 8);
        keys = keys <= packed::fan_out ? 0 : (keys + packed::fan_out - 1) / packed::fan_out;
    }
    std::size_t begin = out.size();
    out.append(reinterpret_cast<const char*>(samples_.data()), samples_.size() * 4);
    fill_up(out, begin);
    begin = out.size();
    for (const symbol_table& table : symbols_) table.append_to(out);
    fill_up(out, begin);
    return out;
}

}  // namespace quern::primitives

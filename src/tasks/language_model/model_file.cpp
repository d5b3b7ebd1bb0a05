// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/model_file.hpp"

#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/failure_kinds.hpp"
#include "base/hash.hpp"
#include "device/files/descriptor.hpp"
#include "io/files/atomic_file.hpp"
#include "io/store/format_version.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model_option_table.hpp"
#include "tasks/language_model/arpa_file.hpp"
#include "tasks/store/manifest.hpp"

#include <fcntl.h>

namespace quern {
namespace {

constexpr char magic[8] = {'Q', 'U', 'E', 'R', 'N', 'L', 'M', '\n'};

struct file_head {
    char name[8];
    std::uint32_t version, ends_sentences;
    std::uint32_t unknown, begin, end, zero;
    std::uint64_t words, letter_bytes, slots, ngram_bytes;
    std::uint64_t zeros[8];
};
static_assert(sizeof(file_head) == 128);

constexpr std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/// At most two thirds of the slots are in use.
std::vector<std::uint64_t> slots_of(const io::word_table& words) {
    std::vector<std::uint64_t> slots(std::bit_ceil(words.size() + words.size() / 2 + 1));
    for (std::uint64_t i = 0; i < words.size(); ++i) {
        const std::uint64_t hash = hash64(words.at(i));
        std::uint64_t at = hash & (slots.size() - 1);
        while (slots[at] != 0) at = (at + 1) & (slots.size() - 1);
        slots[at] = hash >> 32 << 32 | (i + 1);
    }
    return slots;
}

}  // namespace

void write_model_file(file_writer& to, const word_model& model, unsigned quantised_bits) {
    std::string letters;
    std::vector<std::uint32_t> ends;
    for (std::uint64_t i = 0; i < model.words.size(); ++i) {
        letters += model.words.at(i);
        if (letters.size() > UINT32_MAX)
            throw out_of_memory("the letters of the model's words", letters.size(), UINT32_MAX);
        ends.push_back(static_cast<std::uint32_t>(letters.size()));
    }
    const std::vector<std::uint64_t> slots = slots_of(model.words);
    const std::vector<char> ngrams = compact_model::encode(model.ngrams, quantised_bits);
    file_head head{};
    std::memcpy(head.name, magic, sizeof magic);
    head.version = language_model_format_version;
    head.ends_sentences = model.ends_sentences ? 1 : 0;
    head.unknown = model.unknown;
    head.begin = model.begin;
    head.end = model.end;
    head.words = ends.size();
    head.letter_bytes = letters.size();
    head.slots = slots.size();
    head.ngram_bytes = ngrams.size();
    io::section_writer section(to);
    section.append_value(head);
    section.append(letters);
    section.align(8);
    section.append_values(std::span<const std::uint32_t>(ends));
    section.align(8);
    section.append_values(std::span<const std::uint64_t>(slots));
    section.append({ngrams.data(), ngrams.size()});
    section.finish();
}

model_file::model_file(const std::filesystem::path& path) {
    std::error_code unseen;
    const std::filesystem::file_status status = std::filesystem::status(path, unseen);
    if (status.type() == std::filesystem::file_type::not_found)
        throw usage_error(path.string() + ": no such file");
    section = io::section_view(path, "language model");
    if (section.size() < sizeof(file_head)) section.fail("is too short");
    const auto head = section.value<file_head>(0);
    if (std::memcmp(head.name, magic, sizeof magic) != 0) section.fail("is no language model");
    if (head.version != language_model_format_version)
        section.fail(io::other_format_version(head.version, language_model_format_version));
    const std::uint64_t max = section.size();
    if (head.words > UINT32_MAX || head.letter_bytes > max || head.slots > max / 8 ||
        head.ngram_bytes > max || !std::has_single_bit(head.slots) || head.slots <= head.words ||
        sizeof head + padded(head.letter_bytes) + padded(4 * head.words) + 8 * head.slots +
                head.ngram_bytes !=
            max)
        section.fail("has parts of wrong length");
    std::uint64_t at = sizeof head;
    const auto part = [&](std::uint64_t bytes) {
        const std::uint64_t first = at;
        at += padded(bytes);
        return first;
    };
    letters_ = section.bytes(part(head.letter_bytes), head.letter_bytes);
    ends_ = section.values<std::uint32_t>(part(4 * head.words), head.words);
    slots_ = section.values<std::uint64_t>(part(8 * head.slots), head.slots);
    std::uint32_t last = 0;
    for (const std::uint32_t next : ends_)
        if (std::exchange(last, next) > next) section.fail("has words that end before they begin");
    std::uint64_t used = 0;
    for (const std::uint64_t slot : slots_) {
        if (slot == 0) continue;
        if ((slot & UINT32_MAX) == 0 || (slot & UINT32_MAX) > head.words)
            section.fail("has a word out of range");
        ++used;
    }
    if (last != head.letter_bytes || used != head.words) section.fail("has words that do not fit");
    try {
        ngrams = compact_model(section.bytes(part(head.ngram_bytes), head.ngram_bytes));
    } catch (const invalid_value& e) {
        section.fail(e.what());
    }
    const auto is_word = [&](std::uint32_t number) { return number == UINT32_MAX || number < head.words; };
    if (ngrams.size(1) != head.words || !is_word(head.unknown) || !is_word(head.begin) || !is_word(head.end))
        section.fail("has n-grams that do not fit its words");
    unknown = head.unknown;
    begin = head.begin;
    end = head.end;
    info.format_version = head.version;
    info.words = static_cast<std::uint32_t>(head.words);
    info.ends_sentences = head.ends_sentences != 0;
    info.quantized_bits = ngrams.quantised_bits();
    for (unsigned n = 1; n <= ngrams.order(); ++n) info.ngrams.push_back(ngrams.size(n));
    info.ngram_bytes = head.ngram_bytes;
    info.file_bytes = std::filesystem::file_size(path);
    info.checksum = section.checksum();
}

void model_file::find(std::span<const std::string_view> words, std::uint32_t* numbers) const {
    std::uint64_t hashes[at_once] = {};
    const std::uint64_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
        hashes[i] = hash64(words[i]);
        __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    const auto first_number = [&](std::size_t i) {
        return static_cast<std::uint32_t>(slots_[hashes[i] & mask]) - 1;
    };
    for (std::size_t i = 0; i < words.size(); ++i)
        if (const std::uint32_t number = first_number(i); number != UINT32_MAX)
            __builtin_prefetch(&ends_[number]);
    for (std::size_t i = 0; i < words.size(); ++i)
        if (const std::uint32_t number = first_number(i); number != UINT32_MAX)
            __builtin_prefetch(this->word(number).data());
    for (std::size_t i = 0; i < words.size(); ++i) numbers[i] = find(words[i], hashes[i]);
}

std::uint32_t model_file::find(std::string_view word, std::uint64_t hash) const {
    const std::uint64_t mask = slots_.size() - 1;
    for (std::uint64_t at = hash & mask;; at = (at + 1) & mask) {
        const std::uint64_t slot = slots_[at];
        if (slot == 0) return UINT32_MAX;
        const auto number = static_cast<std::uint32_t>(slot) - 1;
        if (slot >> 32 == hash >> 32 && this->word(number) == word) return number;
    }
}

std::string_view model_file::word(std::uint32_t number) const {
    const std::uint32_t first = number == 0 ? 0 : ends_[number - 1];
    return letters_.substr(first, ends_[number] - first);
}

language_model_info make_compact_model(const std::filesystem::path& from,
                                       const compact_model_options& options, const context& ctx) {
    if (from.empty()) throw usage_error("no language model given");
    if (options.file.empty()) throw usage_error("no file for the compact model given");
    check_ranges(options);
    if (is_compact_model(from))
        throw usage_error(from.string() + " is a compact model already; expected an ARPA file");
    std::error_code missing;
    if (std::filesystem::is_other(options.file, missing))
        throw usage_error(options.file.string() +
                          " is not a file on a disk (expected one: a model is mapped)");
    io::atomic_file file(options.file, options.force ? io::existing::replace : io::existing::refuse);
    const word_model model = read_arpa(from, ctx);
    ctx.report({"write", 0, 0, "n-grams"});
    write_model_file(file.writer(), model, options.quantize);
    file.commit();
    return read_compact_model_info(options.file);
}

bool is_compact_model(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    try {
        const descriptor file = open_file(path, O_RDONLY);
        char first[sizeof magic];
        return read_some(file.number(), first, path) == sizeof first &&
               std::memcmp(first, magic, sizeof first) == 0;
    } catch (const io_error& failed) {
        if (says_missing(failed.code())) return false;
        throw;  // else a compact model would be read as text
    }
}

language_model_info read_compact_model_info(const std::filesystem::path& path) {
    return model_file(path).info;
}

std::uint64_t verify_compact_model(const std::filesystem::path& path, const context& ctx) {
    const model_file file(path);
    manifests::check_all(file.section, ctx);
    return file.info.file_bytes;
}

}  // namespace quern

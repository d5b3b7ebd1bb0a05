// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/index_runs.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/prefix_key.hpp"
#include "base/release.hpp"
#include "base/varint.hpp"

namespace quern::search_detail {
namespace {

[[noreturn]] void foreign() {
    throw std::logic_error("encode_tokens: the words do not match the run");
}

template <class Value>
Value value_at(std::string_view bytes, std::size_t offset) {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace

void token_recorder::add_large(std::uint32_t number) {
    numbers_.push_back(escape);
    numbers_.push_back(static_cast<std::uint16_t>(number));
    numbers_.push_back(static_cast<std::uint16_t>(number >> 16));
}

std::string token_recorder::finish(std::span<const std::uint32_t> numbers_by_rank) {
    const auto count = static_cast<std::uint32_t>(numbers_by_rank.size());
    std::string recorded;
    recorded.reserve(sizeof count + numbers_by_rank.size_bytes() + numbers_.size() * sizeof numbers_[0]);
    const auto append = [&recorded](const auto* values, std::size_t size) {
        recorded.append(reinterpret_cast<const char*>(values), size * sizeof *values);
    };
    append(&count, 1);
    append(numbers_by_rank.data(), numbers_by_rank.size());
    append(numbers_.data(), numbers_.size());
    release(numbers_);
    return recorded;
}

coded_tokens encode_tokens(std::string_view recorded, std::span<const std::uint32_t> words_by_rank,
                           const token_code& code, std::span<const std::uint32_t> document_lengths) {
    if (recorded.size() < sizeof(std::uint32_t)) foreign();
    const std::size_t distinct = value_at<std::uint32_t>(recorded, 0);
    if (distinct != words_by_rank.size() || (recorded.size() / sizeof(std::uint32_t)) - 1 < distinct)
        foreign();
    const std::vector<codeword> codes_by_rank = code.of_rising(words_by_rank);
    std::vector<codeword> codes(distinct);
    for (std::size_t rank = 0; rank < distinct; ++rank) {
        const auto number = value_at<std::uint32_t>(recorded, (rank + 1) * sizeof(std::uint32_t));
        if (number >= distinct) foreign();
        codes[number] = codes_by_rank[rank];
    }

    coded_tokens out;
    out.ends.reserve(document_lengths.size());
    out.bytes.reserve(recorded.size());
    const char* from = recorded.data() + (distinct + 1) * sizeof(std::uint32_t);
    const char* const end = recorded.data() + recorded.size();
    const auto next = [&from, end]() -> std::uint32_t {
        if (end - from < 2) foreign();
        std::uint16_t part;
        std::memcpy(&part, from, sizeof part);
        from += sizeof part;
        if (part != token_recorder::escape) return part;
        if (end - from < 4) foreign();
        std::uint32_t number;
        std::memcpy(&number, from, sizeof number);
        from += sizeof number;
        return number;
    };
    for (const std::uint32_t length : document_lengths) {
        const std::size_t begin = out.bytes.size();
        out.bytes.resize(begin + std::size_t{length} * codeword::longest + sizeof(codeword));
        char* to = out.bytes.data() + begin;
        for (std::uint32_t i = 0; i < length; ++i) {
            const std::uint32_t number = next();
            if (number >= distinct) foreign();
            std::memcpy(to, codes[number].bytes, sizeof codes[number].bytes);  // whole: a single store
            to += codes[number].size;
        }
        out.bytes.resize(static_cast<std::size_t>(to - out.bytes.data()));
        out.ends.push_back(out.bytes.size());
    }
    if (from != end) foreign();
    return out;
}

namespace {

constexpr std::size_t longest_varint = 10;

}  // namespace

std::uint64_t sorted_run::memory_bytes() const {
    std::uint64_t sum =
        bytes.capacity() + tokens.capacity() + restart_offsets.capacity() * sizeof(std::uint64_t);
    for (const std::string& word : restart_words) sum += sizeof(std::string) + word.capacity();
    return sum;
}

run_cursor::run_cursor(const sorted_run& run, std::size_t restart, std::size_t buffer_bytes)
    : run_(&run), buffer_bytes_(buffer_bytes) {
    position_ = restart < run.restart_offsets.size() ? run.restart_offsets[restart] : run.size;
    if (!run.bytes.empty()) window_ = run.bytes;
}

/// The bytes at the current position: at least `bytes` of them, or all that the run has left.
const char* run_cursor::need(std::size_t bytes) {
    const std::uint64_t left = run_->size - position_;
    const std::uint64_t wanted = std::min<std::uint64_t>(bytes, left);
    if (position_ < window_begin_ || position_ + wanted > window_begin_ + window_.size()) {
        buffer_.resize(std::min<std::uint64_t>(left, std::max(bytes, buffer_bytes_)));
        run_->read(position_, buffer_);
        window_begin_ = position_;
        window_ = buffer_;
    }
    return window_.data() + (position_ - window_begin_);
}

bool run_cursor::next() {
    if (position_ >= run_->size) return false;
    const char* const lengths = need(2 * longest_varint);
    const char* p = lengths;
    const std::size_t shared = read_varint(p);
    const std::size_t rest = read_varint(p);
    position_ += static_cast<std::uint64_t>(p - lengths);

    const char* const tail = need(rest + longest_varint);
    word_.resize(shared);
    word_.append(tail, rest);
    prefix_ = prefix_key(word_);
    p = tail + rest;
    const std::size_t postings_bytes = read_varint(p);
    position_ += static_cast<std::uint64_t>(p - tail);

    postings_ = {need(postings_bytes), postings_bytes};
    position_ += postings_bytes;
    return true;
}

}  // namespace quern::search_detail

// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/inverted_run.hpp"

#include <algorithm>

#include "base/prefix_key.hpp"
#include "base/varint.hpp"

namespace quern::search_detail {
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

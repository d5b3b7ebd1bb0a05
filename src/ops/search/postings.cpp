// SPDX-License-Identifier: Apache-2.0
// A list is: a header of 16 bytes for each full block of 128 postings; the packed numbers of those blocks; the remaining
// postings as variable-length bytes. Headers are adjacent, so that skipping reads nothing else.
#include "ops/search/postings.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/varint.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

struct block_header {
    std::uint32_t last;      // document
    std::uint32_t end;       // of the block's numbers, in units of 16 bytes after the headers
    std::uint32_t shortest;  // words in the shortest document; 0: unknown. Of saturated weights: the largest
    std::uint16_t max_frequency;  // 65535: that or more
    std::uint8_t gap_width;
    std::uint8_t frequency_width;
};
static_assert(sizeof(block_header) == 16 && std::is_trivially_copyable_v<block_header>);
constexpr std::uint16_t saturated = 0xffff;
constexpr std::uint32_t unbounded = std::numeric_limits<std::uint32_t>::max();

std::uint32_t largest_frequency(const block_header& header) {
    return header.max_frequency == saturated ? unbounded : header.max_frequency;
}

[[noreturn]] void damaged(const char* reason) {
    throw damaged_store("the store", "postings", reason);
}

block_header header_at(std::span<const char> bytes, std::uint32_t block) {
    block_header header{};
    std::memcpy(&header, bytes.data() + sizeof header * std::size_t{block}, sizeof header);
    return header;
}

// Seven bits per byte, lowest first; the top bit is set on all but the last byte.
std::uint64_t get_varint(std::span<const char> bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 42; shift += 7) {
        if (at == bytes.size()) damaged("a list is truncated");
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return value;
    }
    damaged("a number in a list is too long");
}

}  // namespace

void postings_writer::add(std::uint32_t document, std::uint32_t frequency) {
    if (document < next_) throw std::logic_error("postings_writer: documents must ascend");
    if (frequency == 0) throw std::logic_error("postings_writer: a frequency must be at least 1");
    gaps_[filled_] = static_cast<std::uint32_t>(document - next_);
    extras_[filled_] = frequency - 1;
    shortest_ = std::min(shortest_, lengths_.empty() ? 0 : lengths_[document]);
    next_ = std::uint64_t{document} + 1;
    ++documents_;
    occurrences_ += frequency;
    if (++filled_ == block_size) write_block();
}

void postings_writer::write_block() {
    const auto max = [](const auto& numbers) { return *std::max_element(numbers.begin(), numbers.end()); };
    const std::uint32_t max_extra = max(extras_);
    block_header header{};
    header.last = static_cast<std::uint32_t>(next_ - 1);
    header.shortest = shortest_;
    header.max_frequency =
        static_cast<std::uint16_t>(std::min<std::uint64_t>(saturated, max_extra + std::uint64_t{1}));
    if (values_ == values::weights && header.max_frequency == saturated) header.shortest = max_extra + 1;
    header.gap_width = static_cast<std::uint8_t>(std::bit_width(max(gaps_)));
    header.frequency_width = static_cast<std::uint8_t>(std::bit_width(max_extra));
    for (const auto& [numbers, width] :
         {std::pair(gaps_.data(), header.gap_width), std::pair(extras_.data(), header.frequency_width)}) {
        const std::size_t at = payload_.size();
        payload_.resize(at + packed_bytes(width));
        pack_block(numbers, width, payload_.data() + at);
    }
    header.end = static_cast<std::uint32_t>(payload_.size() / 16);
    char raw[sizeof header];
    std::memcpy(raw, &header, sizeof header);
    headers_.append(raw, sizeof raw);
    filled_ = 0;
    shortest_ = ~std::uint32_t{0};
}

// A tail after full blocks begins with its bounds, so that a search can skip the rest. Most frequencies in a tail are 1:
// the lowest bit of the gap says so, which saves the byte.
void postings_writer::write_tail() {
    if (documents_ > block_size && filled_ != 0) {
        append_varint(out_, *std::max_element(extras_.begin(), extras_.begin() + filled_));
        append_varint(out_, shortest_);
    }
    for (std::uint32_t i = 0; i < filled_; ++i) {
        append_varint(out_, std::uint64_t{gaps_[i]} << 1 | (extras_[i] == 0));
        if (extras_[i] != 0) append_varint(out_, extras_[i] - 1);
    }
}

postings_writer::totals postings_writer::finish_list() {
    out_.append(headers_).append(payload_);
    write_tail();
    const totals result{documents_, occurrences_};
    headers_.clear();
    payload_.clear();
    filled_ = documents_ = 0;
    shortest_ = ~std::uint32_t{0};
    next_ = occurrences_ = 0;
    return result;
}

postings_cursor::postings_cursor(const posting_list& list, std::span<const std::uint32_t> document_lengths)
    : bytes_(list.bytes),
      lengths_(document_lengths),
      full_blocks_(list.document_frequency / block_size),
      tail_size_(list.document_frequency % block_size) {
    if (list.document_frequency > document_lengths.size()) damaged("a list is longer than the collection");
    if (bytes_.size() / sizeof(block_header) < full_blocks_) damaged("a list is truncated");
    enter_block(0);
}

void postings_cursor::next_block() {
    lowest_ = std::uint64_t{last_} + 1;
    enter_block(block_ + 1);
}

void postings_cursor::seek_block(std::uint32_t document) {
    if (done_ || last_ >= document) return;
    if (block_ >= full_blocks_) return next_block();  // the tail ends the list
    // Gallops over the headers: the target is usually near.
    std::uint32_t low = block_ + 1, step = 1;  // the block is at or after `low`
    while (low < full_blocks_ && std::uint64_t{low} + step <= full_blocks_ &&
           header_at(bytes_, low + step - 1).last < document) {
        low += step;
        step *= 2;
    }
    std::uint32_t high =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(full_blocks_, std::uint64_t{low} + step - 1));
    while (low < high) {  // the first in [low, high] that ends at or after `document`; `high` counts as one
        const std::uint32_t middle = low + (high - low) / 2;
        if (header_at(bytes_, middle).last < document)
            low = middle + 1;
        else
            high = middle;
    }
    const std::uint64_t lowest = std::uint64_t{header_at(bytes_, low - 1).last} + 1;  // low >= 1
    if (lowest < lowest_) damaged("a list's documents do not ascend within the collection");
    lowest_ = lowest;
    enter_block(low);
    if (!done_ && last_ < document) next_block();  // only past a tail
}

void postings_cursor::enter_block(std::uint32_t block) {
    block_ = block;
    decoded_ = false;
    if (block < full_blocks_) {
        const block_header header = header_at(bytes_, block);
        const std::uint64_t first_unit = block == 0 ? 0 : header_at(bytes_, block - 1).end;
        const std::size_t begin = full_blocks_ * sizeof(block_header);
        if (header.gap_width > 32 || header.frequency_width > 32 ||
            header.end != first_unit + header.gap_width + header.frequency_width ||
            header.end > (bytes_.size() - begin) / 16)
            damaged("a block's numbers are outside their list");
        if (header.last >= lengths_.size() || header.last + std::uint64_t{1} < lowest_ + block_size)
            damaged("a list's documents do not ascend within the collection");
        payload_ = begin + 16 * first_unit;
        end_ = begin + 16 * std::size_t{header.end};
        last_ = header.last;
        gap_width_ = header.gap_width;
        frequency_width_ = header.frequency_width;
        max_frequency_ = largest_frequency(header);
        min_length_ = header.shortest;
        size_ = block_size;
    } else if (block == full_blocks_ && tail_size_ != 0) {
        decode_tail();
    } else {
        done_ = true;
        size_ = 0;
    }
}

void postings_cursor::decode_block() {
    alignas(64) std::uint32_t gaps[block_size];
    unpack_block(bytes_.data() + payload_, gap_width_, gaps);
    unpack_block(bytes_.data() + payload_ + packed_bytes(gap_width_), frequency_width_, frequencies_.data());
    // 64 bits do not wrap. So if the end agrees with the header, everything before it ascends.
    std::uint64_t next = lowest_;
    for (std::size_t i = 0; i < block_size; ++i) {
        next += gaps[i];
        documents_[i] = static_cast<std::uint32_t>(next);
        ++next;
    }
    if (next != std::uint64_t{last_} + 1) damaged("a block does not end with the document its header names");
    std::uint32_t zero = 0;
    for (std::size_t i = 0; i < block_size; ++i) zero |= ++frequencies_[i] == 0;
    if (zero != 0) damaged("a frequency is out of range");
    decoded_ = true;
}

std::size_t postings_cursor::tail_begin() const {
    const std::size_t begin = full_blocks_ * sizeof(block_header);
    if (full_blocks_ == 0) return begin;
    const std::uint64_t units = header_at(bytes_, full_blocks_ - 1).end;
    if (units > (bytes_.size() - begin) / 16) damaged("a block's numbers are outside their list");
    return begin + 16 * units;
}

postings_cursor::bounds postings_cursor::bounds_of(std::uint32_t block, std::uint32_t& last) const {
    if (block < full_blocks_) {
        const block_header header = header_at(bytes_, block);
        last = header.last;
        return {largest_frequency(header), header.shortest};
    }
    std::size_t at = tail_begin();
    const std::uint64_t max_extra = get_varint(bytes_, at), shortest = get_varint(bytes_, at);
    if (max_extra >= unbounded || shortest > unbounded) damaged("a bound is out of range");
    last = unbounded;
    return {static_cast<std::uint32_t>(max_extra + 1), static_cast<std::uint32_t>(shortest)};
}

void postings_cursor::decode_tail() {
    std::size_t at = tail_begin();
    bounds stated{unbounded, 0};
    if (full_blocks_ != 0) {
        std::uint32_t last;
        stated = bounds_of(full_blocks_, last);
        for (int i = 0; i < 2; ++i) get_varint(bytes_, at);
    }
    std::uint64_t next = lowest_;
    max_frequency_ = 0;
    min_length_ = unbounded;
    for (std::uint32_t i = 0; i < tail_size_; ++i) {
        const std::uint64_t coded = get_varint(bytes_, at);
        const std::uint64_t frequency = (coded & 1) != 0 ? 1 : get_varint(bytes_, at) + 2;
        next += coded >> 1;
        if (next >= lengths_.size()) damaged("a list's documents do not ascend within the collection");
        if (frequency > unbounded) damaged("a frequency is out of range");
        documents_[i] = static_cast<std::uint32_t>(next);
        frequencies_[i] = static_cast<std::uint32_t>(frequency);
        max_frequency_ = std::max(max_frequency_, frequencies_[i]);
        min_length_ = std::min(min_length_, lengths_[next]);
        ++next;
    }
    if (max_frequency_ > stated.max_frequency || min_length_ < stated.min_length)
        damaged("a block's bounds do not hold");
    size_ = tail_size_;
    last_ = documents_[size_ - 1];
    end_ = at;
    decoded_ = true;
}

void check_postings(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                    postings_writer::values of) {
    const bool weights = of == postings_writer::values::weights;
    std::uint64_t occurrences = 0;
    std::size_t used = 0;
    for (postings_cursor cursor(list, document_lengths); !cursor.done(); cursor.next_block()) {
        cursor.decode();
        for (const std::uint32_t frequency : cursor.frequencies()) {
            occurrences += frequency;
            const bool in_length = weights && cursor.max_frequency() == unbounded;
            if (frequency > (in_length ? cursor.min_length() : cursor.max_frequency()))
                damaged("a frequency exceeds its block's bound");
        }
        for (const std::uint32_t document : cursor.documents())
            if (!weights && document_lengths[document] < cursor.min_length())
                damaged("a document is shorter than its block's bound");
        used = cursor.bytes_used();
    }
    if (weights) occurrences = list.document_frequency;
    if (occurrences != list.collection_frequency) damaged("a list's frequencies do not add up");
    if (used != list.bytes.size()) damaged("a list has bytes left over");
}

}  // namespace quern::search_detail

// SPDX-License-Identifier: Apache-2.0
// A run on disk holds its words in order, each as what it shares with the one before, what it adds, and its count. What
// is left in memory at the end is sorted in stretches, one for each piece of work, and the merge takes stretches and
// runs alike.
#include "tasks/dictionary/word_collector.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/prefix_key.hpp"
#include "base/varint.hpp"
#include "device/cpu/parallel.hpp"

namespace quern {
namespace {

/// Words in rising order, one after the other.
class word_source {
  public:
    word_source() = default;
    word_source(const word_source&) = delete;
    word_source& operator=(const word_source&) = delete;
    virtual ~word_source() = default;
    virtual bool next() = 0;

    std::uint64_t key = 0, count = 0;
    std::string_view word;
};

class run_on_disk final : public word_source {
  public:
    run_on_disk(const spill_file& file, std::uint64_t begin, std::uint64_t end, std::size_t buffer_bytes)
        : file_(file), at_(begin), end_(end), buffer_bytes_(buffer_bytes) {}

    bool next() override {
        if (left() == 0 && at_ == end_) return false;
        const std::uint64_t shared = number(), added = number();
        letters_.resize(shared);
        need(added);
        letters_.append(buffer_, read_, added);
        read_ += added;
        count = number();
        word = letters_;
        key = prefix_key(word);
        return true;
    }

  private:
    std::size_t left() const { return buffer_.size() - read_; }

    /// Makes at least `bytes` bytes of the buffer readable.
    void need(std::uint64_t bytes) {
        if (left() >= bytes) return;
        buffer_.erase(0, read_);
        read_ = 0;
        const std::size_t kept = buffer_.size();
        const std::uint64_t fresh =
            std::min<std::uint64_t>(end_ - at_, std::max<std::uint64_t>(buffer_bytes_, bytes - kept));
        buffer_.resize(kept + fresh);
        file_.read_at(at_, std::span(buffer_).subspan(kept));
        at_ += fresh;
    }

    std::uint64_t number() {
        constexpr std::uint64_t longest = 10;
        need(std::min<std::uint64_t>(longest, left() + (end_ - at_)));
        const char* from = buffer_.data() + read_;
        const std::uint64_t value = read_varint(from);
        read_ = static_cast<std::size_t>(from - buffer_.data());
        return value;
    }

    const spill_file& file_;
    std::uint64_t at_, end_;  ///< not yet in the buffer
    std::size_t buffer_bytes_, read_ = 0;
    std::string buffer_, letters_;
};

template <class Number>
class stretch_in_memory final : public word_source {
  public:
    stretch_in_memory(const word_tally& words, std::span<const Number> sorted)
        : words_(words), sorted_(sorted) {}

    bool next() override {
        if (at_ == sorted_.size()) return false;
        const Number& n = sorted_[at_++];
        key = n.key;
        word = words_.word(n.number);
        count = words_.count(n.number);
        return true;
    }

  private:
    const word_tally& words_;
    std::span<const Number> sorted_;
    std::size_t at_ = 0;
};

/// A heap's order: the least word on top.
bool behind(const word_source* a, const word_source* b) {
    return a->key != b->key ? a->key > b->key : a->word > b->word;
}

}  // namespace

word_collector::word_collector(scratch_folder& scratch, std::uint64_t memory_bytes)
    : scratch_(scratch), memory_bytes_(memory_bytes) {}

void word_collector::add(const word_tally& words) {
    words_.add(words, numbers_of_unit_);
    // Its arrays double where they grow, and are sorted beside.
    if (words_.memory_bytes() > memory_bytes_ / 4) spill();
}

std::vector<word_collector::sorted_number> word_collector::numbers() const {
    std::vector<sorted_number> all(words_.size());
    for (std::uint32_t n = 0; n < words_.size(); ++n) all[n] = {prefix_key(words_.word(n)), n};
    return all;
}

void word_collector::sort(std::vector<sorted_number>& part, std::size_t begin, std::size_t end) const {
    std::sort(part.begin() + static_cast<std::ptrdiff_t>(begin),
              part.begin() + static_cast<std::ptrdiff_t>(end),
              [this](const sorted_number& a, const sorted_number& b) {
                  return a.key != b.key ? a.key < b.key : words_.word(a.number) < words_.word(b.number);
              });
}

void word_collector::spill() {
    std::vector<sorted_number> order = numbers();
    sort(order, 0, order.size());
    if (!spilled_) spilled_ = std::make_unique<spill_file>(scratch_.file("words"));
    const std::uint64_t begin = runs_.empty() ? 0 : runs_.back().end;
    std::uint64_t end = begin;
    std::string bytes;
    const auto write = [&] {
        scratch_.take(bytes.size());
        spilled_->append(bytes);
        end += bytes.size();
        bytes.clear();
    };
    std::string_view before;
    for (const sorted_number& n : order) {
        const std::string_view word = words_.word(n.number);
        const auto differs = std::ranges::mismatch(before, word);
        const auto shared = static_cast<std::size_t>(differs.in2 - word.begin());
        append_varint(bytes, shared);
        append_varint(bytes, word.size() - shared);
        bytes += word.substr(shared);
        append_varint(bytes, words_.count(n.number));
        before = word;
        if (bytes.size() >= std::size_t{1} << 18) write();
    }
    write();
    spilled_->flush();
    runs_.push_back({begin, end});
    words_ = word_tally();
}

void word_collector::for_each(const context& run,
                              const std::function<void(std::string_view, std::uint64_t)>& take) {
    if (!complete_) {
        complete_ = true;
        numbers_of_unit_ = {};
        sorted_ = numbers();
        cpu_place place(run);
        const std::size_t pieces = pieces_for(place, sorted_.size(), 1 << 14, 2);
        for (std::size_t p = 0; p < pieces; ++p)
            stretch_ends_.push_back(piece_of(sorted_.size(), pieces, p).end);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(sorted_.size(), pieces, p);
            sort(sorted_, begin, end);
        });
    }
    std::vector<std::unique_ptr<word_source>> sources;
    std::size_t begin = 0;
    for (const std::size_t end : stretch_ends_) {
        sources.push_back(std::make_unique<stretch_in_memory<sorted_number>>(
            words_, std::span<const sorted_number>(sorted_).subspan(begin, end - begin)));
        begin = end;
    }
    const std::size_t buffer = std::clamp<std::uint64_t>(
        memory_bytes_ / 4 / std::max<std::size_t>(runs_.size(), 1), 1 << 12, 1 << 20);
    for (const stored_run& stored : runs_) {
        sources.push_back(std::make_unique<run_on_disk>(*spilled_, stored.begin, stored.end, buffer));
    }

    std::vector<word_source*> heap;
    for (const auto& source : sources) {
        if (source->next()) heap.push_back(source.get());
    }
    std::ranges::make_heap(heap, behind);
    std::string word;
    const auto pop = [&] {
        std::ranges::pop_heap(heap, behind);
        word_source* const least = heap.back();
        const std::uint64_t count = least->count;
        if (least->next()) {
            std::ranges::push_heap(heap, behind);
        } else {
            heap.pop_back();
        }
        return count;
    };
    for (std::uint64_t taken = 0; !heap.empty(); ++taken) {
        if (taken % 65536 == 0) run.check_stop();
        word.assign(heap.front()->word);
        const std::uint64_t key = heap.front()->key;
        std::uint64_t count = pop();
        while (!heap.empty() && heap.front()->key == key && heap.front()->word == word) count += pop();
        take(word, count);
    }
}

}  // namespace quern

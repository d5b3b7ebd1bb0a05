// SPDX-License-Identifier: Apache-2.0
// A run on disk has its words in order, each as the length shared with the preceding word, the rest, and its value.
// Words still in memory at the end are sorted in segments, one per piece of work, and the merge treats segments and
// runs alike.
#include "tasks/words/word_runs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/prefix_key.hpp"
#include "base/varint.hpp"
#include "device/cpu/parallel.hpp"

namespace quern {
namespace {

/// Words in rising order.
class word_source {
  public:
    word_source() = default;
    word_source(const word_source&) = delete;
    word_source& operator=(const word_source&) = delete;
    virtual ~word_source() = default;
    virtual bool next() = 0;

    std::uint64_t key = 0, value = 0;
    std::string_view word;
};

/// A heap's order: the smallest word on top; of equal ones the smallest value, so that nothing depends on the runs.
bool after(const word_source* a, const word_source* b) {
    if (a->key != b->key) return a->key > b->key;
    const int order = a->word.compare(b->word);
    return order != 0 ? order > 0 : a->value > b->value;
}

}  // namespace

class word_runs::run_on_disk final : public word_source {
  public:
    run_on_disk(const spill_file& file, stored_run where, std::size_t buffer_bytes)
        : file_(file), at_(where.begin), end_(where.end), buffer_bytes_(buffer_bytes) {}

    bool next() override {
        if (left() == 0 && at_ == end_) return false;
        const std::uint64_t shared = number(), added = number();
        letters_.resize(shared);
        need(added);
        letters_.append(buffer_, read_, added);
        read_ += added;
        value = number();
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
        const std::uint64_t found = read_varint(from);
        read_ = static_cast<std::size_t>(from - buffer_.data());
        return found;
    }

    const spill_file& file_;
    std::uint64_t at_, end_;  ///< not yet in the buffer
    std::size_t buffer_bytes_, read_ = 0;
    std::string buffer_, letters_;
};

class word_runs::range_in_memory final : public word_source {
  public:
    range_in_memory(const word_count_table& words, const value_of_word& value_of,
                    std::span<const sorted_word> sorted)
        : words_(words), value_of_(value_of), sorted_(sorted) {}

    bool next() override {
        if (at_ == sorted_.size()) return false;
        const sorted_word& w = sorted_[at_++];
        key = w.key;
        word = words_.word(w.number);
        value = value_of_(w.number);
        return true;
    }

  private:
    const word_count_table& words_;
    const value_of_word& value_of_;
    std::span<const sorted_word> sorted_;
    std::size_t at_ = 0;
};

word_runs::word_runs(scratch_folder& scratch, std::uint64_t memory_bytes)
    : scratch_(scratch), memory_bytes_(memory_bytes) {}

std::vector<word_runs::sorted_word> word_runs::unsorted() const {
    std::vector<sorted_word> all(words_.size());
    for (std::uint32_t n = 0; n < words_.size(); ++n) all[n] = {prefix_key(words_.word(n)), n};
    return all;
}

void word_runs::sort(std::span<sorted_word> words) const {
    std::ranges::sort(words, [this](const sorted_word& a, const sorted_word& b) {
        return a.key != b.key ? a.key < b.key : words_.word(a.number) < words_.word(b.number);
    });
}

void word_runs::spill(const value_of_word& value_of) {
    std::vector<sorted_word> order = unsorted();
    sort(order);
    if (!spilled_) spilled_ = std::make_unique<spill_file>(scratch_.file("words"));
    const std::uint64_t begin = spilled_bytes();
    std::uint64_t end = begin;
    std::string bytes;
    const auto write = [&] {
        scratch_.take(bytes.size());
        spilled_->append(bytes);
        end += bytes.size();
        bytes.clear();
    };
    std::string_view before;
    for (const sorted_word& w : order) {
        const std::string_view word = words_.word(w.number);
        const auto differs = std::ranges::mismatch(before, word);
        const auto shared = static_cast<std::size_t>(differs.in2 - word.begin());
        append_varint(bytes, shared);
        append_varint(bytes, word.size() - shared);
        bytes += word.substr(shared);
        append_varint(bytes, value_of(w.number));
        before = word;
        if (bytes.size() >= std::size_t{1} << 18) write();
    }
    write();
    spilled_->flush();
    runs_.push_back({begin, end});
    words_ = word_count_table();
}

void word_runs::sort_ranges(const context& ctx) {
    if (std::exchange(complete_, true)) return;
    sorted_ = unsorted();
    cpu_place place(ctx);
    const std::size_t pieces = pieces_for(place, sorted_.size(), 1 << 14, 2);
    for (std::size_t p = 0; p < pieces; ++p) range_ends_.push_back(piece_of(sorted_.size(), pieces, p).end);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(sorted_.size(), pieces, p);
        sort(std::span(sorted_).subspan(begin, end - begin));
    });
}

void word_runs::for_each(const context& ctx, const value_of_word& value_of,
                         const std::function<void(std::string_view, std::span<const std::uint64_t>)>& sink) {
    sort_ranges(ctx);
    std::vector<std::unique_ptr<word_source>> sources;
    std::size_t begin = 0;
    for (const std::size_t end : range_ends_) {
        sources.push_back(std::make_unique<range_in_memory>(
            words_, value_of, std::span<const sorted_word>(sorted_).subspan(begin, end - begin)));
        begin = end;
    }
    const std::size_t buffer = std::clamp<std::uint64_t>(
        memory_bytes_ / 4 / std::max<std::size_t>(runs_.size(), 1), 1 << 12, 1 << 20);
    for (const stored_run& stored : runs_)
        sources.push_back(std::make_unique<run_on_disk>(*spilled_, stored, buffer));

    std::vector<word_source*> heap;
    for (const auto& source : sources) {
        if (source->next()) heap.push_back(source.get());
    }
    std::ranges::make_heap(heap, after);
    std::string word;
    std::vector<std::uint64_t> values;
    for (std::uint64_t taken = 0; !heap.empty(); ++taken) {
        if (taken % 65536 == 0) ctx.check_stop();
        word.assign(heap.front()->word);
        const std::uint64_t key = heap.front()->key;
        values.clear();
        while (!heap.empty() && heap.front()->key == key && heap.front()->word == word) {
            std::ranges::pop_heap(heap, after);
            values.push_back(heap.back()->value);
            if (heap.back()->next()) {
                std::ranges::push_heap(heap, after);
            } else {
                heap.pop_back();
            }
        }
        sink(word, values);
    }
}

void word_runs::forget_words() {
    words_ = word_count_table();
    sorted_ = {};
    range_ends_ = {};
}

}  // namespace quern

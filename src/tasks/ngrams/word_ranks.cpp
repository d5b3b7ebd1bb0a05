// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/word_ranks.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/prefix_key.hpp"
#include "base/varint.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"

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

    std::uint64_t key = 0;
    std::uint32_t number = 0;
    std::string_view word;
};

/// A heap's order: the least word on top; of equal ones the least number, so that nothing depends on the runs.
bool behind(const word_source* a, const word_source* b) {
    if (a->key != b->key) return a->key > b->key;
    const int order = a->word.compare(b->word);
    return order != 0 ? order > 0 : a->number > b->number;
}

}  // namespace

/// A run holds its words in order, each as its length, its letters and its number.
class word_ranks::run_on_disk final : public word_source {
  public:
    run_on_disk(const spill_file& file, stored_run where, std::size_t buffer_bytes)
        : file_(file), at_(where.begin), end_(where.end), buffer_bytes_(buffer_bytes) {}

    bool next() override {
        if (left() == 0 && at_ == end_) return false;
        const std::uint64_t letters = value();
        number = static_cast<std::uint32_t>(value());
        need(letters);
        word = std::string_view(buffer_).substr(read_, letters);
        read_ += letters;
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
    std::uint64_t value() {
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
    std::string buffer_;
};

class word_ranks::stretch_in_memory final : public word_source {
  public:
    stretch_in_memory(const word_tally& words, std::uint64_t base, std::span<const sorted_word> sorted)
        : words_(words), base_(base), sorted_(sorted) {}

    bool next() override {
        if (at_ == sorted_.size()) return false;
        const sorted_word& w = sorted_[at_++];
        key = w.key;
        word = words_.word(w.number);
        number = static_cast<std::uint32_t>(base_ + w.number);
        return true;
    }

  private:
    const word_tally& words_;
    std::uint64_t base_;
    std::span<const sorted_word> sorted_;
    std::size_t at_ = 0;
};

word_ranks::word_ranks(scratch_folder& scratch, std::uint64_t memory_bytes)
    : scratch_(scratch), memory_bytes_(memory_bytes) {}

void word_ranks::add(const word_tally& words, std::vector<std::uint32_t>& numbers) {
    words_.add(words, numbers);
    if (this->numbers() > std::numeric_limits<std::uint32_t>::max())
        throw out_of_memory("the numbers of distinct words", this->numbers(),
                            std::numeric_limits<std::uint32_t>::max());
    for (std::uint32_t& n : numbers) n += static_cast<std::uint32_t>(base_);
    // Its arrays double where they grow, and are sorted beside.
    if (words_.memory_bytes() > memory_bytes_ / 4) spill();
}

std::uint64_t word_ranks::letters() const {
    std::uint64_t sum = letters_spilled_;
    for (std::uint32_t n = 0; n < words_.size(); ++n) sum += words_.word(n).size();
    return sum;
}

std::vector<word_ranks::sorted_word> word_ranks::unsorted() const {
    std::vector<sorted_word> all(words_.size());
    for (std::uint32_t n = 0; n < words_.size(); ++n) all[n] = {prefix_key(words_.word(n)), n};
    return all;
}

void word_ranks::sort(std::span<sorted_word> words) const {
    std::ranges::sort(words, [this](const sorted_word& a, const sorted_word& b) {
        return a.key != b.key ? a.key < b.key : words_.word(a.number) < words_.word(b.number);
    });
}

void word_ranks::spill() {
    letters_spilled_ = letters();
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
    for (const sorted_word& w : order) {
        const std::string_view word = words_.word(w.number);
        append_varint(bytes, word.size());
        append_varint(bytes, base_ + w.number);
        bytes += word;
        if (bytes.size() >= std::size_t{1} << 18) write();
    }
    write();
    spilled_->flush();
    runs_.push_back({begin, end});
    base_ += words_.size();
    words_ = word_tally();
}

void word_ranks::for_each(const context& run,
                          const std::function<void(std::string_view, std::span<const std::uint32_t>)>& take) {
    std::vector<sorted_word> sorted = unsorted();
    cpu_place place(run);
    const std::size_t pieces = pieces_for(place, sorted.size(), 1 << 14, 2);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(sorted.size(), pieces, p);
        sort(std::span(sorted).subspan(begin, end - begin));
    });
    std::vector<std::unique_ptr<word_source>> sources;
    for (std::size_t p = 0; p < pieces; ++p) {
        const auto [begin, end] = piece_of(sorted.size(), pieces, p);
        sources.push_back(std::make_unique<stretch_in_memory>(
            words_, base_, std::span<const sorted_word>(sorted).subspan(begin, end - begin)));
    }
    const std::size_t buffer = std::clamp<std::uint64_t>(
        memory_bytes_ / 4 / std::max<std::size_t>(runs_.size(), 1), 1 << 12, 1 << 20);
    for (const stored_run& stored : runs_)
        sources.push_back(std::make_unique<run_on_disk>(*spilled_, stored, buffer));

    std::vector<word_source*> heap;
    for (const auto& source : sources) {
        if (source->next()) heap.push_back(source.get());
    }
    std::ranges::make_heap(heap, behind);
    std::string word;
    std::vector<std::uint32_t> numbers;
    for (std::uint64_t taken = 0; !heap.empty(); ++taken) {
        if (taken % 65536 == 0) run.check_stop();
        word.assign(heap.front()->word);
        numbers.clear();
        while (!heap.empty() && heap.front()->word == word) {
            std::ranges::pop_heap(heap, behind);
            numbers.push_back(heap.back()->number);
            if (heap.back()->next()) {
                std::ranges::push_heap(heap, behind);
            } else {
                heap.pop_back();
            }
        }
        take(word, numbers);
    }
    words_ = word_tally();
}

}  // namespace quern

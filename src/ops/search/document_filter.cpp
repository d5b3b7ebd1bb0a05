// SPDX-License-Identifier: Apache-2.0
// Documents are considered in windows of 8,192, as bits: a list sets the bits of its documents, a disjunction those of its
// members. A conjunction begins with its shortest member; the others are looked up for the documents left, or, if these are
// many, intersected as bits. Windows without a document of every member of a conjunction are skipped by the headers of the
// blocks (leap-frog), and blocks without a candidate are never unpacked.
#include "ops/search/document_filter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "ops/search/document_bits.hpp"
#include "ops/search/postings.hpp"

namespace quern::search_detail {
namespace {

constexpr std::uint64_t window_size = 8192;

/// Documents from `begin` on, a bit each.
struct window {
    static constexpr std::size_t words = window_size / 64;
    std::uint64_t begin = 0, end = 0;
    std::array<std::uint64_t, words> bits{};

    window(std::uint64_t first, std::uint64_t last) : begin(first), end(last) {}
    void set(std::uint64_t document) {
        bits[(document - begin) / 64] |= std::uint64_t{1} << (document - begin) % 64;
    }
    void reset(std::uint64_t document) {
        bits[(document - begin) / 64] &= ~(std::uint64_t{1} << (document - begin) % 64);
    }
    std::uint64_t size() const {
        std::uint64_t all = 0;
        for (const std::uint64_t word : bits) all += static_cast<std::uint64_t>(std::popcount(word));
        return all;
    }
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < words; ++i)
            for (std::uint64_t rest = bits[i]; rest != 0; rest &= rest - 1)
                visit(begin + 64 * i + static_cast<std::uint64_t>(std::countr_zero(rest)));
    }
};

/// A condition that is evaluated window by window, forwards.
class filter {
  public:
    filter(const condition& of, const collection_view& collection)
        : what_(of.what),
          size_(collection.document_lengths.size()),
          documents_(of.documents),
          bits_(of.bits) {
        switch (what_) {
            case condition::kind::list:
                estimate_ = of.list.document_frequency;
                if (estimate_ != 0) cursor_.emplace_back(of.list, collection.document_lengths);
                break;
            case condition::kind::documents:
                estimate_ = documents_.size();
                break;
            case condition::kind::bits:
                estimate_ = of.bits_set;
                break;
            case condition::kind::all:
                estimate_ = size_;
                add(of, collection);
                std::ranges::stable_sort(members_, {}, &filter::estimate_);
                for (const filter& member : members_) estimate_ = std::min(estimate_, member.estimate_);
                break;
            case condition::kind::any:
                add(of, collection);
                for (const filter& member : members_) estimate_ += member.estimate_;
                estimate_ = std::min(estimate_, size_);
                break;
        }
    }

    /// A lower bound of the first document from `from` on that may match; if none can, the number of documents.
    std::uint64_t next(std::uint64_t from) {
        if (from >= size_) return size_;
        switch (what_) {
            case condition::kind::list:
                return next_of_list(from);
            case condition::kind::documents:
                documents_ = {std::ranges::lower_bound(documents_, from), documents_.end()};
                return documents_.empty() ? size_ : documents_.front();
            case condition::kind::bits:
                return bits_.next(from, size_);
            case condition::kind::all:
                return next_of_all(from);
            case condition::kind::any:
                break;
        }
        std::uint64_t lowest = size_;
        for (filter& member : members_) lowest = std::min(lowest, member.next(from));
        return lowest;
    }

    /// Sets the bits of the documents that match it.
    void add_to(window& into) {
        switch (what_) {
            case condition::kind::list:
                return each_posting(into, [&](std::uint32_t document) { into.set(document); });
            case condition::kind::documents:
                next(into.begin);
                for (const std::uint32_t document : documents_) {
                    if (document >= into.end) break;
                    into.set(document);
                }
                return;
            case condition::kind::bits:
                for (std::size_t i = 0; i < window::words; ++i)
                    into.bits[i] |= bits_.from(into.begin + 64 * i);
                return;
            case condition::kind::all:
                return add_all_to(into);
            case condition::kind::any:
                for (filter& member : members_)
                    if (member.next(into.begin) < into.end) member.add_to(into);
        }
    }

    /// Clears the bits of those that do not match it, or, `inverted`, of those that do.
    void keep_in(window& of, bool inverted) {
        const bool may_hold = next(of.begin) < of.end;
        if (!may_hold) {
            if (!inverted) of.bits.fill(0);
            return;
        }
        const std::uint64_t expected = estimate_ * window_size / size_;
        if (what_ == condition::kind::list && of.size() * look_up_cost < expected)
            return look_up(of, inverted);
        window own(of.begin, of.end);
        add_to(own);
        for (std::size_t i = 0; i < window::words; ++i) of.bits[i] &= inverted ? ~own.bits[i] : own.bits[i];
    }

  private:
    // The cost of a look-up, in bits that could be set instead.
    static constexpr std::uint64_t look_up_cost = 8;

    void add(const condition& of, const collection_view& collection) {
        members_.reserve(of.members.size());
        excluded_.reserve(of.excluded.size());
        for (const condition& member : of.members) members_.emplace_back(member, collection);
        for (const condition& member : of.excluded) excluded_.emplace_back(member, collection);
    }

    std::uint64_t next_of_list(std::uint64_t from) {
        if (cursor_.empty()) return size_;
        postings_cursor& cursor = cursor_.front();
        cursor.seek_block(static_cast<std::uint32_t>(from));
        if (cursor.done()) return size_;
        if (!cursor.decoded()) return std::max(from, cursor.lowest());
        const auto documents = cursor.documents();
        const auto found = std::ranges::lower_bound(documents, from);
        return found == documents.end() ? std::uint64_t{cursor.last()} + 1 : *found;
    }

    std::uint64_t next_of_all(std::uint64_t from) {
        for (std::size_t agreed = 0, i = 0; agreed < members_.size();
             i = i + 1 == members_.size() ? 0 : i + 1) {
            const std::uint64_t own = members_[i].next(from);
            if (own >= size_) return size_;
            agreed = own == from ? agreed + 1 : 1;
            from = own;
        }
        return from;
    }

    template <typename Visit>
    void each_posting(const window& of, Visit visit) {
        if (cursor_.empty()) return;
        postings_cursor& cursor = cursor_.front();
        cursor.seek_block(static_cast<std::uint32_t>(of.begin));
        while (!cursor.done() && cursor.lowest() < of.end) {
            cursor.decode();
            const auto all = cursor.documents();
            const bool ends_within = cursor.last() < of.end;
            auto first = all.begin(), last = all.end();
            if (*first < of.begin) first = std::lower_bound(first, last, of.begin);
            if (!ends_within) last = std::lower_bound(first, last, of.end);
            for (; first != last; ++first) visit(*first);
            if (!ends_within) return;
            cursor.next_block();
        }
    }

    void add_all_to(window& into) {
        window own(into.begin, into.end);
        members_.front().add_to(own);
        for (std::size_t i = 1; i < members_.size(); ++i) members_[i].keep_in(own, false);
        for (filter& member : excluded_) member.keep_in(own, true);
        for (std::size_t i = 0; i < window::words; ++i) into.bits[i] |= own.bits[i];
    }

    void look_up(window& of, bool inverted) {
        postings_cursor& cursor = cursor_.front();
        of.each([&](std::uint64_t document) {
            const auto wanted = static_cast<std::uint32_t>(document);
            bool holds = false;
            if (!cursor.done()) cursor.seek_block(wanted);
            if (!cursor.done() && cursor.lowest() <= document) {
                cursor.decode();
                holds = std::ranges::binary_search(cursor.documents(), wanted);
            }
            if (holds == inverted) of.reset(document);
        });
    }

    condition::kind what_;
    std::uint64_t size_, estimate_ = 0;
    std::vector<postings_cursor> cursor_;  // of a list that is not empty: one
    std::span<const std::uint32_t> documents_;
    bit_reader bits_;
    std::vector<filter> members_, excluded_;
};

template <typename Take>
void each_window(const collection_view& collection, const condition& where, const context* ctx, Take take) {
    const std::uint64_t size = collection.document_lengths.size();
    filter whole(where, collection);
    for (std::uint64_t begin = whole.next(0); begin < size; begin = whole.next(begin + window_size)) {
        if (ctx != nullptr) ctx->check_stop();
        window found(begin, std::min(begin + window_size, size));
        whole.add_to(found);
        take(found);
    }
}

}  // namespace

std::vector<std::uint32_t> matching_documents(const collection_view& collection, const condition& where,
                                              const context* ctx) {
    std::vector<std::uint32_t> documents;
    each_window(collection, where, ctx, [&](const window& found) {
        found.each(
            [&](std::uint64_t document) { documents.push_back(static_cast<std::uint32_t>(document)); });
    });
    return documents;
}

std::uint64_t count_matching(const collection_view& collection, const condition& where, const context* ctx) {
    if (where.what == condition::kind::list) return where.list.document_frequency;
    if (where.what == condition::kind::documents) return where.documents.size();
    if (where.what == condition::kind::bits) return where.bits_set;
    std::uint64_t count = 0;
    each_window(collection, where, ctx, [&](const window& found) { count += found.size(); });
    return count;
}

}  // namespace quern::search_detail

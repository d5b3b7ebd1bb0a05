// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/search/kept_list.hpp"

namespace quern::search_detail {

/// Whether a kept list has documents, asked for in ascending order. The list must outlive it. Cost: of a dense list a bit, of
/// others the logarithm of the distance to the last document asked for.
class kept_reader {
  public:
    static constexpr std::uint32_t unknown_frequency = ~std::uint32_t{0};
    static constexpr std::uint8_t saturated = 255;  ///< of kept_list::frequencies: that or more

    explicit kept_reader(const kept_list& list)
        : list_(&list), bits_(list.form == kept_form::dense ? list.bits.data() : nullptr) {}

    bool contains(std::uint32_t document) {
        if (bits_ != nullptr) return (bits_[document / 64] >> document % 64 & 1) != 0;
        move_to(document);
        return at_ < list_->documents.size() && list_->documents[at_] == document;
    }

    /// Of the document that was found last: its place in the list, or in the collection if the list is dense.
    std::uint32_t place(std::uint32_t document) const {
        return bits_ != nullptr ? document : static_cast<std::uint32_t>(at_);
    }
    /// Of the document that was found last.
    std::uint32_t frequency() const {
        if (list_->frequencies.empty() || list_->frequencies[at_] == saturated) return unknown_frequency;
        return list_->frequencies[at_];
    }

  private:
    void move_to(std::uint32_t document) {
        const std::uint32_t* const documents = list_->documents.data();
        const std::size_t size = list_->documents.size();
        std::size_t step = 1;
        for (; size - at_ > step && documents[at_ + step] < document; step *= 2) at_ += step;
        const std::uint32_t* const begin = documents + at_;
        const std::uint32_t* const end = begin + std::min(size - at_, step + 1);
        at_ = static_cast<std::size_t>(std::lower_bound(begin, end, document) - documents);
    }

    const kept_list* list_;
    const std::uint64_t* bits_;
    std::size_t at_ = 0;
};

}  // namespace quern::search_detail

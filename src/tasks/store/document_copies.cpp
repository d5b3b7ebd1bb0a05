// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/document_copies.hpp"

#include <utility>

#include "io/store/string_column.hpp"

namespace quern {

document_copies::document_copies(io::section_view kept, io::section_view ids, io::section_view titles,
                                 io::section_view distances, std::uint64_t documents)
    : sections_(std::make_shared<const sections>(
          sections{std::move(kept), std::move(ids), std::move(titles), std::move(distances)})),
      size_(sections_->kept.size() / sizeof(std::uint32_t)),
      documents_(documents) {
    if (sections_->kept.size() != size_ * sizeof(std::uint32_t)) sections_->kept.fail("is cut off");
    if (sections_->distances.size() != sections_->kept.size()) {
        sections_->distances.fail("does not fit copies_of");
    }
}

std::vector<document_copies::copy> document_copies::of(std::uint32_t document) const {
    std::uint64_t first = 0, last = size_;
    while (first < last) {
        const std::uint64_t middle = (first + last) / 2;
        if (kept(middle) < document) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    std::vector<copy> copies;
    for (; first < size_ && kept(first) == document; ++first) copies.push_back((*this)[first]);
    return copies;
}

document_copies::copy document_copies::operator[](std::uint64_t i) const {
    return {io::column_string(sections_->ids, i, size_), io::column_string(sections_->titles, i, size_),
            sections_->distances.value<std::uint32_t>(i * sizeof(std::uint32_t))};
}

void document_copies::check() const {
    for (std::uint64_t i = 0; i < size_; ++i) {
        if (kept(i) >= documents_ || (i > 0 && kept(i - 1) > kept(i)))
            sections_->kept.fail("is out of order");
        (void)io::column_string(sections_->ids, i, size_);
        (void)io::column_string(sections_->titles, i, size_);
    }
}

}  // namespace quern

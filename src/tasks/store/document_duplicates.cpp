// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/document_duplicates.hpp"

#include <algorithm>
#include <utility>

#include "io/store/section.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

document_duplicates::document_duplicates(const std::filesystem::path& store,
                                         const std::vector<store_section>& listed) {
    namespace layout = store_layout;
    if (manifests::find_section(listed, layout::duplicates_of) == nullptr) return;
    const auto open = [&](std::string_view name) { return layout::open_section(store, listed, name); };
    sections_ =
        std::make_shared<const sections>(sections{open(layout::duplicates_of), open(layout::copy_ids),
                                                  open(layout::copy_titles), open(layout::copy_distances)});
    size_ = sections_->kept.size() / sizeof(std::uint32_t);
    if (sections_->kept.size() != size_ * sizeof(std::uint32_t)) sections_->kept.fail("is truncated");
    if (sections_->distances.size() != sections_->kept.size()) {
        sections_->distances.fail("does not fit copies_of");
    }
}

std::uint64_t document_duplicates::first_from(std::uint64_t document) const {
    std::uint64_t first = 0, last = size_;
    while (first < last) {
        const std::uint64_t middle = (first + last) / 2;
        if (kept(middle) < document) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

std::pair<std::uint64_t, std::uint64_t> document_duplicates::range_of(std::uint32_t document) const {
    const std::uint64_t first = first_from(document);
    // In a damaged store, which may be out of order, the second search could end before the first.
    return {first, std::max(first, first_from(std::uint64_t{document} + 1))};
}

std::vector<document_duplicates::copy> document_duplicates::of(std::uint32_t document,
                                                               std::size_t max) const {
    const auto [first, last] = range_of(document);
    std::vector<copy> duplicates;
    for (std::uint64_t i = first; i < last && duplicates.size() < max; ++i) duplicates.push_back((*this)[i]);
    return duplicates;
}

std::uint64_t document_duplicates::count(std::uint32_t document) const {
    const auto [first, last] = range_of(document);
    return last - first;
}

document_duplicates::copy document_duplicates::operator[](std::uint64_t i) const {
    return {io::column_string(sections_->ids, i, size_), io::column_string(sections_->titles, i, size_),
            sections_->distances.value<std::uint32_t>(i * sizeof(std::uint32_t))};
}

void document_duplicates::check(std::uint64_t documents) const {
    for (std::uint64_t i = 0; i < size_; ++i) {
        if (kept(i) >= documents || (i > 0 && kept(i - 1) > kept(i))) sections_->kept.fail("is out of order");
        (void)io::column_string(sections_->ids, i, size_);
        (void)io::column_string(sections_->titles, i, size_);
    }
}

}  // namespace quern

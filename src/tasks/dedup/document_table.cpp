// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/document_table.hpp"

#include <limits>

#include "quern/base/error.hpp"

namespace quern {

std::string_view document_table::id(std::uint32_t document) const {
    const std::uint64_t begin = document == 0 ? 0 : id_ends_[document - std::size_t{1}];
    return std::string_view(id_bytes_).substr(begin, id_ends_[document] - begin);
}

bool document_table::add(std::string_view id, std::uint64_t text_bytes) {
    if (size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
        throw usage_error("at most 4294967294 documents can be compared");
    }
    if (!ids_.insert(id, size())) return false;
    id_bytes_ += id;
    id_ends_.push_back(id_bytes_.size());
    text_offsets_.push_back(text_offsets_.back() + text_bytes);
    return true;
}

std::uint64_t document_table::memory_bytes() const {
    return id_bytes_.capacity() + 8 * (id_ends_.capacity() + text_offsets_.capacity()) + ids_.memory_bytes();
}

void document_table::map_texts(const std::filesystem::path& file) {
    texts_.append(file, texts_.overlap().size() + text_offsets_.back() - text_offsets_[mapped_]);
    mapped_ = size();
}

text_list document_table::texts() const {
    return {texts_.bytes(), std::span(text_offsets_).first(mapped_ + std::size_t{1})};
}

}  // namespace quern

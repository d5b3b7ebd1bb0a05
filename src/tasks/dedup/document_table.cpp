// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/document_table.hpp"

#include <algorithm>
#include <limits>

#include "base/hash.hpp"
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
    std::uint64_t made_bytes = 0;
    for (const auto& sketches : made_) made_bytes += sketches.capacity() * sizeof(text_sketch);
    return id_bytes_.capacity() + 8 * (id_ends_.capacity() + text_offsets_.capacity()) + ids_.memory_bytes() +
           made_bytes;
}

void document_table::map_texts(const std::filesystem::path& file) {
    texts_.append(file, texts_.overlap().size() + text_offsets_.back() - text_offsets_[mapped_]);
    mapped_ = size();
}

void document_table::map_texts(std::span<const scratch_texts::file> files) {
    for (const auto& [path, bytes] : files) texts_.append(path, bytes);
    mapped_ = size();
}

void document_table::map_stored(const std::filesystem::path& file, std::optional<io::section_view> sketches,
                                edit_unit unit) {
    const std::uint32_t first = mapped_;
    map_texts(file);
    if (!sketches) return;
    stored_.push_back({first, file, std::move(*sketches)});
    sketches_.push_back(stored_.back().sketches.values<text_sketch>(0, mapped_ - first));
    checked_by_sketch_ = mapped_;
    sketch_unit_ = unit;
}

std::string_view document_table::text(std::uint32_t document) const {
    const std::string_view text = texts()[document];
    if (document >= checked_by_sketch_) return text;
    const auto after = std::ranges::upper_bound(stored_, document, {}, &stored_texts::first);
    const auto shard = static_cast<std::size_t>(after - stored_.begin() - 1);
    const auto& [first, file, sketches] = stored_[shard];
    if (hash64(text) != sketches_[shard][document - first].hash)
        throw damaged_store(file.string(), "texts", "has a text that differs from its sketch");
    return text;
}

std::string_view document_table::overlap() const {
    const std::string_view bytes = texts_.overlap();
    const std::uint64_t begin = texts_.size() - bytes.size();
    for (std::uint32_t d = std::min(mapped_, checked_by_sketch_); d > 0 && text_offsets_[d] > begin; --d)
        text(d - 1);
    return bytes;
}

void document_table::add_sketches(std::vector<text_sketch> sketches) {
    made_.push_back(std::move(sketches));
    sketches_.emplace_back(made_.back());
}

text_sketches document_table::sketches(edit_unit unit) const {
    text_sketches all;
    if (sketch_unit_ == unit || checked_by_sketch_ == 0) all.chunks = sketches_;
    if (checked_by_sketch_ != 0) all.before_reading = [this](std::uint32_t document) { text(document); };
    return all;
}

text_list document_table::texts() const {
    return {texts_.bytes(), std::span(text_offsets_).first(mapped_ + std::size_t{1})};
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/scratch_pieces.hpp"

#include <utility>

#include "base/release.hpp"

namespace quern {

scratch_pieces::scratch_pieces(std::filesystem::path scratch_file, std::uint64_t memory_bytes)
    : path_(std::move(scratch_file)), budget_(memory_bytes) {}

void scratch_pieces::append(std::string bytes) {
    piece& last = pieces_.emplace_back();
    last.size = bytes.size();
    last.bytes = std::move(bytes);
    held_ += last.bytes.capacity();
    if (held_ <= budget_) return;
    for (; in_memory_ < pieces_.size(); ++in_memory_) spill(pieces_[in_memory_]);
    held_ = 0;
    budget_ = 0;  // from now on pieces go there directly
}

void scratch_pieces::spill(piece& p) {
    if (p.bytes.empty()) return;
    if (!file_) file_ = std::make_unique<spill_file>(path_);
    p.begin = file_->append(p.bytes);
    spilled_ += p.size;
    release(p.bytes);
}

void scratch_pieces::flush() {
    if (file_) file_->flush();
}

std::string scratch_pieces::take(std::size_t i) {
    piece& p = pieces_[i];
    if (p.bytes.size() == p.size) return std::exchange(p.bytes, {});
    std::string bytes(p.size, '\0');
    file_->read_at(p.begin, bytes);
    return bytes;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/context_counter_runs.hpp"

#include <algorithm>
#include <cstring>

namespace quern::word_similarity_detail {

void count_runs::begin_run(const context& run) {
    if (!file_) {
        folder_.emplace(run);
        file_.emplace(folder_->file("counts"));
    }
    runs_.emplace_back(pieces_);
}

void count_runs::write_piece(std::size_t piece, std::string_view bytes) {
    const std::lock_guard one_at_a_time(writing_);
    folder_->take(bytes.size());
    runs_.back()[piece] = {file_->append(bytes), bytes.size()};
    bytes_ += bytes.size();
}

void count_runs::reader::refill() {
    const auto left = static_cast<std::size_t>(end_ - next_);
    if (left != 0) std::memmove(buffer_.data(), next_, left);
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size() - left, at_.bytes));
    file_.read_at(at_.offset, buffer_.subspan(left, more));
    at_.offset += more;
    at_.bytes -= more;
    next_ = buffer_.data();
    end_ = next_ + left + more;
}

}  // namespace quern::word_similarity_detail

// SPDX-License-Identifier: Apache-2.0
#include "tasks/runs/topic_fusion.hpp"

#include <algorithm>
#include <charconv>

namespace quern {
namespace {

/// Copies the characters to `to`, which must have the capacity; returns the end.
char* put(char* to, std::string_view text) {
    return std::ranges::copy(text, to).out;
}

}  // namespace

void topic_fusion::fuse(const topic_lists& topic, const fusion_options& options) {
    topic_ = &topic;
    take_lists();
    const auto names = numbers_.ids();
    const auto precedes = [&](std::uint32_t a, std::uint32_t b) {
        return id_precedes(names[a], names[b], numeric_);
    };
    try {
        write(quern::fuse(views_, static_cast<std::uint32_t>(names.size()), options, precedes));
    } catch (const list_fault& fault) {
        refuse(fault);
    }
}

/// The lists as numbers, each by falling score and equal scores by id.
void topic_fusion::take_lists() {
    std::size_t entries = 0;
    for (const auto* list : topic_->in_run) entries += list == nullptr ? 0 : list->entries.size();
    numbers_.clear();
    ids_.clear();
    scores_.clear();
    ranks_.clear();
    views_.clear();
    ids_.reserve(entries);  // views look into them
    scores_.reserve(entries);
    if (ranked_by_ == rank_source::field) ranks_.reserve(entries);
    const auto before = [&](const io::ranked_entry& a, const io::ranked_entry& b) {
        return a.score != b.score ? a.score > b.score : id_precedes(a.document(), b.document(), numeric_);
    };
    for (std::size_t r = 0; r < runs_.size(); ++r) {
        const std::size_t begin = ids_.size();
        if (const auto* list = topic_->in_run[r]; list != nullptr) {
            if (std::ranges::is_sorted(list->entries, before)) {
                for (const io::ranked_entry& entry : list->entries) take(entry, r);
            } else {
                for (const io::ranked_entry* entry : in_order(list->entries)) take(*entry, r);
            }
        }
        const std::size_t size = ids_.size() - begin;
        views_.push_back({std::span(ids_).subspan(begin, size), std::span(scores_).subspan(begin, size), {}});
        if (ranked_by_ == rank_source::field) views_.back().ranks = std::span(ranks_).subspan(begin, size);
    }
}

topic_fusion::order topic_fusion::in_order(std::span<const io::ranked_entry> entries) const {
    order sorted;
    sorted.reserve(entries.size());
    for (const io::ranked_entry& entry : entries) sorted.push_back(&entry);
    std::ranges::stable_sort(sorted, [&](const io::ranked_entry* a, const io::ranked_entry* b) {
        return a->score != b->score ? a->score > b->score
                                    : id_precedes(a->document(), b->document(), numeric_);
    });
    return sorted;
}

void topic_fusion::take(const io::ranked_entry& entry, std::size_t run) {
    ids_.push_back(numbers_(entry.document(), entry.hash));
    scores_.push_back(entry.score);
    if (ranked_by_ == rank_source::scores) return;
    const auto rank = runs_[run].rank_of(entry);
    if (!rank) runs_[run].refuse(entry, "the rank is not a number");
    ranks_.push_back(*rank);
}

void topic_fusion::refuse(const list_fault& fault) const {
    const io::ranked_topic& topic = *topic_->in_run[fault.list()];
    const io::ranked_run& run = runs_[fault.list()];
    const order entries = in_order(topic.entries);
    const io::ranked_entry& entry = *entries[fault.position()];
    // A repeated document is reported at its second line in the file.
    const io::ranked_entry* first = nullptr;
    for (const io::ranked_entry& other : topic.entries) {
        if (other.document() != entry.document()) continue;
        if (first != nullptr) run.refuse_repeated(topic, other);
        first = &other;
    }
    run.refuse(entry, fault.what());
}

void topic_fusion::write(const fused_list& fused) {
    constexpr std::size_t longest_rank = 20, longest_score = 32;
    constexpr std::string_view mark = " Q0 ", tag = " quern\n";
    const auto names = numbers_.ids();
    std::size_t max = 0;
    for (const std::uint32_t id : fused.ids) max += names[id].size();
    max += fused.ids.size() *
           (topic_->id.size() + mark.size() + 1 + longest_rank + 1 + longest_score + tag.size());
    if (text_.size() < max) text_.resize(max);
    char* at = text_.data();
    char* const end = at + text_.size();
    for (std::size_t i = 0; i < fused.ids.size(); ++i) {
        at = put(put(put(at, topic_->id), mark), names[fused.ids[i]]);
        *at++ = ' ';
        at = std::to_chars(at, end, i + 1).ptr;
        *at++ = ' ';
        at = put(std::to_chars(at, end, fused.scores[i]).ptr, tag);
    }
    text_size_ = static_cast<std::size_t>(at - text_.data());
    lines_ = fused.ids.size();
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The result of dedup(): reads it, and writes what stays.
#include <utility>

#include "quern/base/error.hpp"
#include "tasks/dedup/dedup_state.hpp"
#include "tasks/dedup/kept_request.hpp"

namespace quern {

dedup_result::dedup_result(std::unique_ptr<state> found) : state_(std::move(found)) {}
dedup_result::dedup_result(dedup_result&&) noexcept = default;
dedup_result& dedup_result::operator=(dedup_result&&) noexcept = default;
dedup_result::~dedup_result() = default;

std::span<const duplicate_pair> dedup_result::pairs() const {
    return state_->pairs;
}
std::optional<std::uint64_t> dedup_result::pair_count() const {
    return state_->pair_count;
}
std::span<const duplicate_group> dedup_result::groups() const {
    return state_->groups;
}
std::span<const removed_duplicate> dedup_result::removed() const {
    return state_->removed;
}
std::uint32_t dedup_result::documents() const {
    return static_cast<std::uint32_t>(state_->positions.size());
}
std::uint32_t dedup_result::earlier() const {
    return state_->table.size() - documents();
}
std::uint32_t dedup_result::dropped() const {
    return state_->dropped_count;
}
std::string_view dedup_result::id(std::uint32_t position) const {
    return state_->table.id(position);
}
std::string_view dedup_result::text(std::uint32_t position) const {
    return state_->table.text(position);
}

void dedup_result::write_kept(const sink& out) const {
    if (!state_->records) throw usage_error("the documents to write were not kept");
    state_->records->write([this](std::size_t i) { return !state_->dropped[state_->positions[i]]; },
                           [this](std::size_t i) { return id(state_->positions[i]); }, out);
}

void dedup_result::write_kept_rows(const sink& out, const context& ctx) const {
    if (!state_->rows) throw usage_error("the rows to write were not kept");
    state_->rows->write([this](std::size_t i) { return !state_->dropped[state_->positions[i]]; }, out, ctx);
}

void dedup_result::write_kept_folder(const context& ctx, const std::function<void()>& before) const {
    if (!state_->folder) throw usage_error("no folder for the documents to keep was given");
    state_->folder->publish([this](std::size_t i) { return !state_->dropped[state_->positions[i]]; }, before,
                            ctx);
}

bool is_kept_folder_complete(const dedup_options& options) {
    return kept_folder::is_complete(options.kept_folder, describe_kept(options));
}

void dedup_result::write_report(const sink& out) const {
    if (!state_->pairs_are_listed) throw usage_error("the pairs to report were not listed");
    report::duplicate_report page;
    page.summary = state_->summary;
    page.summary.documents = documents();
    page.summary.earlier = earlier();
    page.summary.dropped = dropped();
    page.pairs = state_->pairs;
    page.groups = state_->groups;
    page.removed = state_->removed;
    page.id = [this](std::uint32_t d) { return id(d); };
    page.text = [this](std::uint32_t d) { return text(d); };
    report::write_duplicate_report(page, out);
}

}  // namespace quern

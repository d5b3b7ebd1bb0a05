// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/preference.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "quern/base/error.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

/// Without ".", ".." and a slash at the end, so that two names of one file are equal.
std::string normal(const fs::path& path) {
    std::string name = path.lexically_normal().string();
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    return name;
}

bool is_in(std::string_view path, std::string_view folder) {
    if (folder == "." && !path.starts_with('/') && !path.starts_with("..")) return true;
    if (!path.starts_with(folder)) return false;
    return path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/';
}

}  // namespace

void check_preferred(const dedup_options& options) {
    if (options.source != nullptr) return;
    for (const fs::path& source : options.prefer) {
        const std::string name = normal(source);
        bool is_found = false;
        for (const fs::path& input : options.inputs) {
            const std::string given = normal(input);
            std::error_code failed;
            is_found |= is_in(given, name) || (is_in(name, given) && fs::exists(source, failed));
        }
        if (!is_found || source.empty())
            throw usage_error("prefer: no document comes from '" + source.string() +
                              "' (expected a corpus as it was given, or a file or folder in it)");
    }
}

source_ranks::source_ranks(const std::vector<fs::path>& prefer) {
    for (const fs::path& source : prefer) sources_.push_back(normal(source));
}

std::uint32_t source_ranks::rank_of(const document& d) {
    if (is_known_ && d.path == last_path_) return last_rank_;
    last_path_ = d.path;
    is_known_ = true;
    const std::string path = normal(d.path);
    const auto at = std::ranges::find_if(sources_, [&](const std::string& s) { return is_in(path, s); });
    return last_rank_ = at == sources_.end() ? none : static_cast<std::uint32_t>(at - sources_.begin());
}

bool preference::operator()(std::uint32_t a, std::uint32_t b) const {
    if (!ranks.empty() && ranks[a] != ranks[b]) return ranks[a] < ranks[b];
    if (a > b) return is_rather_kept(keep, lengths[a], lengths[b]);
    return a != b && !is_rather_kept(keep, lengths[b], lengths[a]);
}

void choose_kept(const preference& preferred, const std::vector<bool>& is_new,
                 std::span<duplicate_group> groups) {
    for (duplicate_group& group : groups) {
        std::optional<std::uint32_t> kept;
        for (const std::uint32_t d : group.members) {
            const bool is_earlier = kept && is_new[*kept] && !is_new[d];
            const bool is_later = kept && !is_new[*kept] && is_new[d];
            if (!kept || is_earlier || (!is_later && preferred(d, *kept))) kept = d;
        }
        group.kept = *kept;
    }
}

std::vector<duplicate_group> groups_of(std::span<const removed_duplicate> removed) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_kept;
    by_kept.reserve(removed.size());
    for (const removed_duplicate& r : removed) by_kept.emplace_back(r.kept, r.document);
    std::ranges::sort(by_kept);
    std::vector<duplicate_group> groups;
    for (const auto& [kept, document] : by_kept) {
        if (groups.empty() || groups.back().kept != kept) groups.push_back({{kept}, kept});
        groups.back().members.push_back(document);
    }
    for (duplicate_group& group : groups) std::ranges::sort(group.members);
    std::ranges::sort(groups, {}, [](const duplicate_group& group) { return group.members.front(); });
    return groups;
}

}  // namespace quern

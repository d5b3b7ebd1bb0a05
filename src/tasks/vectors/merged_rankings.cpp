// SPDX-License-Identifier: Apache-2.0
#include "tasks/vectors/merged_rankings.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

void append_ranking(std::string& out, std::span<const std::uint32_t> ids, std::span<const double> distances,
                    std::uint32_t first_row) {
    const std::uint64_t count = ids.size();
    const std::size_t begin = out.size();
    out.resize(begin + sizeof count + count * (sizeof(std::uint32_t) + sizeof(double)));
    char* at = out.data() + begin;
    const auto put = [&at](const auto& value) {
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
    };
    put(count);
    for (const std::uint32_t id : ids) put(id + first_row);
    for (const double distance : distances) put(distance);
}

void merged_rankings::shard::read() {
    std::uint64_t count = 0;
    const std::string_view text = file.text();
    constexpr std::uint64_t entry = sizeof(std::uint32_t) + sizeof(double);
    const bool has_count = text.size() - at >= sizeof count;
    if (has_count) std::memcpy(&count, text.data() + at, sizeof count);
    if (!has_count || count > (text.size() - at - sizeof count) / entry)
        throw damaged_store(file.path().string(), "rankings", "ends early");
    at += sizeof count;
    own_ids.resize(count);
    own_distances.resize(count);
    if (count != 0) {
        std::memcpy(own_ids.data(), text.data() + at, count * sizeof(std::uint32_t));
        std::memcpy(own_distances.data(), text.data() + at + count * sizeof(std::uint32_t),
                    count * sizeof(double));
    }
    at += count * entry;
    ids = own_ids;
    distances = own_distances;
    taken = 0;
}

merged_rankings::merged_rankings(const std::filesystem::path& job) {
    const job_plan plan = read_plan(job);
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i)
        shards_.push_back({io::mapped_file(file_of_result(job, i, "rankings"))});
}

/// Takes all entries with this distance, from every shard.
void merged_rankings::take_equal(double distance, const merge_rules& rules) {
    equal_.clear();
    std::size_t sources = 0;
    for (shard& each : shards_) {
        const std::size_t before = equal_.size();
        for (; !each.is_empty() && each.distances[each.taken] == distance; ++each.taken) {
            equal_.push_back(each.ids[each.taken]);
            // The bits of the number, as the shard reports them.
            distances_.push_back(each.distances[each.taken]);
        }
        sources += equal_.size() != before ? 1 : 0;
    }
    if (sources > 1) {
        std::ranges::sort(equal_);
        if (!rules.are_exact) equal_ = rules.order(query_, equal_);
    }
    ids_.insert(ids_.end(), equal_.begin(), equal_.end());
}

void merged_rankings::next(const merge_rules& rules) {
    ids_.clear();
    distances_.clear();
    for (shard& each : shards_) each.read();
    while (ids_.size() < rules.k) {
        std::optional<double> best;
        for (const shard& each : shards_) {
            if (each.is_empty()) continue;
            const double head = each.distances[each.taken];
            if (!best || (rules.greatest_first ? head > *best : head < *best)) best = head;
        }
        if (!best) break;
        take_equal(*best, rules);
    }
    const std::uint64_t size = std::min<std::uint64_t>(rules.k, ids_.size());
    ids_.resize(size);
    distances_.resize(size);
    ++query_;
}

}  // namespace quern

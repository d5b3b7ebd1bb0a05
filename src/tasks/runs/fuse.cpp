// SPDX-License-Identifier: Apache-2.0
// Runs are read side by side, then topics are fused side by side: each on its own, its documents numbered as they come.
#include "quern/tasks/fuse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "io/graph/text_blocks.hpp"
#include "io/ranked_run.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "tasks/runs/ids.hpp"
#include "tasks/stage_clock.hpp"

namespace quern {
namespace {

/// One topic in every run; null where a run lacks it.
struct topic_lists {
    std::string_view id;
    std::vector<const io::ranked_topic*> in_run;
};

std::vector<topic_lists> topics_of(std::span<const io::ranked_run> runs) {
    std::vector<topic_lists> topics;
    std::unordered_map<std::string_view, std::size_t> numbers;
    for (std::size_t r = 0; r < runs.size(); ++r) {
        for (const io::ranked_topic& topic : runs[r].topics()) {
            const auto [at, added] = numbers.try_emplace(topic.id, topics.size());
            if (added) topics.push_back({topic.id, std::vector<const io::ranked_topic*>(runs.size())});
            topics[at->second].in_run[r] = &topic;
        }
    }
    return topics;
}

std::vector<missing_topics> missing_in(std::span<const topic_lists> topics,
                                       std::span<const io::ranked_run> runs) {
    std::vector<missing_topics> all;
    for (std::size_t r = 0; r < runs.size(); ++r) {
        missing_topics missing{.run = runs[r].name(), .count = 0, .first = {}};
        for (const topic_lists& topic : topics) {
            if (topic.in_run[r] != nullptr) continue;
            if (missing.count++ == 0) missing.first = topic.id;
        }
        if (missing.count != 0) all.push_back(std::move(missing));
    }
    return all;
}

using weights_by_topic = std::map<std::string, std::vector<double>, std::less<>>;

weights_by_topic read_weights(const std::filesystem::path& path, std::size_t runs, const context& run) {
    weights_by_topic weights;
    const auto source = io::open_bytes(path, run);
    io::text_blocks lines(*source, run);
    while (const auto line = lines.next_line()) {
        if (line->empty()) continue;
        std::string_view rest = *line;
        const auto take = [&] {
            const std::size_t tab = rest.find('\t');
            const std::string_view field = rest.substr(0, tab);
            rest = tab == std::string_view::npos ? std::string_view() : rest.substr(tab + 1);
            return field;
        };
        const std::string_view topic = take();
        std::vector<double> of_topic;
        while (!rest.empty()) {
            const std::string_view field = take();
            double weight = 0;
            const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), weight);
            if (problem != std::errc{} || end != field.data() + field.size() || !std::isfinite(weight))
                throw invalid_input(path.string(), lines.lines_taken(), "a weight is not a finite number");
            of_topic.push_back(weight);
        }
        if (of_topic.size() != runs) {
            throw invalid_input(path.string(), lines.lines_taken(),
                                "holds " + std::to_string(of_topic.size()) + " weights, and there are " +
                                    std::to_string(runs) + " runs");
        }
        if (!weights.emplace(topic, std::move(of_topic)).second)
            throw invalid_input(path.string(), lines.lines_taken(), "topic " + std::string(topic) + " again");
    }
    return weights;
}

/// The lines of one topic, fused.
class topic_fusion {
  public:
    topic_fusion(const topic_lists& topic, std::span<const io::ranked_run> runs, bool numeric,
                 rank_source ranks)
        : topic_(topic), runs_(runs), numeric_(numeric), ranked_by_(ranks) {}

    std::string lines(const fusion_options& options, std::uint64_t& written) {
        number_documents();
        const auto names = numbers_.ids();
        const fused_list fused = fuse_checked(options, [&](std::uint32_t a, std::uint32_t b) {
            return id_precedes(names[a], names[b], numeric_);
        });
        std::string text;
        for (std::size_t i = 0; i < fused.ids.size(); ++i)
            append_run_line(text, topic_.id, names[fused.ids[i]], i + 1, fused.scores[i]);
        written = fused.ids.size();
        return text;
    }

  private:
    /// The entries of one run by falling score, equal scores by id.
    std::vector<const io::ranked_entry*> in_order(const io::ranked_topic& list) const {
        std::vector<const io::ranked_entry*> order;
        order.reserve(list.entries.size());
        for (const io::ranked_entry& entry : list.entries) order.push_back(&entry);
        const auto before = [&](const io::ranked_entry* a, const io::ranked_entry* b) {
            return a->score != b->score ? a->score > b->score
                                        : id_precedes(a->document, b->document, numeric_);
        };
        if (!std::ranges::is_sorted(order, before)) std::ranges::sort(order, before);
        return order;
    }

    void number_documents() {
        std::size_t entries = 0;
        for (const auto* list : topic_.in_run) entries += list == nullptr ? 0 : list->entries.size();
        ids_.reserve(entries);  // views look into them
        scores_.reserve(entries);
        if (ranked_by_ == rank_source::field) ranks_.reserve(entries);
        for (const auto* list : topic_.in_run) {
            const std::size_t begin = ids_.size();
            if (list != nullptr)
                order_.push_back(in_order(*list));
            else
                order_.emplace_back();
            for (const io::ranked_entry* entry : order_.back()) {
                ids_.push_back(numbers_(entry->document));
                scores_.push_back(entry->score);
                if (ranked_by_ == rank_source::field)
                    ranks_.push_back(rank_in_field(*entry, order_.size() - 1));
            }
            const std::size_t size = ids_.size() - begin;
            views_.push_back(
                {std::span(ids_).subspan(begin, size), std::span(scores_).subspan(begin, size), {}});
            if (!ranks_.empty()) views_.back().ranks = std::span(ranks_).subspan(begin, size);
        }
    }

    std::uint32_t rank_in_field(const io::ranked_entry& entry, std::size_t run) const {
        if (entry.rank == io::no_rank)
            throw invalid_input(runs_[run].name(), entry.line, "the rank is not a number");
        return entry.rank;
    }

    fused_list fuse_checked(const fusion_options& options, const tie_order& before) const {
        try {
            return fuse(views_, static_cast<std::uint32_t>(numbers_.ids().size()), options, before);
        } catch (const list_fault& fault) {  // a document twice: the reader refuses the rest
            const io::ranked_entry& entry = *order_[fault.list()][fault.position()];
            throw invalid_input(runs_[fault.list()].name(), entry.line,
                                "document " + std::string(entry.document.substr(0, 80)) + " again in topic " +
                                    std::string(topic_.id.substr(0, 80)));
        }
    }

    const topic_lists& topic_;
    std::span<const io::ranked_run> runs_;
    bool numeric_;
    rank_source ranked_by_;
    id_numbers numbers_;
    std::vector<std::uint32_t> ids_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> ranks_;  ///< empty: places
    std::vector<run_list_view> views_;
    std::vector<std::vector<const io::ranked_entry*>> order_;  ///< of each run
};

bool all_numbers(cpu_place& place, std::span<const topic_lists> topics) {
    std::vector<char> numeric(topics.size());
    for_each_piece(place, topics.size(), [&](std::size_t t) {
        numeric[t] = std::ranges::all_of(topics[t].in_run, [](const io::ranked_topic* list) {
            return list == nullptr ||
                   std::ranges::all_of(list->entries, is_number, &io::ranked_entry::document);
        });
    });
    return std::ranges::all_of(numeric, [](char one) { return one != 0; });
}

}  // namespace

fuse_result fuse_runs(const fuse_request& request, const context& run,
                      const std::function<void(std::string_view)>& write) {
    require_cpu(run, "fuse");
    if (request.runs.empty()) throw usage_error("there is no run to fuse");
    fuse_result result;
    result.statistics.device = "cpu";
    stage_clock clock(result.statistics);
    cpu_place place(run);
    const std::size_t count = request.runs.size();

    std::vector<std::optional<io::ranked_run>> reading(count);
    for_each_piece(place, count, [&](std::size_t r) { reading[r].emplace(request.runs[r], run); });
    std::vector<io::ranked_run> runs;
    std::uint64_t bytes = 0;
    for (auto& one : reading) {
        result.lines_read += one->lines();
        bytes += one->bytes();
        runs.push_back(std::move(*one));
    }
    const weights_by_topic weights =
        request.topic_weights.empty() ? weights_by_topic{} : read_weights(request.topic_weights, count, run);
    clock.end_stage("read", bytes);

    const std::vector<topic_lists> topics = topics_of(runs);
    result.topics = topics.size();
    result.missing = missing_in(topics, runs);
    const bool numeric = all_numbers(place, topics);
    std::vector<std::string> lines(topics.size());
    std::vector<std::uint64_t> written(topics.size());
    for_each_piece(place, topics.size(), [&](std::size_t t) {
        run.check_stop();
        fusion_options options = request.options;
        if (const auto own = weights.find(topics[t].id); own != weights.end()) options.weights = own->second;
        lines[t] = topic_fusion(topics[t], runs, numeric, request.ranks).lines(options, written[t]);
    });
    clock.end_stage("fuse", 0);

    bytes = 0;
    for (std::size_t t = 0; t < topics.size(); ++t) {
        write(lines[t]);
        bytes += lines[t].size();
        result.lines_written += written[t];
    }
    clock.end_stage("write", bytes);
    auto& counts = result.statistics.counts;
    counts["runs"] = count;
    counts["topics"] = result.topics;
    counts["lines_read"] = result.lines_read;
    counts["lines_written"] = result.lines_written;
    for (const missing_topics& missing : result.missing) counts["missing_topics"] += missing.count;
    return result;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Runs are read in parallel; then topics are fused in parallel and written in order.
#include "quern/tasks/fuse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "device/memory_budget.hpp"
#include "io/lines/text_blocks.hpp"
#include "io/retrieval/ranked_run.hpp"
#include "io/retrieval/trec_messages.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/runs/read_files.hpp"
#include "tasks/runs/topic_fusion.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

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

weights_by_topic read_weights(const std::filesystem::path& path, std::size_t runs, const context& ctx) {
    weights_by_topic weights;
    const auto source = io::open_bytes(path, ctx);
    io::text_blocks lines(*source, ctx);
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
                                "has " + std::to_string(of_topic.size()) + " weights, but there are " +
                                    std::to_string(runs) + " runs");
        }
        if (!weights.emplace(topic, std::move(of_topic)).second)
            throw invalid_input(path.string(), lines.lines_taken(),
                                "duplicate topic " + io::quoted_field(topic));
    }
    return weights;
}

std::vector<std::string> unused(const weights_by_topic& weights, std::span<const topic_lists> topics) {
    std::set<std::string_view> known;
    for (const topic_lists& topic : topics) known.insert(topic.id);
    std::vector<std::string> all;
    for (const auto& [topic, of_topic] : weights)
        if (!known.contains(topic)) all.push_back(topic);
    return all;
}

/// A pool of objects that threads take, use and return.
template <class T>
class shelf {
  public:
    template <class Make>
    std::unique_ptr<T> take(Make make) {
        const std::lock_guard hold(mutex_);
        if (free_.empty()) return make();
        auto one = std::move(free_.back());
        free_.pop_back();
        return one;
    }
    void give_back(std::unique_ptr<T> one) {
        const std::lock_guard hold(mutex_);
        free_.push_back(std::move(one));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> free_;
};

/// One topic in the pipeline.
struct piece {
    std::size_t topic = 0;
    std::unique_ptr<topic_fusion> fusion;
    std::exception_ptr failure;
};

}  // namespace

fuse_result fuse_runs(const fuse_request& request, const context& ctx,
                      const std::function<void(std::string_view)>& sink) {
    require_cpu(ctx, "fuse");
    if (request.runs.empty()) throw usage_error("no run given");
    fuse_result result;
    result.statistics.device = "cpu";
    stage_clock clock(result.statistics);
    const std::size_t count = request.runs.size();

    const weights_by_topic weights =
        request.topic_weights.empty() ? weights_by_topic{} : read_weights(request.topic_weights, count, ctx);
    ctx.report({"read", 0, 0, "bytes"});
    const std::vector<io::ranked_run> runs = read_files<io::ranked_run>(request.runs, ctx);
    std::uint64_t bytes = 0;
    for (const io::ranked_run& one : runs) {
        result.lines_read += one.lines();
        bytes += one.bytes();
    }
    clock.end_stage("read", bytes);

    const std::vector<topic_lists> topics = topics_of(runs);
    result.topics = topics.size();
    result.missing = missing_in(topics, runs);
    result.unused_weights = unused(weights, topics);
    const bool numeric = std::ranges::all_of(runs, &io::ranked_run::has_numbers_alone);
    // Topics are fused in parallel and written in order, while others are still being fused.
    shelf<topic_fusion> fusions;
    pipeline<piece> line(2 * std::size_t{ctx.thread_count()});
    std::size_t given_out = 0;
    bytes = 0;
    line.from([&](piece& next) {
        ctx.check_stop();
        ctx.report({"fuse", given_out, topics.size(), "topics"});
        next.topic = given_out++;
        return next.topic < topics.size();
    });
    line.in_parallel([&](piece& one) {
        const topic_lists& topic = topics[one.topic];
        fusion_options options = request.options;
        if (const auto own = weights.find(topic.id); own != weights.end()) options.weights = own->second;
        try {
            ctx.check_stop();
            one.fusion =
                fusions.take([&] { return std::make_unique<topic_fusion>(runs, numeric, request.ranks); });
            one.fusion->fuse(topic, options);
        } catch (...) {
            one.failure = std::current_exception();
        }
    });
    line.in_order([&](piece& one) {
        if (one.failure) std::rethrow_exception(one.failure);  // of the first topic that has one
        sink(one.fusion->text());
        bytes += one.fusion->text().size();
        result.lines_written += one.fusion->lines();
        fusions.give_back(std::move(one.fusion));
    });
    run_parallel(ctx, [&] { line.run(); });
    clock.end_stage("fuse", bytes);

    auto& counts = result.statistics.counts;
    counts["runs"] = count;
    counts["topics"] = result.topics;
    counts["lines_read"] = result.lines_read;
    counts["lines_written"] = result.lines_written;
    for (const missing_topics& missing : result.missing) counts["missing_topics"] += missing.count;
    return result;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Runs are read in parallel; then topics are fused in parallel and written in order.
#include "quern/tasks/fuse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "io/lines/text_blocks.hpp"
#include "io/retrieval/ranked_run.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/runs/run_inputs.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

// One topic of several runs: its entries in order, its documents numbered, fused, and written as lines.

/// One topic in every run; null for a run without it.
struct topic_lists {
    std::string_view id;
    std::vector<const io::ranked_topic*> in_run;
};

/// Fuses one topic after the other, in reused memory. Single-threaded.
class topic_fusion {
  public:
    /// `numeric`: whether ids compare as numbers. The runs must outlive it.
    topic_fusion(std::span<const io::ranked_run> runs, bool numeric, rank_source ranks)
        : runs_(runs), numeric_(numeric), ranked_by_(ranks) {}

    /// Ids are written byte for byte as in the runs. Throws as fuse_runs does.
    void fuse(const topic_lists& topic, const fusion_options& options);
    /// Of the last fused topic.
    std::string_view text() const { return {text_.data(), text_size_}; }
    std::uint64_t lines() const { return lines_; }

  private:
    using order = std::vector<const io::ranked_entry*>;
    order in_order(std::span<const io::ranked_entry> entries) const;
    void take_lists();
    void take(const io::ranked_entry& entry, std::size_t run);
    [[noreturn]] void refuse(const list_fault& fault) const;
    void write(const fused_list& fused);

    std::span<const io::ranked_run> runs_;
    bool numeric_;
    rank_source ranked_by_;
    const topic_lists* topic_ = nullptr;
    id_numbers numbers_;
    std::vector<std::uint32_t> ids_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> ranks_;  ///< empty: positions
    std::vector<run_list_view> views_;
    std::vector<char> text_;  ///< grows only
    std::size_t text_size_ = 0;
    std::uint64_t lines_ = 0;
};

/// Copies the characters to `to`, which must have the capacity; returns the end.
char* put(char* to, std::string_view text) {
    return std::ranges::copy(text, to).out;
}

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

/// The lists as numbers, each by descending score, ties by id.
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

std::vector<io::ranked_run> read_runs(const fuse_request& request, const context& ctx) {
    const auto open = [&](std::size_t r, const context& each, memory_budget& memory) {
        if (request.texts.empty() || !request.texts[r]) return io::ranked_run(request.runs[r], each, memory);
        const auto text = io::open_bytes_memory(*request.texts[r], request.runs[r].string(), each);
        return io::ranked_run(*text, each);
    };
    return read_files<io::ranked_run>(request.runs, ctx, open);
}

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

const weights_by_topic& checked(const weights_by_topic& weights, std::size_t runs) {
    for (const auto& [topic, of_topic] : weights) {
        if (of_topic.size() != runs) {
            throw usage_error("topic " + io::quoted_field(topic) + " has " + std::to_string(of_topic.size()) +
                              " weights, but there are " + std::to_string(runs) + " runs");
        }
        if (!std::ranges::all_of(of_topic, [](double weight) { return std::isfinite(weight); }))
            throw usage_error("topic " + io::quoted_field(topic) + ": a weight is not a finite number");
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

/// What a topic_fusion takes for a topic: a slot and a view of each id, numbers, scores, ranks, the fused list, and its line.
std::uint64_t bytes_to_fuse(const topic_lists& topic) {
    std::uint64_t bytes = 0;
    for (const io::ranked_topic* list : topic.in_run) {
        if (list == nullptr) continue;
        bytes += list->entries.size() * (192 + topic.id.size());
        for (const io::ranked_entry& entry : list->entries) bytes += entry.document_size;
    }
    return bytes;
}

/// The entries of the runs, and their texts where they are not mapped.
std::uint64_t bytes_held(std::span<const io::ranked_run> runs) {
    std::uint64_t bytes = 0;
    for (const io::ranked_run& run : runs) {
        std::error_code unknown;
        const std::uintmax_t on_disk = std::filesystem::file_size(run.name(), unknown);
        bytes += run.lines() * sizeof(io::ranked_entry);
        if (unknown || on_disk < run.bytes()) bytes += run.bytes();
    }
    return bytes;
}

/// How many topics may be fused or wait at once. Throws out_of_memory if the longest does not fit.
std::size_t topics_at_once(std::span<const topic_lists> topics, std::span<const io::ranked_run> runs,
                           const context& ctx) {
    std::uint64_t largest = 1;
    for (const topic_lists& topic : topics) largest = std::max(largest, bytes_to_fuse(topic));
    const std::uint64_t held = bytes_held(runs), limit = ctx.memory_limit();
    if (held + largest > limit)
        throw out_of_memory("the longest topic, with the lines of all runs,", held + largest, limit);
    return std::clamp<std::uint64_t>((limit - held) / largest, 1, 2 * std::uint64_t{ctx.thread_count()});
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
    if (!request.texts.empty() && request.texts.size() != request.runs.size())
        throw usage_error(std::to_string(request.texts.size()) + " texts for " +
                          std::to_string(request.runs.size()) + " runs");
    fuse_result result;
    result.statistics.device = "cpu";
    stage_clock clock(result.statistics);
    const std::size_t count = request.runs.size();

    const weights_by_topic weights = request.topic_weights.empty()
                                         ? checked(request.weights_by_topic, count)
                                         : read_weights(request.topic_weights, count, ctx);
    ctx.report({"read", 0, 0, "bytes"});
    const std::vector<io::ranked_run> runs = read_runs(request, ctx);
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
    pipeline<piece> line(topics_at_once(topics, runs, ctx));
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

// SPDX-License-Identifier: Apache-2.0
// Fusion of runs.
#include <nanobind/stl/string.h>

#include <charconv>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "errors.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/fuse_option_table.hpp"
#include "texts.hpp"
#include "topic_run.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct fuse_call : call {
    fuse_request request;
    std::vector<double> weights;
};

std::vector<double> weights_of(std::string_view name, nb::handle given) {
    if (nb::isinstance<nb::str>(given) || !nb::hasattr(given, "__iter__"))
        refuse(std::string(name) + ": expected a list of numbers, one per run");
    std::vector<double> weights;
    for (const nb::handle weight : nb::borrow<nb::object>(given)) weights.push_back(number_of(name, weight));
    return weights;
}

void set_topic_weights(fuse_call& r, nb::handle given) {
    if (is_path(given)) {
        r.request.topic_weights = text_of("topic_weights", given);
        return;
    }
    if (!nb::isinstance<nb::dict>(given)) {
        refuse("topic_weights: expected a path, or a dict of topics and lists of weights");
    }
    for (const auto& [topic, weights] : nb::borrow<nb::dict>(given)) {
        r.request.weights_by_topic[text_argument("topic_weights: a topic", topic)] =
            weights_of("topic_weights", weights);
    }
}

const parameters<fuse_call>& fuse_parameters() {
    static const parameters<fuse_call> made = [] {
        static const option_description rule = [] {
            option_description named = option_of<fusion_options>("aggregate");
            named.name = "rule";
            return named;
        }();
        parameter_text text = text_of(rule, static_cast<std::uint64_t>(fusion_options().rule));
        parameters<fuse_call> all("fuse");
        all.add(std::move(text),
                [](fuse_call& r, nb::handle given) {
                    r.request.options.rule =
                        static_cast<fusion_rule>(std::get<std::uint64_t>(value_of(rule, given)));
                })
            .add({"weights", "Sequence[float] | None", "None",
                  "A weight for each run, in their order. Default: 1 each."},
                 [](fuse_call& r, nb::handle given) { r.weights = weights_of("weights", given); })
            .add({"topic_weights", "str | os.PathLike[str] | dict[str, Sequence[float]] | None", "None",
                  "Weights that replace these for some topics: a dict of topics and a weight for each run, "
                  "or a file of "
                  "lines of a topic and the weights, separated by tabs."},
                 set_topic_weights)
            .table<&fuse_call::request, &fuse_request::options>({"aggregate"})
            .table<&fuse_call::request>()
            .common();
        return all;
    }();
    return made;
}

void refuse_idle_options(const nb::kwargs& given, fusion_rule rule) {
    const auto refuse_unless = [&](const char* name, bool used, const char* why) {
        if (!used && given.contains(name) && !given[name].is_none()) refuse(std::string(name) + ": " + why);
    };
    const bool by_rank = rule == fusion_rule::rrf || rule == fusion_rule::borda;
    refuse_unless("constant", rule == fusion_rule::rrf, "requires rule='rrf'");
    refuse_unless("ranks", by_rank, "requires rule='rrf' or 'borda'");
    refuse_unless("normalize", !by_rank, "applies to scores; rule='rrf' and 'borda' use ranks");
}

/// Ids as they appear in a TREC run, where white space becomes `_`, and what they were; only those that differ.
class original_ids {
  public:
    /// Throws usage_error if two ids of the runs look the same.
    void add(const std::vector<std::shared_ptr<const topic_run>>& runs) {
        std::vector<std::string_view> all;
        for (const auto& run : runs) {
            if (run == nullptr) continue;
            for (std::size_t row = 0; row < run->rows(); ++row) all.push_back(run->document(row));
        }
        for (const std::string_view id : all) {
            std::string shown = written(id);
            if (shown == id) continue;
            const auto [at, is_new] = ids_.emplace(std::move(shown), id);
            if (!is_new && at->second != id) refuse_alike(at->second, id);
        }
        if (ids_.empty()) return;
        for (const std::string_view id : all) {
            if (const auto at = ids_.find(std::string(id)); at != ids_.end() && at->second != id)
                refuse_alike(at->second, id);
        }
    }
    std::string_view of(std::string_view shown) const {
        if (ids_.empty()) return shown;
        const auto at = ids_.find(std::string(shown));
        return at == ids_.end() ? shown : at->second;
    }

  private:
    static std::string written(std::string_view id) {
        bool plain = true;
        for (const char c : id) plain &= c > ' ' && c <= '~';
        if (plain) return std::string(id);
        std::string line;
        append_run_line(line, "t", id, 1, 0);
        constexpr std::string_view before = "t Q0 ", after = " 1 0 quern\n";
        return line.substr(before.size(), line.size() - before.size() - after.size());
    }
    [[noreturn]] static void refuse_alike(std::string_view a, std::string_view b) {
        throw usage_error("the documents '" + std::string(a) + "' and '" + std::string(b) +
                          "' look the same in a TREC run, where white space becomes _");
    }
    std::unordered_map<std::string, std::string_view> ids_;
};

std::string_view field(std::string_view& line) {
    const std::size_t end = line.find(' ');
    const std::string_view taken = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return taken;
}

/// The lines of one topic, as fuse_runs writes them.
void take_lines(std::string_view lines, const original_ids& ids, run_builder& made) {
    for (bool is_first = true; !lines.empty(); is_first = false) {
        const std::size_t end = lines.find('\n');
        std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end + 1);
        const std::string_view topic = field(line);
        field(line);
        const std::string_view document = field(line), rank_text = field(line), score_text = field(line);
        std::uint32_t rank = 0;
        double score = 0;
        std::from_chars(rank_text.data(), rank_text.data() + rank_text.size(), rank);
        std::from_chars(score_text.data(), score_text.data() + score_text.size(), score);
        if (is_first) made.begin(topic);
        made.add(ids.of(document), rank, score);
    }
}

topic_run fuse_all(const nb::object& runs, const nb::kwargs& given) {
    fuse_call requested = fuse_parameters().read(given);
    fuse_request& request = requested.request;
    refuse_idle_options(given, request.options.rule);
    request.options.weights = requested.weights;
    if (is_path(runs) || nb::isinstance<nb::dict>(runs) || nb::isinstance<topic_run>(runs))
        throw nb::type_error("runs must be a list of runs, not a single run");
    std::vector<std::shared_ptr<const topic_run>> in_memory;
    bool any_in_memory = false;
    for (const nb::handle one : runs) {
        if (is_path(one)) {
            request.runs.emplace_back(text_of("runs", one));
            in_memory.emplace_back();
        } else {
            in_memory.push_back(run_argument(one));
            request.runs.emplace_back("run " + std::to_string(in_memory.size()));
            any_in_memory = true;
        }
    }
    if (request.runs.empty()) refuse("runs: the list is empty (expected at least one run)");
    return run_for(requested.run, [&](const context& ctx) {
        std::vector<std::string> texts(in_memory.size());
        original_ids ids;
        if (any_in_memory) {
            request.texts.resize(in_memory.size());
            ids.add(in_memory);
            for (std::size_t r = 0; r < in_memory.size(); ++r) {
                if (in_memory[r] == nullptr) continue;
                in_memory[r]->each_text([&](std::string_view lines) {
                    ctx.check_stop();
                    texts[r] += lines;
                });
                request.texts[r] = texts[r];
            }
        }
        run_builder made;
        const fuse_result result =
            fuse_runs(request, ctx, [&](std::string_view lines) { take_lines(lines, ids, made); });
        for (const missing_topics& missing : result.missing) {
            ctx.log(log_level::warning, missing.run + " lacks " + std::to_string(missing.count) + " of " +
                                            std::to_string(result.topics) + " topics; the first is " +
                                            missing.first);
        }
        if (!result.unused_weights.empty()) {
            ctx.log(log_level::warning,
                    "topic_weights has weights for " + std::to_string(result.unused_weights.size()) +
                        " topics missing in all runs; the first is " + result.unused_weights.front());
        }
        return made.take();
    });
}

}  // namespace

void declare_fusion(nb::module_& module) {
    module.def("fuse", fuse_all, nb::arg("runs"), nb::arg("kwargs"),
               nb::sig(fuse_parameters().signature("runs: Sequence[object]", "Run")),
               fuse_parameters().doc(
                   "Fuses runs, topic by topic, and returns a `Run`, whose `write` writes the bytes of "
                   "`quern fuse`.\n\n"
                   "`runs`: a list of paths, `Run`s, or what `Run` takes; sums run in this order. Topics are "
                   "in the order of their "
                   "first occurrence, documents by falling score, equal scores by id (as numbers if all ids "
                   "are decimal numbers, "
                   "else by bytes). Ids keep their white space, but the order is that of a TREC run, where "
                   "it becomes _.\n\n"
                   "Combinations of Fox and Shaw (1994), Borda counts (Aslam and Montague 2001), reciprocal "
                   "ranks (Cormack, Clarke "
                   "and Buettcher 2009). Raises InvalidInput for a repeated document, or a score that is or "
                   "becomes infinite.\n\n"
                   ">>> import quern\n"
                   ">>> fused = quern.fuse([{'t1': {'a': 3, 'b': 2}}, {'t1': {'b': 9}}], rule='rrf')\n"
                   ">>> list(fused['t1'])\n"
                   "['b', 'a']"));
}

}  // namespace quern::python

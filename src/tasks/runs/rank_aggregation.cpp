// SPDX-License-Identifier: Apache-2.0
// Lists are read in parallel, and their objects numbered.
#include "quern/tasks/rank_aggregation.hpp"

#include <algorithm>

#include "io/retrieval/ranked_run.hpp"
#include "quern/base/error.hpp"
#include "tasks/runs/ordered_objects.hpp"
#include "tasks/runs/run_inputs.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

double of_list(const std::vector<double>& values, std::size_t list, double usual) {
    if (values.empty()) return usual;
    return values.size() == 1 ? values[0] : values[list];
}

void check(const file_aggregation_request& request) {
    const std::size_t lists = request.lists.size();
    if (!request.weights.empty() && request.weights.size() != lists) {
        throw usage_error(std::to_string(lists) + " lists with " + std::to_string(request.weights.size()) +
                          " weights");
    }
    if (request.floors.size() > 1 && request.floors.size() != lists)
        throw usage_error(std::to_string(lists) + " lists with " + std::to_string(request.floors.size()) +
                          " floors");
}

}  // namespace

file_aggregation_result top_k_of_files(const file_aggregation_request& request, const context& requested) {
    check(request);
    file_aggregation_result result;
    const aggregation_method method = request.options.method;
    const bool everywhere = runs_on_gpus(method);
    const std::string job =
        everywhere ? "topk"
                   : "topk by " + std::string(aggregation_method_names[static_cast<std::size_t>(method)]);
    const context ctx = pinned_to_device(requested, job, result.statistics,
                                         everywhere ? offered_places::all : offered_places::cpu_only);
    stage_clock clock(result.statistics);
    ctx.report({"read", 0, 0, "bytes"});
    const std::vector<io::ranked_list> lists = read_files<io::ranked_list>(request.lists, ctx);
    std::uint64_t bytes = 0;
    for (const io::ranked_list& one : lists) bytes += one.bytes();
    std::vector<std::span<const std::string_view>> ids;
    for (const io::ranked_list& one : lists) ids.emplace_back(one.ids());
    const ordered_objects objects(ids, ctx);
    result.objects = objects.size();
    clock.end_stage("read", bytes);

    ctx.report({"topk", 0, 0, "objects"});
    std::vector<ranked_list_view<double>> views;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        views.push_back({objects.of_list(i), lists[i].scores(),
                         request.weights.empty() ? 1 : request.weights[i], of_list(request.floors, i, 0)});
        result.lengths.push_back(lists[i].ids().size());
    }
    try {
        const aggregation_result found = top_k<double>(views, objects.size(), request.options, ctx);
        for (std::size_t j = 0; j < found.ids.size(); ++j)
            result.best.push_back({objects.id(found.ids[j]), found.scores[j]});
        result.depths = found.depths;
        result.place = found.place;
        result.statistics.counts["candidates"] = found.candidates;
    } catch (const list_fault& fault) {
        throw invalid_input(lists[fault.list()].name(), fault.position() + 1, fault.what());
    } catch (const invalid_value& fault) {
        const auto object = static_cast<std::uint32_t>(fault.position());
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const auto at = std::ranges::find(views[i].ids, object);
            if (at == views[i].ids.end()) continue;
            throw invalid_input(lists[i].name(), static_cast<std::uint64_t>(at - views[i].ids.begin()) + 1,
                                fault.what());
        }
        throw;
    }
    clock.end_stage("topk", 0);
    auto& counts = result.statistics.counts;
    counts["lists"] = lists.size();
    counts["objects"] = result.objects;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        counts["depth_" + std::to_string(i + 1)] = result.depths[i];
        counts["length_" + std::to_string(i + 1)] = result.lengths[i];
    }
    return result;
}

}  // namespace quern

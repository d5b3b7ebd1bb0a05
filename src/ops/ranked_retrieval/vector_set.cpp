// SPDX-License-Identifier: Apache-2.0
// The door: checks what it is given, chooses the places, and holds the set on them.
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/devices.hpp"
#include "device/place.hpp"
#include "ops/ranked_retrieval/placed_set.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ranked_retrieval.hpp"

namespace quern {

using namespace ranked_retrieval_detail;

namespace {

constexpr const char* operation = "nearest";

/// Those of cuda:all: every GPU that works. One that does not is left out, and the log says so.
[[maybe_unused]] std::vector<int> chosen_ordinals(const context& run, const chosen_device& first,
                                                  std::string& names) {
    names = first.name;
    if (run.device.ordinal != device_choice::all_ordinals || run.device.where != device_choice::kind::cuda)
        return {first.ordinal};
    std::vector<int> ordinals{first.ordinal};
    std::string why_none;
    for (const auto& gpu : device::cuda_devices(why_none)) {
        if (gpu.ordinal == first.ordinal) continue;
        const auto report = device::check_cuda_runtime(gpu.ordinal);
        if (report.works) {
            ordinals.push_back(gpu.ordinal);
            names += ", cuda:" + std::to_string(gpu.ordinal);
        } else {
            run.log(log_level::warning,
                    "cuda:" + std::to_string(gpu.ordinal) + " is left out, for it fails: " + report.note);
        }
    }
    return ordinals;
}

template <class View>
std::unique_ptr<searched_set<View>> place_set(const View& vectors, const vector_set_options& options,
                                              const context& run) {
    check_sizes(vectors, "the vectors");
    check_metric(vectors, options.metric);
    const chosen_device chosen = choose_device(run, operation);
    if (chosen.cuda) {
        // Not for programs without CUDA, where nothing is chosen that is not there.
        if constexpr (has_cuda) {
            std::string names;
            std::vector<std::unique_ptr<cuda_place>> places;
            for (const int ordinal : chosen_ordinals(run, chosen, names))
                places.push_back(std::make_unique<cuda_place>(run, ordinal));
            const std::size_t shards = places.size();
            return std::make_unique<placed_set<cuda_place, View>>(vectors, options, run, std::move(places),
                                                                  shards, names + ": " + chosen.reason);
        }
    }
    return std::make_unique<placed_set<cpu_place, View>>(vectors, options, run,
                                                         std::vector<std::unique_ptr<cpu_place>>(), 1,
                                                         chosen.name + ": " + chosen.reason);
}

}  // namespace

struct vector_set::state {
    std::unique_ptr<searched_set<vectors_view>> dense;
    std::unique_ptr<searched_set<sparse_vectors_view>> sparse;

    searched_set<vectors_view>& of(const vectors_view& /*unused*/) const {
        if (!dense) throw usage_error("the vectors are sparse, but the queries are not");
        return *dense;
    }
    searched_set<sparse_vectors_view>& of(const sparse_vectors_view& /*unused*/) const {
        if (!sparse) throw usage_error("the queries are sparse, but the vectors are not");
        return *sparse;
    }
};

vector_set::vector_set(const vectors_view& vectors, const vector_set_options& options, const context& run)
    : state_(std::make_unique<state>()) {
    state_->dense = place_set(vectors, options, run);
}
vector_set::vector_set(const sparse_vectors_view& vectors, const vector_set_options& options,
                       const context& run)
    : state_(std::make_unique<state>()) {
    state_->sparse = place_set(vectors, options, run);
}
vector_set::~vector_set() = default;
vector_set::vector_set(vector_set&&) noexcept = default;
vector_set& vector_set::operator=(vector_set&&) noexcept = default;

void vector_set::search(const vectors_view& queries, const retrieval_options& options, const sink& each) {
    state_->of(queries).search(queries, options, each);
}
void vector_set::search(const sparse_vectors_view& queries, const retrieval_options& options,
                        const sink& each) {
    state_->of(queries).search(queries, options, each);
}
rankings vector_set::search(const vectors_view& queries, const retrieval_options& options) {
    return state_->of(queries).search(queries, options);
}
rankings vector_set::search(const sparse_vectors_view& queries, const retrieval_options& options) {
    return state_->of(queries).search(queries, options);
}

const retrieval_record& vector_set::record() const {
    return state_->dense ? state_->dense->record() : state_->sparse->record();
}

}  // namespace quern

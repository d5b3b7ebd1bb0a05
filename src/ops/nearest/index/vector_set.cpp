// SPDX-License-Identifier: Apache-2.0
// The entry point: checks its arguments, chooses the places, and holds the set on them.
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cuda/caller_order.hpp"
#include "device/devices.hpp"
#include "device/place.hpp"
#include "ops/nearest/index/sharded_index.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {

using namespace nearest_detail;

namespace {

constexpr const char* operation = "nearest";

/// The devices of cuda:all: every working GPU. One that does not work is excluded and logged.
[[maybe_unused]] std::vector<int> chosen_ordinals(const context& ctx, const chosen_device& first,
                                                  std::string& names) {
    names = first.name;
    if (ctx.device.ordinal != device_choice::all_ordinals || ctx.device.where != device_choice::kind::cuda)
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
            ctx.log(log_level::warning,
                    "cuda:" + std::to_string(gpu.ordinal) + " is excluded because it fails: " + report.note);
        }
    }
    return ordinals;
}

template <class View>
std::unique_ptr<searched_set<View>> place_set(const View& vectors, const vector_set_options& options,
                                              const context& ctx) {
    check_sizes(vectors, "the vectors");
    check_metric(vectors, options.metric);
    const chosen_device chosen = choose_device(ctx, operation, offered_places::several_gpus);
    if (chosen.cuda) {
        // Not in builds without CUDA, where no device can be chosen.
        if constexpr (has_cuda) {
            std::string names;
            std::vector<std::unique_ptr<cuda_place>> places;
            for (const int ordinal : chosen_ordinals(ctx, chosen, names))
                places.push_back(std::make_unique<cuda_place>(ctx, ordinal));
            const std::size_t shards = places.size();
            return std::make_unique<sharded_index<cuda_place, View>>(vectors, options, ctx, std::move(places),
                                                                     shards, names + ": " + chosen.reason);
        }
    }
    return std::make_unique<sharded_index<cpu_place, View>>(vectors, options, ctx,
                                                            std::vector<std::unique_ptr<cpu_place>>(), 1,
                                                            chosen.name + ": " + chosen.reason);
}

// ---- Vectors on a GPU ----

/// The addresses are the GPU's.
vectors_view view_of_addresses(const device_vectors_view& vectors) {
    return {vectors.type, vectors.rows, vectors.dimensions, bytes_of_row(vectors.type, vectors.dimensions),
            std::span(static_cast<const std::byte*>(vectors.values), vectors.bytes())};
}

/// The context that chooses the GPU of the vectors.
context context_on(const device_vectors_view& vectors, const context& ctx) {
    const std::string name = name_of(vectors.where);
    if (!vectors.where.on_device())
        throw usage_error("vectors of a GPU that lie on the host (expected the number of the GPU)");
    const device_choice& wanted = ctx.device;
    const bool on_cpu = wanted.where == device_choice::kind::cpu;
    if (on_cpu || (wanted.where == device_choice::kind::cuda && wanted.ordinal >= 0 &&
                   wanted.ordinal != vectors.where.ordinal))
        throw usage_error("the vectors lie on " + name + ", but " +
                          (on_cpu ? "cpu" : "cuda:" + std::to_string(wanted.ordinal)) +
                          " was requested; copy them there, or request " + name);
    context here = ctx;
    here.device = {device_choice::kind::cuda, vectors.where.ordinal};
    return here;
}

std::unique_ptr<searched_set<vectors_view>> place_set(const device_vectors_view& vectors,
                                                      const vector_set_options& options, const context& ctx) {
    const context here = context_on(vectors, ctx);
    const vectors_view view = view_of_addresses(vectors);
    check_sizes(view, "the vectors");
    check_metric(view, options.metric);
    const chosen_device chosen = choose_device(here, operation, offered_places::several_gpus);
    if constexpr (has_cuda) {
        std::vector<std::unique_ptr<cuda_place>> places;
        places.push_back(std::make_unique<cuda_place>(here, chosen.ordinal));
        cuda::wait_for_caller(vectors.where, *places.front());
        return std::make_unique<sharded_index<cuda_place, vectors_view>>(
            view, options, here, std::move(places), 1, chosen.name + ": the vectors lie there", true);
    }
    throw device_error("the vectors lie on " + chosen.name + ", but this program was built without CUDA");
}

/// Copies, for the host.
vectors_view brought(const device_vectors_view& vectors, row_memory& memory) {
    vectors_view view = view_of_addresses(vectors);
    check_sizes(view, "the queries");
    const auto to = memory.bytes(vectors.bytes());
    copy_to_host(vectors.where, vectors.values, to);
    view.values = to;
    return view;
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

vector_set::vector_set(const vectors_view& vectors, const vector_set_options& options, const context& ctx)
    : state_(std::make_unique<state>()) {
    state_->dense = place_set(vectors, options, ctx);
}
vector_set::vector_set(const sparse_vectors_view& vectors, const vector_set_options& options,
                       const context& ctx)
    : state_(std::make_unique<state>()) {
    state_->sparse = place_set(vectors, options, ctx);
}
vector_set::vector_set(const device_vectors_view& vectors, const vector_set_options& options,
                       const context& ctx)
    : state_(std::make_unique<state>()) {
    state_->dense = place_set(vectors, options, ctx);
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
void vector_set::search(const device_vectors_view& queries, const retrieval_options& options,
                        const sink& each) {
    row_memory memory;
    search(brought(queries, memory), options, each);
}
rankings vector_set::search(const device_vectors_view& queries, const retrieval_options& options) {
    row_memory memory;
    return search(brought(queries, memory), options);
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

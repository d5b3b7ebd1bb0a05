// SPDX-License-Identifier: Apache-2.0
// The entry point: checks its arguments, chooses the places, and holds the set on them.
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/resident.hpp"
#include "ops/nearest/index/replicated_index.hpp"
#include "ops/nearest/index/sharded_index.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {

using namespace nearest_detail;

namespace {

constexpr const char* operation = "nearest";

template <class View>
struct index_of {
    template <class Place>
    using held = sharded_index<Place, View>;
};
template <class View>
using resident_vectors = resident<index_of<View>::template held>;

/// What a set needs besides its vectors and options.
struct index_request {
    chosen_device chosen;
    index_layout layout;
};

template <class View>
index_request request_for(const View& vectors, const vector_set_options& options, const context& ctx) {
    check_sizes(vectors, "the vectors");
    check_metric(vectors, options.metric);
    index_request request{choose_device(ctx, operation, offered_places::several_gpus), {}};
    request.layout.more = request.chosen.more;
    request.layout.name = name_and_reason(request.chosen);
    return request;
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
    const device_choice& requested = ctx.device;
    const bool on_cpu = requested.where == device_choice::kind::cpu;
    const bool elsewhere = requested.where == device_choice::kind::cuda && requested.ordinal >= 0 &&
                           requested.ordinal != vectors.where.ordinal &&
                           std::ranges::find(requested.more, vectors.where.ordinal) == requested.more.end();
    if (on_cpu || elsewhere)
        throw usage_error("the vectors lie on " + name + ", but " +
                          (on_cpu ? "cpu" : "cuda:" + std::to_string(requested.ordinal)) +
                          " was requested; copy them there, or request " + name);
    context here = ctx;
    here.device = {device_choice::kind::cuda, vectors.where.ordinal};
    return here;
}

index_request request_for(const device_vectors_view& vectors, const vector_set_options& options,
                          const context& ctx) {
    index_request request = request_for(view_of_addresses(vectors), options, context_on(vectors, ctx));
    request.chosen.reason = "the vectors lie there";
    request.layout.name = name_and_reason(request.chosen);
    request.layout.in_place = vectors.where;
    return request;
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
    template <class View>
    state(const View& vectors, const vector_set_options& options, const context& ctx,
          const index_request& request)
        : set(on_places(vectors, options, ctx, request)) {}

    /// Calls work(set) with the set of vectors that the queries have the form of.
    template <class View, class Work>
    decltype(auto) visit(const Work& work) {
        if (auto* const vectors = std::get_if<one_set<View>>(&set)) return (*vectors)->visit(work);
        if (auto* const vectors = std::get_if<replicas<View>>(&set)) return work(**vectors);
        throw usage_error(std::is_same_v<View, vectors_view>
                              ? "the vectors are sparse, but the queries are not"
                              : "the queries are sparse, but the vectors are not");
    }

    template <class View>
    using one_set = std::unique_ptr<resident_vectors<View>>;
    template <class View>
    using replicas = std::unique_ptr<replicated_index<View>>;
    using any_set = std::variant<one_set<vectors_view>, one_set<sparse_vectors_view>, replicas<vectors_view>,
                                 replicas<sparse_vectors_view>>;
    any_set set;

  private:
    /// Several GPUs each get the whole set if it fits them, else its rows are split.
    template <class View>
    static any_set on_places(const View& vectors, const vector_set_options& options, const context& ctx,
                             const index_request& request) {
        if (!request.layout.more.empty()) {
            auto all = replicated_index<View>::make(vectors, options, ctx, request.chosen);
            if (all) return any_set(std::move(all));
        }
        return any_set(
            std::make_unique<resident_vectors<View>>(ctx, request.chosen, vectors, options, request.layout));
    }
};

vector_set::vector_set(const vectors_view& vectors, const vector_set_options& options, const context& ctx)
    : state_(std::make_unique<state>(vectors, options, ctx, request_for(vectors, options, ctx))) {}
vector_set::vector_set(const sparse_vectors_view& vectors, const vector_set_options& options,
                       const context& ctx)
    : state_(std::make_unique<state>(vectors, options, ctx, request_for(vectors, options, ctx))) {}
vector_set::vector_set(const device_vectors_view& vectors, const vector_set_options& options,
                       const context& ctx)
    : state_(std::make_unique<state>(view_of_addresses(vectors), options, ctx,
                                     request_for(vectors, options, ctx))) {}
vector_set::~vector_set() = default;
vector_set::vector_set(vector_set&&) noexcept = default;
vector_set& vector_set::operator=(vector_set&&) noexcept = default;

void vector_set::search(const vectors_view& queries, const retrieval_options& options, const sink& each) {
    state_->visit<vectors_view>([&](auto& set) { set.search(queries, options, each); });
}
void vector_set::search(const sparse_vectors_view& queries, const retrieval_options& options,
                        const sink& each) {
    state_->visit<sparse_vectors_view>([&](auto& set) { set.search(queries, options, each); });
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
    return state_->visit<vectors_view>([&](auto& set) { return set.search(queries, options); });
}
rankings vector_set::search(const sparse_vectors_view& queries, const retrieval_options& options) {
    return state_->visit<sparse_vectors_view>([&](auto& set) { return set.search(queries, options); });
}

const retrieval_record& vector_set::record() const {
    const auto of = [](const auto& set) -> const retrieval_record& { return set.record(); };
    return std::visit(
        [&](const auto& set) -> const retrieval_record& {
            if constexpr (requires { set->record(); })
                return set->record();
            else
                return set->visit(of);
        },
        state_->set);
}

}  // namespace quern

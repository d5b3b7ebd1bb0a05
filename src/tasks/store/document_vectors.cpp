// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/document_vectors.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <string>

#include "quern/base/error.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {

struct document_vectors::state {
    state(const vectors_view& rows, const context& ctx)
        : vectors(rows), set(rows, {.metric = vector_metric::cosine}, ctx) {
        allowed.assign((rows.rows + 63) / 64, 0);
        for (std::uint64_t d = 0; d < rows.rows; ++d) {
            const auto row = rows.values.subspan(d * rows.stride, rows.row_bytes());
            if (std::ranges::all_of(row, [](std::byte b) { return b == std::byte{0}; })) continue;
            allowed[d / 64] |= std::uint64_t{1} << d % 64;
            ++with_vectors;
        }
    }
    bool has(std::uint32_t document) const { return (allowed[document / 64] >> document % 64 & 1) != 0; }

    vectors_view vectors;
    std::vector<std::uint64_t> allowed;  ///< those with a vector
    std::uint64_t with_vectors = 0;
    std::mutex one_at_a_time;
    vector_set set;
};

document_vectors::document_vectors(std::unique_ptr<state> s) : state_(std::move(s)) {}
document_vectors::~document_vectors() = default;
document_vectors::document_vectors(document_vectors&&) noexcept = default;
document_vectors& document_vectors::operator=(document_vectors&&) noexcept = default;

std::optional<document_vectors> document_vectors::of(const opened_store& store, const context& ctx) {
    const auto rows = store.document_vectors();
    if (!rows) return std::nullopt;
    return document_vectors(std::make_unique<state>(*rows, ctx));
}

bool document_vectors::has(std::uint32_t document) const {
    return document < state_->vectors.rows && state_->has(document);
}

std::vector<similar_document> document_vectors::nearest_documents(std::uint32_t document,
                                                                  std::uint64_t k) const {
    const vectors_view& all = state_->vectors;
    if (document >= all.rows) {
        throw usage_error("there is no document " + std::to_string(document) + " to compare with");
    }
    std::vector<similar_document> found;
    if (k == 0 || !state_->has(document)) return found;
    vectors_view requested = all;
    requested.rows = 1;
    requested.values = all.values.subspan(document * all.stride, all.row_bytes());
    retrieval_options options;
    options.k = std::min(k, state_->with_vectors) + 1;  // it may itself be among them
    if (state_->with_vectors != all.rows) options.allowed = state_->allowed;
    const rankings ranked = [&] {
        const std::lock_guard hold(state_->one_at_a_time);
        return state_->set.search(requested, options);
    }();
    for (std::size_t i = 0; i < ranked.ids.size() && found.size() < k; ++i) {
        if (ranked.ids[i] != document) found.push_back({ranked.ids[i], 1 - ranked.distances[i]});
    }
    return found;
}

}  // namespace quern

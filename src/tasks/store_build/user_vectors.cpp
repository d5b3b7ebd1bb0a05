// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <span>

#include "io/store/section.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/vectors_of_documents.hpp"
#include "tasks/store_build/stages.hpp"

namespace quern {

stage_outcome keep_user_vectors(const opened_store& store, const given_vectors& given, const context& ctx) {
    const vectors_of_documents ordered = order_vectors(store, given, ctx);
    io::section_writer section(store_layout::file_of(store.path(), store_layout::user_vectors));
    section.append_values(std::span(ordered.values));
    const auto done = section.finish();
    if (ordered.rounded) ctx.log(log_level::info, "vectors of documents: float64 values are kept as float32");
    if (ordered.others != 0)
        ctx.log(log_level::warning,
                fmt::format("{} vectors belong to no document of the store", ordered.others));
    stage_outcome outcome;
    outcome.sections = {listed_section(store_layout::user_vectors, done)};
    outcome.counts = {{"user_vector_dimensions", ordered.dimensions}};
    return outcome;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "io/files/npy.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/export.hpp"
#include "tasks/export/form.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

vector_counts write_vectors(const opened_store& store, const context& ctx,
                            const std::function<void(std::string_view)>& out) {
    const vectors_view stored = *store.document_vectors();
    const auto unit = static_cast<float>(store.info().vectors.unit);
    out(io::npy_header("<f4", stored.rows, stored.dimensions));
    std::vector<float> row(stored.dimensions);
    for (std::uint64_t d = 0; d < stored.rows; ++d) {
        if (d % 4096 == 0) {
            ctx.check_stop();
            ctx.report({"export", d, stored.rows, "documents"});
        }
        const auto* const from =
            reinterpret_cast<const std::int16_t*>(stored.values.data() + d * stored.stride);
        for (std::uint32_t i = 0; i < stored.dimensions; ++i) row[i] = static_cast<float>(from[i]) / unit;
        out({reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)});
    }
    return {stored.rows, stored.dimensions, 0};
}

document_counts write_documents(const opened_store& store, const context& ctx,
                                const std::function<void(std::string_view)>& out) {
    const auto lengths = store.collection().document_lengths;
    row_writer rows(row_format::tsv, {"id", "title", "words"}, out);
    for (std::uint32_t d = 0; d < lengths.size(); ++d) {
        if (d % 4096 == 0) {
            ctx.check_stop();
            ctx.report({"export", d, lengths.size(), "documents"});
        }
        rows.row({store.id(d), store.title(d), std::uint64_t{lengths[d]}});
    }
    return {lengths.size(), 0};
}

/// Both stages may have run, but found too little input.
std::string_view why_without_vectors(const store_info& info) {
    if (!info.stages.contains(build_stage::vectors)) return "it was built without them";
    if (!info.stages.contains(build_stage::thesaurus)) return "it was built without a thesaurus";
    return "its words are too few, or too rare, for a thesaurus";
}

}  // namespace

vector_counts export_vectors(const std::filesystem::path& path,
                             const std::function<void(std::string_view)>& out, const export_options& options,
                             const context& ctx) {
    require_cpu(ctx, "export");
    const opened_store store = open_store(path);
    if (!store.document_vectors())
        throw usage_error(
            fmt::format("{} has no document vectors: {}", path.string(), why_without_vectors(store.info())));
    return write_in_form(out, options, ctx, [&](const std::function<void(std::string_view)>& sink) {
        return write_vectors(store, ctx, sink);
    });
}

document_counts export_documents(const std::filesystem::path& path,
                                 const std::function<void(std::string_view)>& out,
                                 const export_options& options, const context& ctx) {
    require_cpu(ctx, "export");
    const opened_store store = open_store(path);
    return write_in_form(out, options, ctx, [&](const std::function<void(std::string_view)>& sink) {
        return write_documents(store, ctx, sink);
    });
}

}  // namespace quern

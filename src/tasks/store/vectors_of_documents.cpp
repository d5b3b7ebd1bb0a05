// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/vectors_of_documents.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/vectors/vector_file.hpp"
#include "ops/nearest/distance/components.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::size_t max_named = 5;  // ids in a message

/// "'a', 'b' and 3 more"
std::string listed(const std::vector<std::string>& ids, std::uint64_t count) {
    std::string text;
    for (const std::string& id : ids) text += (text.empty() ? "'" : ", '") + id + "'";
    if (count > ids.size()) text += fmt::format(" and {} more", count - ids.size());
    return text;
}

class vector_placer {
  public:
    vector_placer(const opened_store& store, const vectors_view& rows, std::string name, const context& ctx)
        : store_(store), rows_(rows), name_(std::move(name)), ctx_(ctx) {
        const std::uint64_t documents = store.info().documents;
        const std::uint64_t bytes = documents * rows.dimensions * sizeof(float);
        if (bytes > ctx.memory_limit() / 2)
            throw out_of_memory("the vectors of documents", 2 * bytes, ctx.memory_limit());
        made_.dimensions = rows.dimensions;
        made_.values.resize(documents * rows.dimensions);
        made_.rounded = rows.type == vector_type::f64;
    }

    vectors_of_documents in_order() {
        const std::uint64_t documents = store_.info().documents;
        if (rows_.rows != documents) {
            const std::uint64_t copies = store_.duplicates().size();
            throw invalid_input(
                name_, 0,
                fmt::format(
                    "{} vectors in order, but the store has {} documents{}; give ids with the vectors",
                    rows_.rows, documents,
                    copies == 0 ? std::string()
                                : fmt::format(" ({} near-duplicates are excluded; --skip "
                                              "duplicates keeps them)",
                                              copies)));
        }
        for (std::uint64_t d = 0; d < documents; ++d) {
            if (d % 4096 == 0) ctx_.check_stop();
            place(d, static_cast<std::uint32_t>(d));
        }
        return std::move(made_);
    }

    template <class Ids>
    vectors_of_documents by_id(const Ids& ids) {
        const document_finder finder(store_);
        std::vector<bool> has(store_.info().documents);
        for (std::uint64_t i = 0; i < rows_.rows; ++i) {
            if (i % 4096 == 0) ctx_.check_stop();
            const auto document = finder.find(ids[i]);
            if (!document) {
                ++made_.others;
                continue;
            }
            if (has[*document])
                throw invalid_input(name_, 0, fmt::format("two vectors for the id '{}'", ids[i]));
            has[*document] = true;
            place(i, *document);
        }
        std::vector<std::string> missing;
        std::uint64_t count = 0;
        for (std::uint32_t d = 0; d < has.size(); ++d) {
            if (has[d]) continue;
            if (++count <= max_named) missing.emplace_back(store_.id(d));
        }
        if (count != 0)
            throw invalid_input(name_, 0,
                                fmt::format("no vector for {} of {} documents: {}", count, has.size(),
                                            listed(missing, count)));
        return std::move(made_);
    }

  private:
    void place(std::uint64_t row, std::uint32_t document) {
        const std::span<float> out =
            std::span(made_.values).subspan(std::uint64_t{document} * rows_.dimensions, rows_.dimensions);
        nearest_detail::with_type(rows_.type, [&](auto type) {
            const auto* const from = nearest_detail::row_at<type()>(rows_.values.data(), rows_.stride, row);
            for (std::uint32_t j = 0; j < rows_.dimensions; ++j)
                out[j] = static_cast<float>(nearest_detail::component<type()>(from, j));
        });
        for (std::uint32_t j = 0; j < rows_.dimensions; ++j) {
            if (!std::isfinite(out[j]))
                throw invalid_input(name_, 0,
                                    fmt::format("component {} of the vector of '{}' is not a finite float32",
                                                j, store_.id(document)));
        }
    }

    const opened_store& store_;
    const vectors_view& rows_;
    const std::string name_;
    const context& ctx_;
    vectors_of_documents made_;
};

}  // namespace

vectors_of_documents order_vectors(const opened_store& store, const given_vectors& given,
                                   const context& ctx) {
    std::optional<io::vector_file> file;
    vectors_view rows = given.rows;
    const std::string name = given.file.empty() ? "vectors" : given.file.string();
    if (!given.file.empty()) {
        file.emplace(io::open_vectors(given.file, {}, ctx));
        if (file->sparse())
            throw usage_error(name + ": sparse vectors (expected one dense vector for each document)");
        rows = file->dense();
    }
    if (rows.type == vector_type::bits)
        throw usage_error(name + ": vectors of bits (expected numbers for each document)");
    vector_placer placer(store, rows, name, ctx);
    if (file && !file->names().empty()) return placer.by_id(file->names());
    if (given.ids.empty()) return placer.in_order();
    if (given.ids.size() != rows.rows)
        throw usage_error(fmt::format("{} ids for {} vectors", given.ids.size(), rows.rows));
    return placer.by_id(given.ids);
}

}  // namespace quern

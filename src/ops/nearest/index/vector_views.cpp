// SPDX-License-Identifier: Apache-2.0
#include "ops/nearest/index/vector_views.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "ops/nearest/distance/components.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/nearest_option_table.hpp"

namespace quern::nearest_detail {
namespace {

constexpr std::uint64_t max_rows = std::numeric_limits<std::uint32_t>::max() - 1;

[[noreturn]] void refuse(std::string_view what, std::string_view how) {
    throw usage_error(std::string(what).append(" ").append(how));
}

std::string_view name_of(vector_type type) {
    return vector_type_names[static_cast<std::size_t>(type)];
}
std::string_view name_of(vector_metric metric) {
    return vector_metric_names[static_cast<std::size_t>(metric)];
}

void check_counts(std::uint64_t rows, std::uint32_t dimensions, std::string_view what) {
    if (dimensions == 0) refuse(what, "have no dimensions");
    if (rows > max_rows)
        refuse(what, "are " + std::to_string(rows) + ", and at most " + std::to_string(max_rows) + " can be");
}

std::uint64_t alignment_of(vector_type type) {
    switch (type) {
        case vector_type::f64:
            return 8;
        case vector_type::f32:
            return 4;
        case vector_type::f16:
        case vector_type::bf16:
        case vector_type::i16:
            return 2;
        default:
            return 1;
    }
}

constexpr const char* not_finite = "has a value that is not finite";
constexpr const char* too_large = "has a value so large that a sum of products could overflow";

/// The fault of one component; null: none.
const char* fault_of(double value, double greatest) {
    if (!is_finite(value)) return not_finite;
    return std::fabs(value) > greatest ? too_large : nullptr;
}

const char* fault_of_row(const vectors_view& view, std::uint64_t row, double greatest) {
    return with_type(view.type, [&](auto constant) -> const char* {
        constexpr vector_type type = constant;
        const auto* const values = row_at<type>(view.values.data(), view.stride, row);
        if constexpr (type == vector_type::bits) {
            const unsigned used = view.dimensions % 8;
            if (used != 0 && values[view.dimensions / 8] >> used != 0)
                return "has bits past its last dimension";
        } else if constexpr (is_float(type)) {
            for (std::uint32_t j = 0; j < view.dimensions; ++j)
                if (const char* fault = fault_of(double{component<type>(values, j)}, greatest)) return fault;
        }
        return nullptr;
    });
}

const char* fault_of_row(const sparse_vectors_view& view, std::uint64_t row, double greatest) {
    const std::uint64_t begin = view.offsets[row] - view.offsets[0];
    const std::uint64_t end = view.offsets[row + 1] - view.offsets[0];
    for (std::uint64_t e = begin; e < end; ++e) {
        if (view.columns[e] >= view.dimensions) return "has a column past its last dimension";
        if (e > begin && view.columns[e] <= view.columns[e - 1]) return "has columns that do not ascend";
        if (const char* fault = fault_of(double{view.values[e]}, greatest)) return fault;
    }
    return nullptr;
}

template <class View>
void check_every_row(const View& view, vector_metric metric, std::uint64_t first_row, std::string_view what) {
    const double greatest = greatest_component(type_of(view), metric, view.dimensions);
    for (std::uint64_t i = 0; i < view.rows; ++i) {
        if (const char* fault = fault_of_row(view, i, greatest))
            throw invalid_value(std::string(what) + " " + std::to_string(first_row + i) + " " + fault,
                                first_row + i);
    }
}
template <class View>
[[noreturn]] void throw_first(const View& view, vector_metric metric, std::uint64_t first_row,
                              std::string_view what) {
    check_every_row(view, metric, first_row, what);
    throw invalid_value(
        std::string(what) + "s from " + std::to_string(first_row) + " on changed while they were checked",
        first_row);
}

}  // namespace

void check_sizes(const vectors_view& view, std::string_view what) {
    check_counts(view.rows, view.dimensions, what);
    const std::uint64_t row = view.row_bytes(), aligned = alignment_of(view.type);
    if (view.stride < row)
        refuse(what,
               "lie " + std::to_string(view.stride) + " bytes apart, but each takes " + std::to_string(row));
    if (view.stride % aligned != 0 || reinterpret_cast<std::uintptr_t>(view.values.data()) % aligned != 0)
        refuse(what, "are not aligned for " + std::string(name_of(view.type)));
    const std::uint64_t size = view.values.size();
    if (view.rows != 0 && (size < row || (view.rows - 1) > (size - row) / view.stride))
        refuse(what, "are " + std::to_string(view.rows) + ", which do not fit into " + std::to_string(size) +
                         " bytes");
}

void check_sizes(const sparse_vectors_view& view, std::string_view what) {
    check_counts(view.rows, view.dimensions, what);
    if (view.offsets.size() != view.rows + 1)
        refuse(what, "are " + std::to_string(view.rows) + ", but there are " +
                         std::to_string(view.offsets.size()) + " offsets");
    if (view.columns.size() != view.values.size())
        refuse(what, "have " + std::to_string(view.columns.size()) + " columns and " +
                         std::to_string(view.values.size()) + " values");
    bool rise = view.offsets.front() == 0 && view.offsets.back() == view.columns.size();
    for (std::uint64_t i = 0; i < view.rows; ++i) rise = rise && view.offsets[i] <= view.offsets[i + 1];
    if (!rise) refuse(what, "have offsets that do not ascend from 0 to the number of values");
}

void check_metric(const vectors_view& view, vector_metric metric) {
    // A distance of hamming is a number of 32 bits.
    constexpr std::uint32_t max_bytes = std::numeric_limits<std::uint32_t>::max() / 8;
    if (metric == vector_metric::hamming && view.type == vector_type::u8 && view.dimensions > max_bytes)
        throw usage_error("hamming distances of more than " + std::to_string(max_bytes) +
                          " bytes per vector");
    const bool hamming = metric == vector_metric::hamming;
    if (view.type == vector_type::bits ? hamming : !hamming || view.type == vector_type::u8) return;
    throw usage_error("the metric " + std::string(name_of(metric)) + " is not for vectors of " +
                      std::string(name_of(view.type)));
}
void check_metric(const sparse_vectors_view& /*unused*/, vector_metric metric) {
    if (metric == vector_metric::hamming) throw usage_error("the metric hamming is not for sparse vectors");
}

namespace {

void check_dimensions(std::uint32_t set, std::uint32_t queries) {
    if (set != queries)
        throw usage_error("the vectors have " + std::to_string(set) + " dimensions, but the queries have " +
                          std::to_string(queries));
}

}  // namespace

void check_alike(const vectors_view& set, const vectors_view& queries) {
    if (set.type != queries.type)
        throw usage_error("the vectors are of " + std::string(name_of(set.type)) +
                          ", but the queries are of " + std::string(name_of(queries.type)));
    check_dimensions(set.dimensions, queries.dimensions);
}
void check_alike(const sparse_vectors_view& set, const sparse_vectors_view& queries) {
    check_dimensions(set.dimensions, queries.dimensions);
}

void check_options(const retrieval_options& options, std::uint64_t rows) {
    retrieval_options checked = options;
    if (options.radius && std::isinf(*options.radius)) checked.radius.reset();  // no option, but a radius
    check_ranges(checked);
    const std::uint64_t words = (rows + 63) / 64;
    if (!options.allowed.empty() && options.allowed.size() != words)
        throw usage_error("the bitmap of allowed vectors has " + std::to_string(options.allowed.size()) +
                          " words, but " + std::to_string(rows) + " vectors need " + std::to_string(words));
}

double greatest_component(vector_type type, vector_metric metric, std::uint32_t dimensions) {
    const bool wide = type == vector_type::f64;
    const double max = wide ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
    if (metric != vector_metric::ip && metric != vector_metric::cosine) return max;
    // A part and each of d / 16 + 4 additions exceeds the exact one by at most 1 + 2^-24, for doubles 1 + 2^-53.
    const int kept_back = 2 + static_cast<int>(dimensions >> 27);
    const double size = std::sqrt(std::ldexp(max, -kept_back) / dimensions);
    return wide ? size : double{static_cast<float>(size)};
}

bool has_fault(const row_stats& stats, vector_type type, vector_metric metric, std::uint32_t dimensions) {
    return stats.bad_row != no_row ||
           (is_float(type) && stats.greatest > greatest_component(type, metric, dimensions));
}

void check_rows(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                std::string_view what) {
    check_every_row(view, metric, first_row, what);
}
void throw_first_fault(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                       std::string_view what) {
    throw_first(view, metric, first_row, what);
}
void throw_first_fault(const sparse_vectors_view& view, vector_metric metric, std::uint64_t first_row,
                       std::string_view what) {
    throw_first(view, metric, first_row, what);
}

}  // namespace quern::nearest_detail

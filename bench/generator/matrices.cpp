// SPDX-License-Identifier: Apache-2.0
#include "generator/matrices.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>

#include "generator/permutation.hpp"

namespace quern::generator {
namespace {

using row_range = tbb::blocked_range<std::uint32_t>;

double value_of(value_kind kind, std::size_t length, random_numbers& chance) {
    switch (kind) {
        case value_kind::signs: {
            const double digits =
                1 + chance.uniform();  // one draw a statement: the order of operands is unspecified
            const double size = digits * static_cast<double>(1 << chance.below(20)) * 0x1p-10;
            return chance.below(2) == 0 ? size : -size;
        }
        case value_kind::share:
            return (0.5 + chance.uniform()) / static_cast<double>(length);
        case value_kind::weight:
            return 1 - chance.uniform();
        case value_kind::whole: {
            const std::uint64_t octave = std::uint64_t{1} << chance.below(20);
            return static_cast<double>(octave + chance.below(octave));
        }
    }
    return 0;
}

/// `columns` ascend, and only the last occurs twice: makes them distinct, below `bound`, by moving to the next.
void make_distinct(std::span<std::uint32_t> columns, std::uint32_t bound) {
    for (std::size_t k = 1; k < columns.size(); ++k) columns[k] = std::max(columns[k], columns[k - 1] + 1);
    for (std::size_t k = columns.size(); k-- > 0; --bound) columns[k] = std::min(columns[k], bound - 1);
}

/// Columns of one row, ascending and distinct; at most as many as exist.
class row_filler {
  public:
    row_filler(std::uint32_t columns, const column_pattern& pattern, std::uint64_t seed)
        : columns_(columns), pattern_(pattern), popular_(columns, seed) {
        while (std::uint64_t{side_} * side_ < columns) ++side_;
    }
    void operator()(std::uint32_t row, std::span<std::uint32_t> wanted, random_numbers& chance) const {
        switch (pattern_.kind) {
            case pattern_kind::band:
                return fill_band(row, wanted, chance);
            case pattern_kind::spread:
                return fill_strata(0, columns_, wanted, chance);
            case pattern_kind::planar:
                for (std::uint32_t& column : wanted) column = planar(row, wanted.size(), chance);
                break;
            case pattern_kind::far:
                for (std::uint32_t& column : wanted) column = far(row, chance);
                break;
            case pattern_kind::web:
                for (std::uint32_t& column : wanted)
                    column = chance.below(5) < 3 ? far(row, chance) : popular(chance);
                break;
        }
        std::ranges::sort(wanted);
        make_distinct(wanted, columns_);
    }

  private:
    /// One column in each of as many equal parts of [begin, end).
    static void fill_strata(std::uint64_t begin, std::uint64_t end, std::span<std::uint32_t> wanted,
                            random_numbers& chance) {
        const std::uint64_t size = end - begin, parts = wanted.size();
        for (std::uint64_t k = 0; k < parts; ++k) {
            const std::uint64_t first = size * k / parts, last = size * (k + 1) / parts;
            wanted[k] = static_cast<std::uint32_t>(begin + first + chance.below(last - first));
        }
    }
    /// Runs begin at multiples of their length, one in each of as many parts of the band; the last is truncated.
    void fill_band(std::uint32_t row, std::span<std::uint32_t> wanted, random_numbers& chance) const {
        const std::uint64_t run = pattern_.run, cells = columns_ / run,
                            runs = (wanted.size() + run - 1) / run;
        if (runs > cells) return fill_strata(0, columns_, wanted, chance);
        const std::uint64_t half = std::max<std::uint64_t>(pattern_.half_width / run, (runs + 1) / 2);
        const std::uint64_t middle = row / run;
        std::uint64_t begin = middle - std::min(middle, half), end = std::min(cells, middle + half + 1);
        if (end - begin < runs) (begin == 0 ? end : begin) = begin == 0 ? runs : end - runs;
        for (std::uint64_t k = 0; k < runs; ++k) {
            const std::uint64_t first = (end - begin) * k / runs, last = (end - begin) * (k + 1) / runs;
            const std::uint64_t cell = begin + first + chance.below(last - first);
            for (std::uint64_t i = k * run; i < std::min<std::uint64_t>((k + 1) * run, wanted.size()); ++i)
                wanted[i] = static_cast<std::uint32_t>(cell * run + i % run);
        }
    }
    std::uint32_t moved(std::uint32_t row, std::uint64_t distance, bool back) const {
        const std::uint64_t from = row + (back ? std::uint64_t{columns_} - distance % columns_ : distance);
        return static_cast<std::uint32_t>(from % columns_);
    }
    std::uint32_t planar(std::uint32_t row, std::size_t length, random_numbers& chance) const {
        const std::uint64_t line = chance.below(3), aside = chance.below(2 + length);
        return moved(moved(row, line == 0 ? 0 : side_, line == 1), aside, chance.below(2) == 0);
    }
    std::uint32_t far(std::uint32_t row, random_numbers& chance) const {
        const auto octaves = static_cast<std::uint64_t>(std::bit_width(columns_));
        const std::uint64_t octave = std::uint64_t{1} << chance.below(octaves);
        const bool back = chance.below(2) == 0;
        return moved(row, octave - 1 + chance.below(octave), back);
    }
    std::uint32_t popular(random_numbers& chance) const {
        const double u = chance.uniform(), skewed = u * u * u * u;
        return static_cast<std::uint32_t>(popular_(static_cast<std::uint64_t>(skewed * columns_)));
    }

    std::uint32_t columns_, side_ = 1;
    column_pattern pattern_;
    permutation popular_;
};

std::vector<std::uint64_t> offsets_of(const std::vector<std::uint32_t>& lengths) {
    std::vector<std::uint64_t> offsets{0};
    offsets.reserve(lengths.size() + 1);
    for (const std::uint32_t length : lengths) offsets.push_back(offsets.back() + length);
    return offsets;
}

/// Neighbours of a point, itself among them, as steps along x, y and z.
struct step {
    int x, y, z;
};
std::vector<step> steps_of(unsigned points) {
    const bool space = points == 7 || points == 27, corners = points == 9 || points == 27;
    if (!corners && points != 5 && points != 7)
        throw std::invalid_argument("a mesh has 5, 9, 7 or 27 points");
    std::vector<step> steps;
    for (int z = space ? -1 : 0; z <= (space ? 1 : 0); ++z)
        for (int y = -1; y <= 1; ++y)
            for (int x = -1; x <= 1; ++x)
                if (corners || x * x + y * y + z * z <= 1) steps.push_back({x, y, z});
    return steps;
}

/// The neighbours of a point within the mesh, ascending.
class mesh_points {
  public:
    explicit mesh_points(const mesh_options& wanted)
        : steps_(steps_of(wanted.points)),
          side_(wanted.side),
          layers_(steps_.front().z == 0 ? 1 : wanted.side) {}
    std::uint64_t count() const { return static_cast<std::uint64_t>(side_ * side_ * layers_); }
    void neighbours(std::uint64_t point, std::vector<std::uint64_t>& found) const {
        const auto number = static_cast<std::int64_t>(point);
        const std::int64_t x = number % side_, y = number / side_ % side_, z = number / (side_ * side_);
        found.clear();
        for (const step& to : steps_)
            if (x + to.x >= 0 && x + to.x < side_ && y + to.y >= 0 && y + to.y < side_ && z + to.z >= 0 &&
                z + to.z < layers_)
                found.push_back(
                    static_cast<std::uint64_t>(((z + to.z) * side_ + y + to.y) * side_ + x + to.x));
    }

  private:
    std::vector<step> steps_;
    std::int64_t side_, layers_;
};

matrix with_rows(const std::vector<std::uint32_t>& lengths) {
    matrix made;
    made.rows = made.columns = static_cast<std::uint32_t>(lengths.size());
    made.offsets = offsets_of(lengths);
    made.column.resize(made.offsets.back());
    made.value.resize(made.offsets.back());
    return made;
}

/// Calls fill(row, columns, values, chance) for every row.
template <class Fill>
void fill_rows(matrix& made, std::uint64_t seed, const Fill& fill) {
    tbb::parallel_for(row_range(0, made.rows), [&](const row_range& some) {
        for (std::uint32_t row = some.begin(); row < some.end(); ++row) {
            const std::uint64_t begin = made.offsets[row], size = made.offsets[row + 1] - begin;
            random_numbers chance = numbers_of(seed, row);
            fill(row, std::span(made.column).subspan(begin, size), std::span(made.value).subspan(begin, size),
                 chance);
        }
    });
}

}  // namespace

matrix make_matrix(const std::vector<std::uint32_t>& lengths, const column_pattern& pattern,
                   value_kind values, std::uint64_t seed) {
    matrix made = with_rows(lengths);
    if (!lengths.empty() && *std::ranges::max_element(lengths) > made.columns)
        throw std::invalid_argument("a row has more entries than the matrix has columns");
    const row_filler columns_of(made.columns, pattern, seed);
    fill_rows(made, seed, [&](std::uint32_t row, auto columns, auto row_values, random_numbers& chance) {
        columns_of(row, columns, chance);
        for (double& value : row_values) value = value_of(values, row_values.size(), chance);
    });
    return made;
}

matrix make_mesh(const mesh_options& wanted) {
    const mesh_points mesh(wanted);
    if (mesh.count() * wanted.unknowns >= 0xffffffff) throw std::invalid_argument("a mesh of 2^32 unknowns");
    std::vector<std::uint32_t> lengths;
    std::vector<std::uint64_t> found;
    for (std::uint64_t point = 0; point < mesh.count(); ++point) {
        mesh.neighbours(point, found);
        lengths.insert(lengths.end(), wanted.unknowns,
                       static_cast<std::uint32_t>(found.size()) * wanted.unknowns);
    }
    matrix made = with_rows(lengths);
    fill_rows(made, wanted.seed, [&](std::uint32_t row, auto columns, auto values, random_numbers& chance) {
        std::vector<std::uint64_t> near;
        mesh.neighbours(row / wanted.unknowns, near);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            columns[k] =
                static_cast<std::uint32_t>(near[k / wanted.unknowns] * wanted.unknowns + k % wanted.unknowns);
            values[k] = columns[k] == row ? 2.0 * wanted.points * wanted.unknowns : -0.5 - chance.uniform();
        }
    });
    return made;
}

matrix make_banded(std::uint32_t rows, std::uint32_t half_width, std::uint64_t seed) {
    std::vector<std::uint32_t> lengths(rows);
    for (std::uint32_t row = 0; row < rows; ++row)
        lengths[row] = std::min(row, half_width) + 1 + std::min(rows - 1 - row, half_width);
    matrix made = with_rows(lengths);
    fill_rows(made, seed, [&](std::uint32_t row, auto columns, auto values, random_numbers& chance) {
        for (std::uint32_t k = 0; k < columns.size(); ++k) {
            columns[k] = row - std::min(row, half_width) + k;
            values[k] = value_of(value_kind::signs, columns.size(), chance);
        }
    });
    return made;
}

matrix make_uniform_matrix(std::uint32_t rows, std::uint32_t each, std::uint64_t seed) {
    return make_matrix(std::vector<std::uint32_t>(rows, each), {}, value_kind::weight, seed);
}

matrix make_transition_matrix(const graph& from) {
    std::vector<std::uint32_t> in(from.nodes), out(from.nodes);
    for (const link& each : from.links) {
        ++in[each.to];
        ++out[each.from];
    }
    matrix made = with_rows(in);
    std::vector<std::uint64_t> next(made.offsets.begin(), made.offsets.end() - 1);
    for (const link& each : from.links) made.column[next[each.to]++] = each.from;
    fill_rows(made, 0, [&](std::uint32_t, auto columns, auto values, random_numbers&) {
        std::ranges::sort(columns);
        for (std::size_t k = 0; k < columns.size(); ++k) values[k] = 1.0 / out[columns[k]];
    });
    return made;
}

}  // namespace quern::generator

// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/space_writer.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "device/files/file_writer.hpp"
#include "io/files/npy.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {
namespace {

namespace layout = space_layout;

}  // namespace

template <class Value>
void space_writer::write(std::string_view name, std::span<const Value> values) {
    io::section_writer section(layout::file_of(folder_, name));
    section.append_values(values);
    end_section(name, section);
}

void space_writer::end_section(std::string_view name, io::section_writer& section) {
    const auto done = section.finish();
    sections_.push_back({std::string(name), done.file_bytes, done.checksum});
}

template <class Strings>
void space_writer::write_strings(std::string_view name, const Strings& strings) {
    io::string_column_writer column(layout::file_of(folder_, name), scratch_);
    for (const std::string& s : strings) column.append(s);
    const auto done = column.finish();
    sections_.push_back({std::string(name), done.file_bytes, done.checksum});
}

void space_writer::write_words(const chosen_words& words) {
    write_strings(layout::words, words.words);
    write(layout::frequencies, std::span<const std::uint64_t>(words.frequencies));
    std::vector<std::uint32_t> order(words.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::ranges::sort(order, {}, [&](std::uint32_t id) -> const std::string& { return words.words[id]; });
    write(layout::word_order, std::span<const std::uint32_t>(order));
}

void space_writer::write_relations(std::span<const std::string> names) {
    write_strings(layout::relations, names);
}

void space_writer::append_contexts(std::span<const std::uint32_t> columns, std::span<const float> weights) {
    if (!contexts_) {
        contexts_ = std::make_unique<io::section_writer>(layout::file_of(folder_, layout::contexts));
        weights_ = std::make_unique<io::section_writer>(layout::file_of(folder_, layout::context_weights));
    }
    contexts_->append_values(columns);
    weights_->append_values(weights);
    entries_ += columns.size();
}

void space_writer::end_contexts(const context_matrix& matrix) {
    append_contexts({}, {});  // creates empty sections, too
    write(layout::context_ends, std::span<const std::uint64_t>(matrix.offsets));
    end_section(layout::contexts, *contexts_);
    end_section(layout::context_weights, *weights_);
    contexts_.reset();
    weights_.reset();
    write(layout::context_counts, std::span<const std::uint64_t>(matrix.column_counts));
}

void space_writer::append_neighbours(std::span<const std::uint32_t> words, std::span<const double> scores) {
    if (!neighbours_) {
        neighbours_ = std::make_unique<io::section_writer>(layout::file_of(folder_, layout::neighbours));
        scores_ = std::make_unique<io::section_writer>(layout::file_of(folder_, layout::neighbour_scores));
    }
    neighbours_->append_values(words);
    scores_->append_values(scores);
}

void space_writer::end_neighbours(std::span<const std::uint64_t> offsets) {
    append_neighbours({}, {});  // creates empty sections, too
    write(layout::neighbour_ends, offsets);
    end_section(layout::neighbours, *neighbours_);
    end_section(layout::neighbour_scores, *scores_);
    neighbours_.reset();
    scores_.reset();
}

void space_writer::write_vectors(const word_vectors& vectors) {
    write(layout::vectors, std::span<const float>(vectors.values));
    write(layout::singular_values, std::span<const double>(vectors.singular_values));
}

void space_writer::write_similarities(std::uint32_t words, const std::function<void(const row_sink&)>& rows) {
    file_writer file(folder_ / layout::matrix_file);
    running_checksum checksum;
    const auto append = [&](std::string_view bytes) {
        checksum.add(bytes);
        file.append(bytes);
    };
    append(io::npy_header("<f8", words, words));
    rows([&](std::span<const double> row) {
        append({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
    });
    matrix_bytes_ = file.size();
    matrix_checksum_ = checksum.value();
    file.close();
}

std::uint64_t space_writer::bytes() const {
    std::uint64_t all = matrix_bytes_;
    for (const store_section& section : sections_) all += section.bytes;
    return all;
}

}  // namespace quern

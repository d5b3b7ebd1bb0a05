// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/parquet_rows.hpp"

#include <algorithm>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t rows_at_once = 1024;
constexpr std::uint64_t max_rows_of_a_unit = 65536;
/// The size of an entry of a list in a document, in addition to its bytes.
constexpr std::uint64_t bytes_an_entry = 32;

}  // namespace

bool parquet_cutter::lane::is_measured() {
    const parquet::page* const page = ahead_.current_page();
    if (ahead_.leaf().max_repetition != 0) return true;
    if (page == nullptr || ahead_.leaf().width != 0) return false;
    return page->has_keys() || page->header().encoded == parquet::encoding::delta_byte_array;
}

void parquet_cutter::lane::measure() {
    std::size_t count = 0, value = 0;
    try {
        count = ahead_.read(batch_, rows_at_once);
    } catch (const invalid_input&) {  // whoever reads the page reports it
        is_constant_ = true;
    } catch (const out_of_memory&) {
        is_constant_ = true;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const bool present =
            batch_.definition.empty() || batch_.definition[i] == ahead_.leaf().max_definition;
        rows_.push_back({present ? batch_.texts[value++].size() : 0, 1});
    }
}

void parquet_cutter::lane::measure_lists() {
    const std::size_t count = ahead_.read(batch_, rows_at_once);
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (batch_.repetition[i] == 0 && is_begun_) rows_.push_back(std::exchange(begun_, {}));
        is_begun_ = true;  // the first entry begins a row, whatever a damaged file says
        const bool present = batch_.definition[i] == ahead_.leaf().max_definition;
        begun_.bytes += bytes_an_entry;
        if (present)
            begun_.bytes += batch_.texts.empty() ? ahead_.leaf().width : batch_.texts[value++].size();
        ++begun_.entries;
    }
    at_end_ = count == 0;
    if (at_end_ && is_begun_) rows_.push_back(std::exchange(begun_, {}));
    if (at_end_) is_begun_ = false;
}

std::uint64_t parquet_cutter::lane::look(std::uint64_t max, std::uint64_t memory) {
    ahead_.limit_memory(memory);
    if (next_ == rows_.size()) {
        rows_.clear();
        next_ = 0;
        is_constant_ = !is_measured();
        if (!is_constant_ && ahead_.leaf().max_repetition == 0) measure();
        while (!is_constant_ && rows_.empty() && !at_end_) measure_lists();
        if (is_constant_) {
            const parquet::page_header& header = ahead_.current_page()->header();
            constant_ = 1 + header.plain_bytes / std::max<std::uint64_t>(1, header.values);
        }
    }
    if (is_constant_) return std::min(max, ahead_.left_in_page());
    if (rows_.empty()) throw invalid_input("", 0, "a column has fewer rows than its row group");
    return std::min<std::uint64_t>(max, rows_.size() - next_);
}

void parquet_cutter::lane::pass(std::uint64_t rows) {
    if (is_constant_) {
        ahead_.skip(rows);
        at_.skip(rows);
        return;
    }
    for (; rows != 0; --rows) at_.skip(rows_[next_++].entries);
}

parquet_cutter::parquet_cutter(std::shared_ptr<const parquet::parquet_file> file,
                               std::vector<std::size_t> leaves, const limits& limit)
    : file_(std::move(file)), leaves_(std::move(leaves)), limit_(limit) {}

bool parquet_cutter::begin_group() {
    const auto& groups = file_->metadata().groups;
    while (rows_left_ == 0) {
        if (group_ == groups.size()) return false;
        rows_left_ = groups[group_].rows;
        ++group_;
        row_ = 0;
        lanes_.clear();
    }
    return true;
}

void parquet_cutter::take_rows(parquet_rows& made, const context& ctx) {
    if (lanes_.empty()) {
        for (const std::size_t leaf : leaves_)
            lanes_.emplace_back(parquet::column_reader(file_, group_ - 1, leaf));
    }
    while (rows_left_ != 0 && made.count < max_rows_of_a_unit &&
           (made.count == 0 || made.bytes < limit_.unit_bytes)) {
        ctx.check_stop();
        std::uint64_t count = std::min(rows_left_, max_rows_of_a_unit - made.count), in_use = 0,
                      same = limit_.row_bytes;
        bool all_constant = true;
        for (lane& each : lanes_) {
            count = each.look(count, limit_.memory - std::min(in_use, limit_.memory));
            in_use += each.memory_bytes();
            all_constant &= each.is_constant();
            if (each.is_constant()) same += each.weight(0);
        }
        if (made.count == 0) {  // the readers stand at the first row, and know its pages
            made.columns.clear();
            for (const lane& each : lanes_) made.columns.push_back(each.reader());
        }
        std::uint64_t taken = 0;
        if (all_constant) {
            const std::uint64_t room = made.bytes < limit_.unit_bytes ? limit_.unit_bytes - made.bytes : 0;
            taken = std::clamp<std::uint64_t>((room + same - 1) / same, 1, count);
            made.bytes += taken * same;
        } else {
            count = std::min<std::uint64_t>(count, rows_at_once);
            while (taken < count && (made.count + taken == 0 || made.bytes < limit_.unit_bytes)) {
                made.bytes += same;
                for (const lane& each : lanes_)
                    if (!each.is_constant()) made.bytes += each.weight(taken);
                ++taken;
            }
        }
        for (lane& each : lanes_) each.pass(taken);
        made.count += taken;
        row_ += taken;
        rows_left_ -= taken;
        rows_done_ += taken;
    }
}

std::optional<parquet_rows> parquet_cutter::next(const context& ctx) {
    if (!begin_group()) return std::nullopt;
    parquet_rows result;
    result.group = group_ - 1;
    result.first = row_;
    const auto lose_rest = [&](std::string why) {
        result.damage = std::move(why);
        result.lost = std::exchange(rows_left_, 0);
        rows_done_ += result.lost;
    };
    try {
        take_rows(result, ctx);
    } catch (const invalid_input& why) {
        lose_rest(why.reason());
    } catch (const out_of_memory& why) {
        lose_rest(why.what());
    }
    return result;
}

}  // namespace quern::io

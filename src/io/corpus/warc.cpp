// SPDX-License-Identifier: Apache-2.0
// Cutting the file into units is serial, as the end of a record depends on the length in its header; records that hold no
// document are skipped without being held. Decoding and the text of pages are the work of the units.
#include "io/corpus/warc.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/corpus/record_reader.hpp"
#include "io/corpus/repeated_ids.hpp"
#include "io/corpus/warc_record.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// A unit under construction, and its contents.
struct warc_contents {
    byte_buffer bytes;
    std::vector<warc_item> items;
    std::vector<std::pair<std::size_t, input_issue>> issues;  ///< each before the item of this number
    reading_counts counts;
    std::uint64_t size = 0;  ///< of the bytes and what describes them

    void add(input_issue issue) { issues.emplace_back(items.size(), std::move(issue)); }
    /// Removes the item of a record, if it is the last.
    void drop(std::uint64_t number) {
        if (items.empty() || items.back().number != number) return;
        bytes.truncate(items.back().begin);
        items.pop_back();
        for (auto& [before, issue] : issues) before = std::min(before, items.size());
    }
    bool is_empty() const { return items.empty() && issues.empty() && counts.skipped.empty(); }
};

class warc_unit final : public corpus_unit, public warc_blocks {
  public:
    warc_unit(warc_contents contents, unit_position position, const corpus_options& options)
        : contents_(std::move(contents)), position_(std::move(position)), options_(options) {}

    bool parse_within(const reading_budget& budget, parsed_unit& out) override {
        position_.budget = budget;
        position_.limit = limit_of(options_, std::min(budget.bytes, options_.document_memory));
        parsed_unit made;
        made.counts = contents_.counts;
        std::size_t issue = 0;
        const auto note_up_to = [&](std::size_t item) {
            for (; issue < contents_.issues.size() && contents_.issues[issue].first <= item; ++issue)
                note(made, contents_.issues[issue].second);
        };
        try {
            for (std::size_t i = 0; i < contents_.items.size(); ++i) {
                note_up_to(i);
                const warc_item& item = contents_.items[i];
                parse_warc_item(item, contents_.bytes.bytes().substr(item.begin, item.size), position_,
                                options_.fields, made);
            }
        } catch (const out_of_memory&) {
            if (budget.is_last) throw;
            return false;
        }
        note_up_to(SIZE_MAX);
        position_.name.give(made.documents);
        made.counts.documents = made.documents.size();
        contents_ = {};
        out = std::move(made);
        return true;
    }
    std::uint64_t raw_bytes() const override { return contents_.size; }
    void each_block(
        const std::function<void(const warc_item&, std::string_view block)>& take) const override {
        for (const warc_item& item : contents_.items)
            take(item, contents_.bytes.bytes().substr(item.begin, item.size));
    }

  private:
    warc_contents contents_;
    unit_position position_;
    corpus_options options_;
};

/// The decompressed bytes ahead of the reader. Damage that can be passed is a gap: nothing is read beyond it until
/// cross() is called.
class warc_window {
  public:
    warc_window(std::unique_ptr<byte_source> source, const context& ctx)
        : source_(std::move(source)), ctx_(ctx) {}

    /// Makes `count` bytes visible; fewer before a gap or the end.
    std::string_view see(std::size_t count) {
        while (end_ - at_ < count && !at_end_ && !gap_) fill(count);
        return std::string_view(bytes_).substr(at_, end_ - at_);
    }
    void take(std::size_t count) { at_ += count; }
    /// Appends up to `length` of the next bytes to `out`, in steps, as the length may be wrong; returns the number.
    std::uint64_t take_into(byte_buffer& out, std::uint64_t length) {
        std::uint64_t taken = 0;
        while (taken < length) {
            const std::string_view seen = see(1);
            if (seen.empty()) break;
            const std::size_t step = std::min<std::uint64_t>(seen.size(), length - taken);
            if (step > out.budget().size())
                out.reserve(std::max<std::size_t>(out.size() + step, 2 * out.size()));
            std::memcpy(out.budget().data(), seen.data(), step);
            out.grew(step);
            take(step);
            taken += step;
        }
        return taken;
    }
    std::uint64_t skip(std::uint64_t length) {
        std::uint64_t taken = 0;
        while (taken < length) {
            const std::size_t step = std::min<std::uint64_t>(see(1).size(), length - taken);
            if (step == 0) break;
            take(step);
            taken += step;
        }
        return taken;
    }

    std::uint64_t offset() const { return base_ + at_; }  ///< of the next byte, in the decompressed bytes
    /// The last bytes taken, up to `count`.
    std::string_view before(std::size_t count) const {
        const std::size_t held = std::min(count, at_);
        return std::string_view(bytes_).substr(at_ - held, held);
    }
    /// Whether the visible bytes end at a gap.
    bool at_gap() const { return gap_.has_value(); }
    /// Damage of compressed data after which reading can go on.
    struct gap {
        std::string reason;
        std::uint64_t begun = 0;  ///< the first of the decompressed bytes that may be wrong
    };
    /// Goes on after the gap.
    gap cross() {
        base_ += end_;
        at_ = end_ = 0;
        return *std::exchange(gap_, std::nullopt);
    }
    /// The damage after which nothing can be read.
    const std::optional<std::string>& damage() const { return damage_; }
    const byte_source& source() const { return *source_; }

  private:
    static constexpr std::size_t piece_bytes = 256 << 10, look_back = 4;

    void fill(std::size_t count) {
        ctx_.check_stop();
        if (at_ > look_back) {
            const std::size_t dropped = at_ - look_back;
            std::memmove(bytes_.data(), bytes_.data() + dropped, end_ - dropped);
            base_ += dropped;
            end_ -= dropped;
            at_ = look_back;
        }
        const std::size_t needed = std::max(end_ + piece_bytes, at_ + count);
        if (bytes_.size() < needed) bytes_.resize(needed);
        try {
            const std::size_t bytes_read = source_->read(std::span(bytes_).subspan(end_));
            at_end_ = bytes_read == 0;
            end_ += bytes_read;
        } catch (const invalid_input& failed) {
            const auto next = source_->resume();
            if (next) {
                gap_ = {what_happened(failed.reason()) + "; reading goes on at byte " +
                            std::to_string(next->offset),
                        next->begun};
            } else {
                damage_ = failed.reason();
                at_end_ = true;
            }
        }
    }
    /// Without "; the rest is not read".
    static std::string what_happened(const std::string& reason) {
        return reason.substr(0, reason.rfind("; "));
    }

    std::unique_ptr<byte_source> source_;
    context ctx_;
    std::string bytes_;
    std::size_t at_ = 0, end_ = 0;  ///< of what was read and not taken, in bytes_
    std::uint64_t base_ = 0;        ///< of bytes_, in the decompressed bytes
    bool at_end_ = false;
    std::optional<gap> gap_;
    std::optional<std::string> damage_;
};

class warc_reader final : public corpus_reader {
  public:
    warc_reader(std::unique_ptr<byte_source> source, const corpus_options& options, const context& ctx)
        : window_(std::move(source), ctx), options_(options) {
        position_.path = window_.source().name();
        position_.name = options.name;
        position_.limit = limit_of(options, options.document_memory);
    }

    std::unique_ptr<corpus_unit> next() override {
        while (!done_) {
            warc_contents unit;
            unit.bytes = usual_buffer();
            const std::uint64_t first = window_.offset();
            constexpr std::uint64_t skipped_a_unit = 64 << 20;  // so that a stop is noticed between units
            while (!done_ && unit.size < options_.unit_bytes && window_.offset() - first < skipped_a_unit)
                done_ = !read_record(unit);
            if (done_) buffers_.reset();
            if (!unit.is_empty()) return std::make_unique<warc_unit>(std::move(unit), position_, options_);
        }
        return nullptr;
    }
    std::uint64_t consumed_bytes() const override { return window_.source().consumed(); }
    std::uint64_t total_bytes() const override { return window_.source().size(); }

  private:
    static constexpr std::size_t max_header_bytes = 1 << 20;
    static constexpr std::string_view magic = "WARC/";

    /// With room for a unit and its last record; not for the first unit, which may be that of a small file.
    byte_buffer usual_buffer() {
        constexpr std::uint64_t max_bytes = 8 << 20;
        byte_buffer result(buffers_);
        const std::uint64_t bytes = std::min(options_.unit_bytes, max_bytes);
        if (buffers_) result.reserve(bytes + bytes / 8);
        if (!buffers_) buffers_ = std::make_shared<buffer_pool>();
        return result;
    }

    /// One record, or a part of the file that is none. False at the end.
    bool read_record(warc_contents& unit) {
        skip_line_ends();
        if (window_.see(1).empty()) {
            if (!window_.at_gap()) return finish(unit);
            return pass_gap(unit, window_.offset() - 1, false);
        }
        ++number_;
        const std::uint64_t begin = window_.offset();
        if (!window_.see(magic.size()).starts_with(magic)) return lose(unit, begin, "no header of a record");
        std::size_t head = 0;
        std::string_view seen;
        for (std::size_t look = 4 << 10; head == 0; look *= 2) {
            seen = window_.see(std::min(look, max_header_bytes));
            head = header_block_end(seen.substr(0, max_header_bytes));
            if (head != 0) break;
            if (seen.size() >= max_header_bytes) return lose(unit, begin, "a header without an end");
            if (seen.size() < look) return cut(unit, begin, {});
        }
        const header_fields fields(seen.substr(seen.find('\n') + 1, head - seen.find('\n') - 1));
        auto header = warc_header::of(fields);
        if (!header) return lose(unit, begin, "a header without a valid Content-Length");
        window_.take(head);
        return read_block(unit, begin, std::move(*header));
    }

    bool read_block(warc_contents& unit, std::uint64_t begin, warc_header header) {
        const std::uint64_t length = header.length;
        const std::string_view seen = window_.see(std::min<std::uint64_t>(length, http_head_bytes));
        const std::string reason = skipped_record(
            header, seen.substr(0, std::min<std::uint64_t>({length, seen.size(), http_head_bytes})));
        if (!reason.empty()) {
            if (window_.skip(length) < length) return cut(unit, begin, {});
            ++unit.counts.skipped[reason];
            return end_record(unit, begin);
        }
        const bool has_id = !header.uri.empty();
        const bool fits = length <= position_.limit.bytes;
        if (!has_id || !fits) {
            unit.add({position_.path, number_, has_id ? position_.limit.reason(length) : "no WARC-Target-URI",
                      true});
            if (window_.skip(length) < length) return cut(unit, begin, {}, true);
            return end_record(unit, begin);
        }
        warc_item item;
        item.number = number_;
        item.id = ids_.settle(header.uri);
        item.header = std::move(header);
        item.begin = unit.bytes.size();
        item.size = window_.take_into(unit.bytes, length);
        const bool whole = item.size == length;
        unit.size += item.size + sizeof item + 3 * item.id.size();
        if (!whole) return cut(unit, begin, std::move(item));
        unit.items.push_back(std::move(item));
        return end_record(unit, begin);
    }

    /// After a block: what follows must be another record, or the end.
    bool end_record(warc_contents& unit, std::uint64_t begin) {
        skip_line_ends();
        const std::string_view seen = window_.see(magic.size());
        if (seen.empty() && window_.at_gap()) return pass_gap(unit, begin, false);
        return seen.starts_with(magic) || seen.empty() || lose(unit, begin, "its length is wrong");
    }

    /// The data end, or have a gap, within the record. What there is of a page is kept if the file ends in it.
    bool cut(warc_contents& unit, std::uint64_t begin, std::optional<warc_item> item, bool reported = false) {
        window_.skip(UINT64_MAX);
        if (window_.at_gap()) return pass_gap(unit, begin, reported);
        if (item) unit.items.push_back(std::move(*item));
        std::string why = "truncated: the data end within the record at byte " + std::to_string(begin);
        if (window_.damage()) why = *window_.damage();
        unit.add({position_.path, number_, std::move(why), false, true, true});
        return false;
    }

    /// At a gap, after the record that begins at `begin`: rejects it if it is of the damaged part. `reported`: it has been
    /// rejected.
    bool pass_gap(warc_contents& unit, std::uint64_t begin, bool reported) {
        warc_window::gap gap = window_.cross();
        const bool is_damaged = begin >= gap.begun;
        if (is_damaged) unit.drop(number_);
        if (!reported) unit.add({position_.path, number_, std::move(gap.reason), is_damaged, !is_damaged});
        find_record(window_.see(magic.size()).starts_with(magic));
        return true;
    }

    /// Rejects what begins at `begin` and searches the next record.
    bool lose(warc_contents& unit, std::uint64_t begin, std::string_view why) {
        std::string reason =
            std::string(why) + ", at byte " + std::to_string(begin) + " of the decompressed data";
        if (const auto gap = find_record(false)) {
            if (begin >= gap->begun) unit.drop(number_);
            reason = gap->reason;
        }
        const bool at_end = window_.see(1).empty();
        reason += at_end ? "; no further record follows"
                         : "; the next record is at byte " + std::to_string(window_.offset());
        unit.add({position_.path, number_, std::move(reason), true, false, at_end});
        return true;
    }

    /// Moves to the next header after an empty line, or at the beginning of a part that can be read by itself; else to
    /// the end. Returns the first gap on the way.
    std::optional<warc_window::gap> find_record(bool at_record) {
        std::optional<warc_window::gap> first;
        while (!at_record) {
            const std::string_view seen = window_.see(magic.size() + 1);
            if (seen.size() <= magic.size()) {
                window_.take(seen.size());
                if (!window_.at_gap()) break;
                warc_window::gap gap = window_.cross();
                if (!first) first = std::move(gap);
                at_record = window_.see(magic.size()).starts_with(magic);
                continue;
            }
            const std::size_t found = seen.find(magic, 1);
            // The mark may be split by the end of what is seen.
            window_.take(found != std::string_view::npos ? found : seen.size() - magic.size());
            if (found == std::string_view::npos) continue;
            const std::string_view before = window_.before(3);
            at_record = before.ends_with("\n\n") || before.ends_with("\n\r\n");
        }
        return first;
    }

    void skip_line_ends() {
        for (auto seen = window_.see(4); !seen.empty(); seen = window_.see(1)) {
            const std::size_t text = seen.find_first_not_of("\r\n");
            window_.take(std::min(text, seen.size()));
            if (text != std::string_view::npos) return;
        }
    }

    bool finish(warc_contents& unit) {
        if (window_.damage()) unit.add({position_.path, number_, *window_.damage(), false, true, true});
        return false;
    }

    warc_window window_;
    corpus_options options_;
    unit_position position_;
    repeated_ids ids_;
    std::shared_ptr<buffer_pool> buffers_;  ///< of units
    std::uint64_t number_ = 0;
    bool done_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_warc(std::unique_ptr<byte_source> source, const corpus_options& options,
                                         const context& ctx) {
    return std::make_unique<warc_reader>(std::move(source), options, ctx);
}

}  // namespace quern::io

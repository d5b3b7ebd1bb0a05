// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/record_reader.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/repeated_ids.hpp"
#include "io/lines/line_ends.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

class record_unit final : public corpus_unit {
  public:
    record_unit(byte_buffer bytes, unit_position position, std::shared_ptr<const record_form> form,
                std::vector<input_issue> before, std::vector<input_issue> after,
                std::shared_ptr<buffer_pool> lists)
        : bytes_(std::move(bytes)),
          position_(std::move(position)),
          form_(std::move(form)),
          before_(std::move(before)),
          after_(std::move(after)),
          lists_(std::move(lists)) {}

    bool parse_within(const reading_budget& budget, parsed_unit& out) override {
        position_.budget = budget;
        parsed_unit made;
        made.documents = document_list(list_allocator(lists_));
        for (const input_issue& issue : before_) note(made, issue);
        try {
            if (bytes_.size() != 0) form_->parse(bytes_.bytes(), position_, made);
            position_.name.give(made.documents);
        } catch (const out_of_memory&) {
            if (budget.is_last) throw;
            return false;
        }
        for (const input_issue& issue : after_) note(made, issue);
        made.counts.documents += made.documents.size();
        bytes_ = {};
        out = std::move(made);
        return true;
    }
    std::uint64_t raw_bytes() const override { return bytes_.size(); }

  private:
    byte_buffer bytes_;
    unit_position position_;
    std::shared_ptr<const record_form> form_;
    std::vector<input_issue> before_, after_;
    std::shared_ptr<buffer_pool> lists_;
};

class record_reader final : public corpus_reader {
  public:
    record_reader(std::unique_ptr<byte_source> source, std::shared_ptr<const record_form> form,
                  const corpus_options& options, const context& ctx, std::uint64_t* first_record)
        : source_(std::move(source)),
          form_(std::move(form)),
          unit_bytes_(std::max<std::uint64_t>(1, options.unit_bytes)),
          ctx_(ctx),
          counter_(first_record),
          lists_(options.lists) {
        position_.path = source_->name();
        position_.name = options.name;
        position_.limit = limit_of(options, options.document_memory);
        position_.keep_records = options.keep_records;
    }

    std::unique_ptr<corpus_unit> next() override {
        ctx_.check_stop();
        if (done_) return nullptr;
        std::vector<input_issue> before;
        // The first read is long enough to hold a byte-order mark.
        const std::size_t usual = std::max<std::size_t>(3, unit_bytes_);
        byte_buffer bytes(rest_.size() <= usual ? buffers_ : nullptr);
        if (!buffers_) buffers_ = std::make_shared<buffer_pool>();
        bytes.reserve(std::max(usual, rest_.size()));
        bytes.append(rest_.bytes());
        rest_ = {};
        std::size_t end = 0;
        // The mark of the end may follow the record; parsing rejects what is just beyond the limit.
        const std::uint64_t most = position_.limit.bytes + form_->end_mark_bytes();
        for (std::size_t look = usual;;) {  // how far to search for an end
            fill(bytes, look);
            const std::string_view seen = bytes.bytes().substr(0, look);
            const bool all = at_end_ && seen.size() == bytes.size();
            // A record that is larger than a unit makes one by itself.
            end = all ? seen.size() : look == usual ? form_->last_end(seen) : form_->first_end(seen);
            if (end != 0 || all) break;
            if (look > most) {
                const std::uint64_t line = position_.first_line, size = skip_record(bytes);
                before.push_back({position_.path, line, position_.limit.reason(size), true});
                look = usual;
            } else {
                look = std::min<std::uint64_t>(std::max<std::uint64_t>(2 * look, 64), most + 1);
            }
        }
        if (form_->may_be_short()) end = end_of_some(bytes.bytes().substr(0, end));
        rest_.append(bytes.bytes().substr(end));
        bytes.truncate(end);
        return finish(std::move(bytes), std::move(before));
    }

    std::uint64_t consumed_bytes() const override { return source_->consumed(); }
    std::uint64_t total_bytes() const override { return source_->size(); }

  private:
    /// The end of the first records, as many as a unit may have.
    std::size_t end_of_some(std::string_view records) const {
        constexpr std::size_t bytes_a_record = 64;
        const std::size_t most = unit_bytes_ / bytes_a_record + 1;
        if (count_line_ends(records) <= most) return records.size();
        std::size_t end = 0;
        for (std::size_t i = 0; i < most && end < records.size(); ++i) {
            const std::size_t size = form_->first_end(records.substr(end));
            end = size == 0 ? records.size() : end + size;
        }
        return end;
    }

    void fill(byte_buffer& bytes, std::size_t target) {
        bytes.reserve(target);
        while (!at_end_ && bytes.size() < target) {
            try {
                const auto budget = bytes.budget();
                const std::size_t got = source_->read(budget);
                bytes.grew(got);
                at_end_ = got == 0;
            } catch (const invalid_input& damage) {
                at_end_ = true;
                damage_ = damage.reason();
            }
        }
        if (!started_) drop_byte_order_mark(bytes);
    }

    void drop_byte_order_mark(byte_buffer& bytes) {
        started_ = true;
        if (!bytes.bytes().starts_with("\xEF\xBB\xBF")) return;
        byte_buffer without;
        without.append(bytes.bytes().substr(3));
        bytes = std::move(without);
    }

    /// Drops a record that is too large: the buffered bytes, and the rest up to its end. Returns its size.
    std::uint64_t skip_record(byte_buffer& bytes) {
        const std::unique_ptr<record_skipper> skipper = form_->skipper();
        const std::size_t overlap = skipper ? 0 : form_->end_mark_bytes() - 1;
        std::size_t end = 0;
        std::uint64_t dropped = 0;
        while (true) {
            ctx_.check_stop();
            end = skipper ? skipper->end_in(bytes.bytes()) : form_->end_within(bytes.bytes());
            if (end != 0) break;
            if (at_end_) {
                end = bytes.size();
                break;
            }
            const std::size_t keep = std::min(overlap, bytes.size());
            const std::string tail(bytes.bytes().substr(bytes.size() - keep));
            count_lines(bytes.bytes().substr(0, bytes.size() - keep));
            dropped += bytes.size() - keep;
            bytes.truncate(0);
            bytes.append(tail);
            fill(bytes, keep + std::max<std::size_t>(unit_bytes_, 64 << 10));
        }
        count_lines(bytes.bytes().substr(0, end));
        if (counter_ != nullptr) ++*counter_;
        byte_buffer after;
        after.append(bytes.bytes().substr(end));
        bytes = std::move(after);
        return dropped + end;
    }

    void count_lines(std::string_view bytes) {
        constexpr std::size_t part_bytes = std::size_t{1} << 20;
        if (bytes.size() < 2 * part_bytes) {
            position_.first_line += count_line_ends(bytes);
            return;
        }
        cpu_place place(ctx_);
        std::atomic<std::uint64_t> ends = 0;
        const std::size_t parts = pieces_for(place, bytes.size(), part_bytes);
        for_each_piece(place, parts, [&](std::size_t p) {
            const item_range mine = piece_of(bytes.size(), parts, p);
            ends += count_line_ends(bytes.substr(mine.begin, mine.end - mine.begin));
        });
        position_.first_line += ends;
    }

    std::unique_ptr<corpus_unit> finish(byte_buffer bytes, std::vector<input_issue> before) {
        unit_position position = position_;
        count_lines(bytes.bytes());
        if (counter_ != nullptr) {
            position.first_record = *counter_;
            *counter_ += form_->count(bytes.bytes());
        }
        if (form_->may_repeat_ids()) {
            position.ids = form_->ids(bytes.bytes(), position.limit);
            for (std::string& id : position.ids) {
                if (!id.empty()) id = ids_.settle(std::move(id));
            }
        }
        std::vector<input_issue> after;
        if (at_end_ && rest_.size() == 0) {
            done_ = true;
            buffers_.reset();
            if (damage_) after.push_back({position_.path, position_.first_line, *damage_, false, true, true});
            if (bytes.size() == 0 && before.empty() && after.empty()) return nullptr;
        }
        bytes.reserve(1);
        bytes.seal();
        return std::make_unique<record_unit>(std::move(bytes), std::move(position), form_, std::move(before),
                                             std::move(after), lists_);
    }

    std::unique_ptr<byte_source> source_;
    std::shared_ptr<const record_form> form_;
    std::size_t unit_bytes_;
    context ctx_;
    std::uint64_t* counter_;
    repeated_ids ids_;
    unit_position position_;
    byte_buffer rest_;
    std::shared_ptr<buffer_pool> buffers_;  ///< of units; null for the first one, which may be a small file
    std::shared_ptr<buffer_pool> lists_;
    bool at_end_ = false;
    bool started_ = false;
    bool done_ = false;
    std::optional<std::string> damage_;
};

}  // namespace

std::string unit_position::id_of_line(std::uint64_t line) const {
    const std::string number = ':' + std::to_string(line);
    const std::size_t begin = std::min<std::size_t>(name.name_at, path.size());
    std::string id;
    id.reserve(path.size() - begin + number.size());
    id.append(path, begin);
    repair_utf8(id);
    return id += number;
}

document& begin_document(parsed_unit& out, std::string_view path, std::uint64_t line) {
    document& begun = out.documents.emplace_back();
    begun.path = path;
    begun.line = line;
    return begun;
}

void keep(parsed_unit& out, document made, std::string_view path, std::uint64_t line) {
    made.path = path;
    made.line = line;
    out.documents.push_back(std::move(made));
}

void note(parsed_unit& out, input_issue issue) {
    ++(issue.rejected ? out.counts.rejected : out.counts.damaged);
    if (issue.truncated) ++out.counts.truncated;
    if (issue.incomplete) ++out.counts.incomplete;
    out.issues.push_back(std::move(issue));
}

void reject(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), true, false});
}

void repair(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), false, false});
}

void truncate(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), false, true});
}

void reject_or_put_off(parsed_unit& out, const unit_position& position, std::uint64_t line,
                       const out_of_memory& why) {
    if (!position.budget.is_last) throw out_of_memory(why);
    reject(out, position.path, line, why.what());
}

std::string document_limit::reason(std::uint64_t document) const {
    if (!is_of_memory || document > max_bytes)
        return "larger than the limit of " + std::to_string(is_of_memory ? max_bytes : bytes) +
               " bytes a document";
    std::string why = "larger than the " + std::to_string(bytes) + " bytes a document that the memory allows";
    if (document != 0 && budget_a_byte != 0) {
        const double mib = static_cast<double>(document) * budget_a_byte / (1 << 20);
        why += "; --memory " + std::to_string(static_cast<std::uint64_t>(mib) + 1) + "M is enough to read it";
    }
    return why;
}

document_limit limit_of(const corpus_options& options, std::uint64_t memory, std::uint64_t factor) {
    const std::uint64_t max = std::min<std::uint64_t>(options.max_document_bytes, UINT64_MAX / 2);
    if (memory / factor >= max) return {max, false, max, 0};
    return {memory / factor, true, max, static_cast<double>(factor) * options.budget_for_a_byte};
}

void add_link(std::vector<std::string>& links, std::string target, const reading_budget& budget) {
    // While the list grows there are two copies, the second with double the capacity.
    constexpr std::uint64_t bytes_a_link = 3 * sizeof(std::string);
    if (links.size() == links.capacity())
        require_budget(budget, bytes_a_link * links.size(), "the links of a document");
    links.push_back(std::move(target));
}

void require_budget(const reading_budget& budget, std::uint64_t bytes, std::string_view what_for) {
    if (bytes > budget.bytes) throw out_of_memory(what_for, bytes, budget.bytes);
}

std::unique_ptr<corpus_reader> read_records(std::unique_ptr<byte_source> source,
                                            std::shared_ptr<const record_form> form,
                                            const corpus_options& options, const context& ctx,
                                            std::uint64_t* first_record) {
    return std::make_unique<record_reader>(std::move(source), std::move(form), options, ctx, first_record);
}

void line_form::parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const {
    // A list that grows would be copied, to pages that the system clears first: half of the time if lines are short.
    constexpr std::uint64_t bytes_a_line = 32;
    out.documents.reserve(std::min<std::uint64_t>(count_line_ends(bytes), bytes.size() / bytes_a_line) + 1);
    std::uint64_t number = position.first_line;
    for (std::size_t at = 0; at < bytes.size(); ++number) {
        const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
        std::string_view line = bytes.substr(at, end - at);
        const std::string_view record = bytes.substr(at, end + 1 - at);
        at = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) {
            pass_over(out);
            continue;
        }
        if (record.size() > position.limit.bytes) {
            reject(out, position.path, number, position.limit.reason(record.size()));
        } else {
            const std::size_t before = out.documents.size();
            parse_line(line, position, number, out);
            if (position.keep_records && out.documents.size() > before) out.documents.back().record = record;
        }
    }
}

}  // namespace quern::io

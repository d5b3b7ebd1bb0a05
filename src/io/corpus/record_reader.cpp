// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/record_reader.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Bytes with room for more, not cleared when it grows.
class byte_buffer {
  public:
    std::string_view bytes() const { return {data_.get(), size_}; }
    std::size_t size() const { return size_; }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        auto larger = std::make_unique_for_overwrite<char[]>(capacity + unit_padding);
        if (size_ != 0) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }
    void append(std::string_view more) {
        reserve(size_ + more.size());
        if (!more.empty()) std::memcpy(data_.get() + size_, more.data(), more.size());
        size_ += more.size();
    }
    std::span<char> room() { return {data_.get() + size_, capacity_ - size_}; }
    void grew(std::size_t by) { size_ += by; }
    void truncate(std::size_t size) { size_ = size; }
    /// The padding is read but never matters; clearing it keeps memory checkers quiet.
    void seal() { std::memset(data_.get() + size_, 0, unit_padding); }

  private:
    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

class record_unit final : public corpus_unit {
  public:
    record_unit(byte_buffer bytes, unit_place place, std::shared_ptr<const record_form> form,
                std::vector<input_issue> before, std::vector<input_issue> after)
        : bytes_(std::move(bytes)),
          place_(std::move(place)),
          form_(std::move(form)),
          before_(std::move(before)),
          after_(std::move(after)) {}

    parsed_unit parse() override {
        parsed_unit out;
        for (input_issue& issue : before_) note(out, std::move(issue));
        if (bytes_.size() != 0) form_->parse(bytes_.bytes(), place_, out);
        for (input_issue& issue : after_) note(out, std::move(issue));
        out.counts.documents += out.documents.size();
        bytes_ = {};
        return out;
    }
    std::uint64_t raw_bytes() const override { return bytes_.size(); }

  private:
    byte_buffer bytes_;
    unit_place place_;
    std::shared_ptr<const record_form> form_;
    std::vector<input_issue> before_, after_;
};

class record_reader final : public corpus_reader {
  public:
    record_reader(std::unique_ptr<byte_source> source, std::shared_ptr<const record_form> form,
                  const corpus_options& options, const context& run, std::uint64_t* first_record)
        : source_(std::move(source)),
          form_(std::move(form)),
          unit_bytes_(std::max<std::uint64_t>(1, options.unit_bytes)),
          run_(run),
          counter_(first_record) {
        place_.path = source_->name();
        place_.max_document_bytes = std::min<std::uint64_t>(options.max_document_bytes, UINT64_MAX / 2);
        place_.keep_records = options.keep_records;
    }

    std::unique_ptr<corpus_unit> next() override {
        run_.check_stop();
        if (done_) return nullptr;
        std::vector<input_issue> before;
        byte_buffer bytes;
        bytes.append(rest_.bytes());
        rest_ = {};
        std::size_t end = 0;
        // The first read is long enough to hold a byte-order mark.
        std::size_t target = std::max<std::size_t>({3, unit_bytes_, 2 * bytes.size()});
        while (true) {
            fill(bytes, target);
            end = at_end_ ? bytes.size() : form_->last_end(bytes.bytes());
            if (end != 0 || at_end_) break;
            if (bytes.size() > place_.max_document_bytes) {
                before.push_back(
                    {place_.path, place_.first_line, oversize_reason(place_.max_document_bytes), true});
                skip_record(bytes);
                target = std::max<std::size_t>(unit_bytes_, 2 * bytes.size());
            } else {
                target = std::min<std::uint64_t>(std::max<std::uint64_t>(2 * bytes.size(), 64),
                                                 place_.max_document_bytes + 1);
            }
        }
        rest_.append(bytes.bytes().substr(end));
        bytes.truncate(end);
        return finish(std::move(bytes), std::move(before));
    }

    std::uint64_t consumed_bytes() const override { return source_->consumed(); }
    std::uint64_t total_bytes() const override { return source_->size(); }

  private:
    void fill(byte_buffer& bytes, std::size_t target) {
        bytes.reserve(target);
        while (!at_end_ && bytes.size() < target) {
            try {
                const auto room = bytes.room();
                const std::size_t got = source_->read(room);
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

    /// Drops a record that is too large: the bytes in hand, and what follows up to its end.
    void skip_record(byte_buffer& bytes) {
        const std::size_t overlap = form_->end_mark_bytes() - 1;
        std::size_t end = 0;
        while (true) {
            run_.check_stop();
            const std::size_t keep = std::min(overlap, bytes.size());
            const std::string tail(bytes.bytes().substr(bytes.size() - keep));
            count_lines(bytes.bytes().substr(0, bytes.size() - keep));
            bytes.truncate(0);
            bytes.append(tail);
            fill(bytes, keep + std::max<std::size_t>(unit_bytes_, 64 << 10));
            end = form_->end_within(bytes.bytes());
            if (end != 0) break;
            if (at_end_) {
                end = bytes.size();
                break;
            }
        }
        count_lines(bytes.bytes().substr(0, end));
        if (counter_ != nullptr) ++*counter_;
        byte_buffer after;
        after.append(bytes.bytes().substr(end));
        bytes = std::move(after);
    }

    void count_lines(std::string_view bytes) {
        place_.first_line += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    }

    std::unique_ptr<corpus_unit> finish(byte_buffer bytes, std::vector<input_issue> before) {
        unit_place place = place_;
        count_lines(bytes.bytes());
        if (counter_ != nullptr) {
            place.first_record = *counter_;
            *counter_ += form_->count(bytes.bytes());
        }
        std::vector<input_issue> after;
        if (at_end_ && rest_.size() == 0) {
            done_ = true;
            if (damage_) after.push_back({place_.path, place_.first_line, *damage_, false, true, true});
            if (bytes.size() == 0 && before.empty() && after.empty()) return nullptr;
        }
        bytes.reserve(1);
        bytes.seal();
        return std::make_unique<record_unit>(std::move(bytes), std::move(place), form_, std::move(before),
                                             std::move(after));
    }

    std::unique_ptr<byte_source> source_;
    std::shared_ptr<const record_form> form_;
    std::size_t unit_bytes_;
    context run_;
    std::uint64_t* counter_;
    unit_place place_;
    byte_buffer rest_;
    bool at_end_ = false;
    bool started_ = false;
    bool done_ = false;
    std::optional<std::string> damage_;
};

}  // namespace

void keep(parsed_unit& out, document made, std::string_view path, std::uint64_t line) {
    made.path = path;
    made.line = line;
    out.documents.push_back(std::move(made));
}

void note(parsed_unit& out, input_issue issue) {
    ++(issue.rejected ? out.counts.rejected : out.counts.damaged);
    if (issue.cut) ++out.counts.cut;
    if (issue.incomplete) ++out.counts.incomplete;
    out.issues.push_back(std::move(issue));
}

void reject(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), true, false});
}

void mend(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), false, false});
}

void cut(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason) {
    note(out, {std::string(path), line, std::move(reason), false, true});
}

std::string oversize_reason(std::uint64_t limit) {
    return "larger than the limit of " + std::to_string(limit) + " bytes a document";
}

std::unique_ptr<corpus_reader> read_records(std::unique_ptr<byte_source> source,
                                            std::shared_ptr<const record_form> form,
                                            const corpus_options& options, const context& run,
                                            std::uint64_t* first_record) {
    return std::make_unique<record_reader>(std::move(source), std::move(form), options, run, first_record);
}

}  // namespace quern::io

// SPDX-License-Identifier: Apache-2.0
// Messages of an mbox, or a file that is one message. In an mbox a line "From …" with a time, after an empty line, begins
// a message; Content-Length is not used, as it is often wrong.
#include <algorithm>

#include "io/corpus/encoding.hpp"
#include "io/corpus/mail.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

class mail final : public record_form {
  public:
    mail(bool is_mbox, document_fields kept) : is_mbox_(is_mbox), kept_(std::move(kept)) {}

    std::size_t last_end(std::string_view bytes) const override {
        for (std::size_t at = bytes.rfind(mark); is_mbox_ && at != std::string_view::npos && at != 0;
             at = bytes.rfind(mark, at - 1)) {
            if (begins_at(bytes, at + 1)) return at + 1;
        }
        return 0;
    }
    std::size_t end_within(std::string_view bytes) const override {
        for (std::size_t at = is_mbox_ ? bytes.find(mark) : std::string_view::npos;
             at != std::string_view::npos; at = bytes.find(mark, at + 1)) {
            if (begins_at(bytes, at + 1)) return at + 1;
        }
        return 0;
    }
    std::size_t end_mark_bytes() const override { return longest_from_line + 8; }

    bool may_repeat_ids() const override { return true; }
    std::vector<std::string> ids(std::string_view bytes, const document_limit& limit) const override {
        std::vector<std::string> out;
        for_each(bytes, [&](std::string_view record) {
            const std::string_view message = without_from(record);
            const bool fits = record.size() <= limit.bytes;
            const std::size_t head = fits ? header_block_end(message) : 0;
            out.push_back(
                fits ? message_id(header_fields(message.substr(0, head == 0 ? message.size() : head)))
                     : std::string());
        });
        return out;
    }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t line = position.first_line;
        std::size_t number = 0;
        for_each(bytes, [&](std::string_view record) {
            parse_record(record, position.ids[number++], position, line, out);
            line += count_line_ends(record);
        });
    }

  private:
    static constexpr std::string_view mark = "\nFrom ";

    /// Whether a message begins at `at`, after the end of a line: an empty line before, and a whole "From …" line.
    static bool begins_at(std::string_view bytes, std::size_t at) {
        const std::string_view before = bytes.substr(0, at);
        if (!before.ends_with("\n\n") && !before.ends_with("\n\r\n")) return false;
        const std::string_view rest = bytes.substr(at, longest_from_line + 1);
        const std::size_t end = rest.find('\n');
        return end != std::string_view::npos && is_from_line(rest.substr(0, end));
    }

    template <class Take>
    void for_each(std::string_view bytes, const Take& take) const {
        while (!bytes.empty()) {
            std::size_t end = end_within(bytes);
            if (end == 0) end = bytes.size();
            const std::string_view record = bytes.substr(0, end);
            bytes.remove_prefix(end);
            take(record);
        }
    }

    std::string_view without_from(std::string_view record) const {
        if (!is_mbox_ || !record.starts_with("From ")) return record;
        return record.substr(std::min(record.find('\n'), record.size() - 1) + 1);
    }

    void parse_record(std::string_view record, const std::string& id, const unit_position& position,
                      std::uint64_t line, parsed_unit& out) const {
        if (record.size() > position.limit.bytes)
            return reject(out, position.path, line, position.limit.reason(record.size()));
        const std::string_view message = without_from(record);
        if (message.find_first_not_of(" \t\r\n") == std::string_view::npos) {
            if (message.size() != record.size())
                reject(out, position.path, line, "a message without a header");
            return;
        }
        mail_message read;
        try {
            read = read_mail(message, is_mbox_, kept_, position.budget, out.counts, out.named);
        } catch (const out_of_memory& why) {
            return reject_or_put_off(out, position, line, why);
        }
        read.made.is_numbered = id.empty();
        read.made.id = id.empty() ? position.id_of_line(line) : id;
        if (!read.cut.empty()) {
            truncate(out, position.path, line, std::move(read.cut));
        } else if (!read.repaired.empty()) {
            repair(out, position.path, line, std::move(read.repaired));
        }
        keep(out, std::move(read.made), position.path, line);
    }

    bool is_mbox_;
    document_fields kept_;
};

}  // namespace

std::shared_ptr<const record_form> mail_form(bool is_mbox, document_fields kept) {
    return std::make_shared<mail>(is_mbox, std::move(kept));
}

}  // namespace quern::io

// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/file_document.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/failure_kinds.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

struct file_bytes {
    byte_buffer buffer;
    std::string damage;
    bool stopped = false, too_large = false;

    std::string_view bytes() const { return buffer.bytes(); }
};

/// Reads up to one byte more than `limit`. `goes_on` judges the beginning: if it says no, the rest is not read.
template <typename Judge>
file_bytes read_source(byte_source& source, std::uint64_t expected, std::uint64_t limit,
                       const Judge& goes_on) {
    file_bytes out;
    byte_buffer& buffer = out.buffer;
    bool judged = false;
    for (std::uint64_t target = std::min(detection_bytes, limit) + 1;; target = std::min(target, limit) + 1) {
        buffer.reserve(target);
        bool at_end = false;
        while (!at_end && buffer.size() < target) {
            try {
                const std::size_t got = source.read(buffer.budget());
                buffer.grew(got);
                at_end = got == 0;
            } catch (const invalid_input& damage) {
                out.damage = damage.reason();
                at_end = true;
            }
        }
        if (!judged) out.stopped = !goes_on(buffer.bytes().substr(0, detection_bytes));
        judged = true;
        out.too_large = buffer.size() > limit;
        if (at_end || out.stopped || out.too_large) return out;
        target = std::max<std::uint64_t>(expected, 2 * buffer.size());
    }
}

/// Rejects a file that could not be decompressed at all. If its name is not conclusive, it may have held many
/// documents.
void reject_unread(parsed_unit& out, const folder_file& file, std::string reason) {
    const file_kind kind = kind_of(file.relative);
    const bool collection = kind == file_kind::unknown || kind == file_kind::text;
    note(out, {file.path.native(), 0, std::move(reason), true, false, collection});
}

bool may_hold_separate_lines(file_kind kind) {
    switch (kind) {
        case file_kind::unknown:
        case file_kind::text:
        case file_kind::source:
        case file_kind::markdown:
        case file_kind::restructured:
        case file_kind::latex:
            return true;
        default:
            return false;
    }
}

bool is_stored_compressed(const stored_bytes& stored) {
    std::string head(16, '\0');
    head.resize(stored.read_at(0, head));
    return is_compressed(head);
}

/// One file on its way to a document.
class file_parser {
  public:
    file_parser(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                const context& ctx, parsed_unit& out)
        : file_(file),
          budget_(budget.bytes < options.document_memory
                      ? budget
                      : reading_budget{options.document_memory, budget.is_last}),
          limit_(limit_of(options, budget_.bytes)),
          max_text_(std::min<std::uint64_t>(options.max_document_bytes, UINT64_MAX / 2)),
          fields_(options.fields),
          ctx_(ctx),
          out_(out) {}

    void parse(byte_source* opened) {
        try {
            read(opened);
        } catch (const not_convertible& why) {
            leave_out(why);
        } catch (const io_error& failed) {
            if (says_exhausted(failed.code())) throw;  // a failure of the run, not of the file
            reject(out_, shown(), 0, unreadable(failed));
        } catch (const usage_error&) {
            reject(out_, shown(), 0, "disappeared while the folder was read");
        } catch (const invalid_input& damage) {
            reject_unread(out_, file_, damage.reason());
        }
    }

  private:
    const std::string& shown() const { return file_.path.native(); }

    void read(byte_source* opened) {
        std::unique_ptr<byte_source> source;
        if (opened == nullptr) source = open_bytes(file_.path, ctx_);
        file_kind kind = file_kind::unknown;
        bool in_place = false, binary = false;
        file_bytes read = read_source(
            opened == nullptr ? *source : *opened, file_.bytes, limit_.bytes, [&](std::string_view head) {
                kind = kind_to_convert(file_.relative, head);
                const bool in_parts = is_read_in_parts(kind);
                in_place = in_parts && opened == nullptr && !is_stored_compressed(file_bytes_at(file_.path));
                binary = !in_parts && is_binary(head);
                return !in_place && !binary;
            });
        if (binary) {
            // Its name does not say it where a name of that kind promises text.
            ++out_.counts
                  .skipped[skipped_kind(file_.relative) + (kind != file_kind::unknown ? " (binary)" : "")];
            return;
        }
        if (in_place) {
            read.buffer = {};
            source.reset();
            const file_bytes_at stored(file_.path);
            return keep_converted(kind, {}, &stored, {});
        }
        if (read.too_large) {
            if (limit_.is_of_memory && !budget_.is_last)
                throw out_of_memory("a document", reading_factor * file_.bytes, budget_.bytes);
            const bool is_text = kind == file_kind::text || kind == file_kind::unknown;
            const bool is_size_known =
                is_text && opened == nullptr && !is_stored_compressed(file_bytes_at(file_.path));
            std::string reason = limit_.reason(is_size_known ? file_.bytes : 0);
            if (may_hold_separate_lines(kind))
                reason +=
                    "; if its lines are separate texts, --input-format text-lines makes each a document";
            return reject(out_, shown(), 0, std::move(reason));
        }
        if (!read.damage.empty() && read.bytes().empty())
            return reject_unread(out_, file_, std::move(read.damage));
        const memory_bytes_at stored(read.bytes());
        keep_converted(kind, read.bytes(), &stored, std::move(read.damage));
    }

    /// `damage`: why `bytes` are only a beginning; empty if they are the whole file.
    void keep_converted(file_kind kind, std::string_view bytes, const stored_bytes* stored,
                        std::string damage) {
        document made;
        made.path = shown();
        made.id = file_.relative;
        std::string repaired;
        if (!is_utf8(made.id)) repaired = repair_utf8(made.id) + " (the path)";
        converted text = convert(kind, {file_.relative, bytes, stored, budget_, max_text_, ctx_});
        made.title = std::move(text.title);
        made.text = std::move(text.text);
        made.links = std::move(text.links);
        made.fields = fields_of(text.fields);
        if (!text.repaired.empty()) repaired = std::move(text.repaired);
        if (made.title.empty()) made.title = file_name(made.id);
        const bool damaged = !damage.empty();
        if (damaged) repaired = std::move(damage);
        if (!repaired.empty()) (damaged ? truncate : repair)(out_, shown(), 0, std::move(repaired));
        keep(out_, std::move(made), shown(), 0);
    }

    /// Those that are kept.
    std::string fields_of(const std::vector<std::pair<std::string, std::string>>& found) {
        if (fields_.kept.empty() || found.empty()) return {};
        fields_writer all;
        for (const auto& [name, value] : found) all.add_json(name, value);
        const std::string json = all.finish();
        named_members& named = out_.named;
        if (!named.any_record)
            for (const auto& [name, _] : found)
                if (named.found.size() < named_members::max_found) named.found.push_back(name);
        named.any_record = true;
        kept_members kept = keep_members(json_value(json), fields_, {}, named);
        return kept.problem.empty() ? std::move(kept.fields) : std::string();
    }

    /// A file without readable text is skipped like one of an unknown kind; one that the user named is rejected.
    void leave_out(const not_convertible& why) {
        if (file_.is_named) return reject(out_, shown(), 0, why.what());
        ++out_.counts.skipped[skipped_kind(file_.relative) + " (" + why.category() + ")"];
    }

    const folder_file& file_;
    reading_budget budget_;
    document_limit limit_;
    std::uint64_t max_text_;
    const document_fields& fields_;
    const context& ctx_;
    parsed_unit& out_;
};

}  // namespace

std::string unreadable(const io_error& failed) {
    // The message already names the path; an issue has it as a separate field.
    return "cannot be read: " + std::generic_category().message(failed.code());
}

void parse_file(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                const context& ctx, parsed_unit& out, byte_source* opened) {
    file_parser(file, options, budget, ctx, out).parse(opened);
}

}  // namespace quern::io

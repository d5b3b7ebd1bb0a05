// SPDX-License-Identifier: Apache-2.0
// The shared part of every form that is one stream of records (JSON lines, TSV, TREC, lines of text …): cuts the
// stream into units that end where a record ends. The end of a record depends only on its bytes, so that the records
// are the same wherever the units were cut; a form defines only how to find an end and how to parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/pooled_bytes.hpp"

namespace quern::io {

/// The maximum size of a document before it is parsed.
struct document_limit {
    std::uint64_t bytes = UINT64_MAX;
    bool is_of_memory = false;
    std::uint64_t max_bytes = UINT64_MAX;  ///< with any memory
    double budget_a_byte =
        0;  ///< of a document: the budget of the run with which it is not too large; 0: unknown

    /// "larger than the limit of N bytes a document": one wording for every form. `document`: its bytes, if they are known; then
    /// with a budget that is enough.
    std::string reason(std::uint64_t document = 0) const;
};

/// Reading a document takes a multiple of its bytes: the bytes themselves, decoded, and the text cut out of them. Each
/// form tracks what depends on the content (a tree, a parser's tables) separately, and checks it before it grows.
inline constexpr std::uint64_t reading_factor = 4;

/// The limit from the options: the smaller of the largest document, and of what fits `memory`.
document_limit limit_of(const corpus_options& options, std::uint64_t memory,
                        std::uint64_t factor = reading_factor);

/// Throws out_of_memory if `bytes` exceed the room.
void require_budget(const reading_budget& budget, std::uint64_t bytes, std::string_view what_for);

/// Appends a link. Throws out_of_memory if the list, which may be many times the bytes it is read from, needs more than
/// the room.
void add_link(std::vector<std::string>& links, std::string target, const reading_budget& budget);

/// The position of a unit in its input.
struct unit_position {
    std::string path;
    input_name name;
    std::uint64_t first_line = 1;
    std::uint64_t first_record = 0;  ///< records counted by record_form::count before this unit
    document_limit limit;
    reading_budget budget;  ///< of each document
    bool keep_records = false;
    std::vector<std::string> ids;  ///< of the unit's records, for forms that have record_form::ids

    /// The id of a record without one: made from the file's name and the line.
    std::string id_of_line(std::uint64_t line) const;
};

/// Bytes past a unit's end that are readable (with any value): required by the JSON parser.
inline constexpr std::size_t unit_padding = 64;

/// Skips, in pieces, a record that is too large to be held.
class record_skipper {
  public:
    virtual ~record_skipper() = default;
    /// The end of the record in its next piece; 0 if it continues.
    virtual std::size_t end_in(std::string_view piece) = 0;
};

class record_form {
  public:
    virtual ~record_form() = default;
    /// The end of the last whole record in `bytes`, which begin at a record; 0 if none is whole.
    virtual std::size_t last_end(std::string_view bytes) const = 0;
    /// The first end of a record in `bytes`, which begin within one; 0 if there is none.
    virtual std::size_t end_within(std::string_view bytes) const = 0;
    /// The end of the first record in `bytes`, which begin at it; 0 if it is not whole.
    virtual std::size_t first_end(std::string_view bytes) const { return end_within(bytes); }
    /// For forms whose record end depends on all of the record before: begins at a record. Null: end_within() suffices.
    virtual std::unique_ptr<record_skipper> skipper() const { return nullptr; }
    /// The length of the longest mark that ends a record, so that one split by two reads is found.
    virtual std::size_t end_mark_bytes() const = 0;
    /// Records in `bytes`, for forms whose documents are numbered; others need not count.
    virtual std::uint64_t count(std::string_view) const { return 0; }
    /// Whether a record may be a few bytes: units then have fewer of them, because a document takes some hundred.
    virtual bool may_be_short() const { return false; }
    /// Whether ids may occur again in a file by right: ids() is called then, and unit_position::ids has those of the
    /// records, with "#2" and so on after the first (repeated_ids).
    virtual bool may_repeat_ids() const { return false; }
    /// The ids of the records in `bytes`; empty for one without, and for one beyond `limit`.
    virtual std::vector<std::string> ids(std::string_view, const document_limit&) const { return {}; }
    /// Whole records; at the input's end the last may lack its end. Pure; called from any thread. Throws out_of_memory
    /// if a document needs more than place.room and that is not the last.
    virtual void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const = 0;
};

/// Adds an empty document, and records its origin: for forms with many short documents, which are large to move.
document& begin_document(parsed_unit& out, std::string_view path, std::uint64_t line);
/// Adds a finished document, and records its origin.
void keep(parsed_unit& out, document made, std::string_view path, std::uint64_t line);

/// Records an issue and counts it.
void note(parsed_unit& out, input_issue issue);
void reject(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);
void repair(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);
void truncate(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);

/// For a document that needed too much memory: rejects it if that was the last room, else rethrows.
void reject_or_put_off(parsed_unit& out, const unit_position& position, std::uint64_t line,
                       const out_of_memory& why);

/// Reads `source` to its end. `first_record` numbers the first record and is left at the number after the last (null
/// for forms that do not count); it must outlive the reader.
std::unique_ptr<corpus_reader> read_records(std::unique_ptr<byte_source> source,
                                            std::shared_ptr<const record_form> form,
                                            const corpus_options& options, const context& ctx,
                                            std::uint64_t* first_record = nullptr);

std::shared_ptr<const record_form> jsonl_form(const document_fields& fields = {});
std::shared_ptr<const record_form> tsv_form();
/// Rows under a heading that names columns; `beginning`: what stands before them (table_beginning()), from line 1.
std::shared_ptr<const record_form> table_form(std::string beginning, char separator,
                                              const document_fields& fields = {});
std::shared_ptr<const record_form> lines_form();
std::shared_ptr<const record_form> text_lines_form();
std::shared_ptr<const record_form> text_paragraphs_form();
std::shared_ptr<const record_form> trec_form();
std::shared_ptr<const record_form> wikiextractor_form();
/// `is_mbox`: messages begin with a line "From …"; otherwise the file is one message.
std::shared_ptr<const record_form> mail_form(bool is_mbox, document_fields fields);

// The buffer in which readers collect raw bytes.

/// Bytes with spare capacity, not cleared when it grows: memory that is not filled is not touched.
class byte_buffer {
  public:
    byte_buffer() = default;
    /// What is reserved first comes from the pool. Larger memory, if it must grow, does not: a pool would keep it.
    explicit byte_buffer(std::shared_ptr<buffer_pool> pool) : pool_(std::move(pool)) {}

    std::string_view bytes() const { return {data(), size_}; }
    std::size_t size() const { return size_; }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        pooled_bytes larger(std::exchange(pool_, nullptr), capacity + unit_padding);
        if (size_ != 0) std::memcpy(larger.bytes().data(), data(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }
    void append(std::string_view more) {
        reserve(size_ + more.size());
        if (!more.empty()) std::memcpy(data() + size_, more.data(), more.size());
        size_ += more.size();
    }
    std::span<char> budget() { return {data() + size_, capacity_ - size_}; }
    void grew(std::size_t by) { size_ += by; }
    void truncate(std::size_t size) { size_ = size; }
    /// The padding is read, but its value never matters; clearing it keeps memory checkers quiet.
    void seal() { std::memset(data() + size_, 0, unit_padding); }

  private:
    char* data() const { return data_.bytes().data(); }

    std::shared_ptr<buffer_pool> pool_;
    pooled_bytes data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// Records that are lines: the parts of a record_form that JSON lines and TSV share.
class line_form : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const final { return bytes.rfind('\n') + 1; }
    std::size_t end_within(std::string_view bytes) const final { return bytes.find('\n') + 1; }
    std::size_t end_mark_bytes() const final { return 1; }

    /// Calls parse_line for every non-empty line, without its end; rejects a line that is too long.
    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const final;

  protected:
    /// At least unit_padding bytes past `line` are readable.
    virtual void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                            parsed_unit& out) const = 0;
    virtual void pass_over(parsed_unit&) const {}  ///< an empty line
};

/// The verdict on a text's first lines: at least half of them are whole JSON objects, and have a text.
enum class json_lines { none, objects, documents };

/// Judges the first ten non-empty lines of `head`; `fields` may name other texts. If not `whole`, the last may continue past it, and is judged by its
/// beginning if no other line is visible.
json_lines judge_json_lines(std::string_view head, bool whole, const document_fields& fields = {});

}  // namespace quern::io

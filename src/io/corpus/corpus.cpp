// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/file_status.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/arrow_corpus.hpp"
#include "io/corpus/ciff.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/file_log.hpp"
#include "io/corpus/folder.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/corpus/parquet_corpus.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/table_columns.hpp"
#include "io/corpus/warc.hpp"
#include "io/corpus/weights.hpp"
#include "io/corpus/wikipedia.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::array<std::pair<corpus_form, std::string_view>, 17> forms = {{
    {corpus_form::wikipedia, "wikipedia"},
    {corpus_form::folder, "folder"},
    {corpus_form::jsonl, "jsonl"},
    {corpus_form::tsv, "tsv"},
    {corpus_form::csv, "csv"},
    {corpus_form::trec, "trec"},
    {corpus_form::wikiextractor, "wikiextractor"},
    {corpus_form::lines, "lines"},
    {corpus_form::text_lines, "text-lines"},
    {corpus_form::text_paragraphs, "text-paragraphs"},
    {corpus_form::binary, "binary"},
    {corpus_form::parquet, "parquet"},
    {corpus_form::arrow, "arrow"},
    {corpus_form::warc, "warc"},
    {corpus_form::mail, "mail"},
    {corpus_form::ciff, "ciff"},
    {corpus_form::weights, "weights"},
}};

}  // namespace

std::string_view name_of(corpus_form form) {
    for (const auto& [value, name] : forms) {
        if (value == form) return name;
    }
    return "";
}

std::optional<corpus_form> corpus_form_named(std::string_view wanted) {
    for (const auto& [value, name] : forms) {
        if (name == wanted) return value;
    }
    return std::nullopt;
}

void named_members::add(const named_members& more) {
    if (!any_record) found = more.found;
    any_record = any_record || more.any_record;
    if (seen.size() < more.seen.size()) seen.resize(more.seen.size());
    for (std::size_t i = 0; i < more.seen.size(); ++i) seen[i] |= more.seen[i];
}

namespace {

namespace fs = std::filesystem;

/// A source whose first bytes were peeked at: reading returns them again.
class peeked_source final : public byte_source {
  public:
    peeked_source(std::unique_ptr<byte_source> source, std::size_t look) : source_(std::move(source)) {
        head_.resize(look);
        std::size_t got = 0;
        try {
            // A short read is the end or precedes damage; either way the head is all there is.
            got = source_->read(head_);
        } catch (const invalid_input& damage) {
            damage_ = damage.reason();
        }
        head_.resize(got);
    }

    const std::string& head() const { return head_; }
    const std::string& damage() const { return damage_; }

    std::size_t read(std::span<char> out) override {
        const std::size_t held = std::min(out.size(), head_.size() - at_);
        std::memcpy(out.data(), head_.data() + at_, held);
        at_ += held;
        std::size_t more = 0;
        if (held != out.size() && damage_.empty()) {
            try {
                more = source_->read(out.subspan(held));
            } catch (const invalid_input& damage) {
                damage_ = damage.reason();
            }
        }
        if (held + more == 0 && !out.empty() && !damage_.empty()) throw invalid_input(name(), 0, damage_);
        return held + more;
    }
    std::optional<resume_point> resume() override {
        const auto found = source_->resume();
        if (found) damage_.clear();
        return found;
    }
    /// Throws the error of the disk at which the head ended, if it did.
    void require_sound_end() {
        char next = 0;
        if (damage_.empty()) source_->read({&next, 1});
    }
    std::uint64_t consumed() const override { return source_->consumed(); }
    std::uint64_t size() const override { return source_->size(); }
    const std::string& name() const override { return source_->name(); }

  private:
    std::unique_ptr<byte_source> source_;
    std::string head_, damage_;
    std::size_t at_ = 0;
};

constexpr std::string_view forms_tried =
    "wikipedia, jsonl, tsv, csv, trec, wikiextractor, parquet, arrow, warc, mail, ciff, and a text, HTML or "
    "source "
    "file";

struct corpus_input {
    fs::path path;
    std::optional<corpus_form> form;  ///< for a folder: of its files; `folder`: each is a document
    bool is_folder = false;
    std::unique_ptr<peeked_source> opened;  ///< for input that can be read only once
    std::uint64_t bytes = 0;
};

corpus_form form_of(peeked_source& source, const fs::path& path, const document_fields& fields) {
    std::string why;
    const bool whole = source.head().size() < detection_bytes;
    if (source.head().empty() && !source.damage().empty())
        throw invalid_input(path.native(), 0, source.damage());
    const auto form = detect(source.head(), whole, path.native(), why, fields);
    if (form) return *form;
    if (whole) source.require_sound_end();
    std::string reason = "cannot detect the corpus format";
    if (!why.empty()) reason += ": " + why;
    if (!source.damage().empty()) reason += "; " + source.damage();
    throw invalid_input(path.native(), 0, reason + " (tried " + std::string(forms_tried) + ")");
}

class many_reader final : public corpus_reader {
  public:
    many_reader(const std::vector<fs::path>& inputs, const corpus_options& options, const context& ctx,
                file_log* log = nullptr)
        : options_(options), ctx_(ctx), log_(log) {
        options_.lists = std::make_shared<buffer_pool>();
        for (const auto& path : inputs) inputs_.push_back(examine(path));
        for (; at_ < std::min(options_.start.input, inputs_.size()); ++at_) consumed_ += inputs_[at_].bytes;
        for (const auto& input : inputs_) {
            if (input.bytes == 0) {
                total_ = 0;
                return;
            }
            total_ += input.bytes;
        }
    }

    std::unique_ptr<corpus_unit> next() override {
        while (true) {
            bool is_new = false;
            if (!current_) {
                if (at_ == inputs_.size()) {
                    options_.lists.reset();  // what it keeps is of no more use
                    return nullptr;
                }
                current_ = open(inputs_[at_++]);
                options_.start.within.clear();
                is_new = true;
            }
            if (auto unit = current_->next()) {
                begun_ = is_new ? std::optional<corpus_place>(corpus_place{}) : current_->begun();
                if (begun_) begun_->input = at_ - 1;
                return unit;
            }
            consumed_ += current_->consumed_bytes();
            current_.reset();
        }
    }
    std::optional<corpus_place> begun() const override { return begun_; }
    std::uint64_t consumed_bytes() const override {
        return consumed_ + (current_ ? current_->consumed_bytes() : 0);
    }
    std::uint64_t total_bytes() const override { return total_; }

  private:
    corpus_input examine(const fs::path& path) {
        corpus_input input;
        input.path = path;
        input.form = options_.form;
        if (path == "-") {
            if (!input.form) input.form = corpus_form::jsonl;
            refuse_list(input);
            return input;
        }
        const fs::file_status status = file_status_of(path);
        if (!fs::exists(status)) throw usage_error(path.native() + ": no such file or folder");
        if (fs::is_directory(status)) {
            if (input.form == corpus_form::ciff)
                throw usage_error(fmt::format("{}: a folder; the input format {} is of files", path.native(),
                                              name_of(*input.form)));
            input.is_folder = true;
            input.bytes = folder_bytes(path, options_.follow_links);
            return input;
        }
        if (!input.form) {
            auto source = std::make_unique<peeked_source>(open_bytes(path, ctx_), detection_bytes);
            input.form = form_of(*source, path, options_.fields);
            if (!fs::is_regular_file(status)) input.opened = std::move(source);
        }
        refuse_list(input);
        std::error_code unsized;
        if (fs::is_regular_file(status)) input.bytes = fs::file_size(path, unsized);
        return input;
    }

    void refuse_list(const corpus_input& input) const {
        if (!is_listed(*input.form) || options_.take_lists) return;
        throw invalid_input(
            input.path.native(), 0,
            fmt::format("the input format {} has lists of words instead of texts; only quern build "
                        "and search read it",
                        name_of(*input.form)));
    }

    std::unique_ptr<corpus_reader> open(corpus_input& input) {
        corpus_options options = options_;
        options.name = input_name::alone(++scopes_, input.path.native());
        if (input.is_folder) {
            const auto open_file = [this](const fs::path& path, corpus_form form, std::uint32_t name_at) {
                return open_stream(path, form, nullptr, {++scopes_, name_at});
            };
            const auto number = static_cast<std::uint32_t>(at_ - 1);
            return read_folder(input.path, input.form, options, open_file, ctx_, {log_, number});
        }
        if (input.form == corpus_form::folder && input.path == "-")
            input.opened = std::make_unique<peeked_source>(open_bytes(input.path, ctx_), detection_bytes);
        if (input.form == corpus_form::folder)
            return read_single_document(input.path, std::move(input.opened), options, ctx_);
        if (input.form == corpus_form::binary) {
            std::error_code failed;
            std::unique_ptr<byte_source> opened;
            if (!fs::is_regular_file(input.path, failed)) opened = open_raw_bytes(input.path, ctx_);
            return read_single_document(input.path, std::move(opened), options, ctx_);
        }
        return open_stream(input.path, *input.form, std::move(input.opened), options.name);
    }

    std::unique_ptr<corpus_reader> open_stream(const fs::path& path, corpus_form form,
                                               std::unique_ptr<peeked_source> source, input_name name) {
        corpus_options options = options_;
        options.name = name;
        if (form == corpus_form::parquet) return open_mapped(path, std::move(source), options, read_parquet);
        if (form == corpus_form::arrow) return open_mapped(path, std::move(source), options, read_arrow);
        constexpr std::size_t from_bytes = 4 + 4 * 5;  // "From " in UTF-32, after its byte-order mark
        const bool has_columns = form == corpus_form::tsv || form == corpus_form::csv;
        const bool has_lines = has_columns || form == corpus_form::text_lines;
        if (!source)
            source = std::make_unique<peeked_source>(open_bytes(path, ctx_),
                                                     has_lines ? detection_bytes : from_bytes);
        if (has_lines)
            if (const std::string why = other_line_ends(source->head()); !why.empty())
                throw invalid_input(path.native(), 1, why);
        const byte_order order = byte_order_of(source->head());
        const std::shared_ptr<const record_form> records =
            has_columns ? table_or_tsv(source->head(), form, path)
            : form == corpus_form::mail
                ? mail_form(utf8_head(source->head()).starts_with("From "), options_.fields)
                : record_form_of(form, options_.fields);
        std::unique_ptr<byte_source> bytes = std::move(source);
        if (form == corpus_form::wikipedia) {
            return read_wikipedia(std::move(bytes), options, ctx_);
        }
        if (form == corpus_form::ciff) return read_ciff(std::move(bytes), options, ctx_);
        if (form == corpus_form::warc) return read_warc(std::move(bytes), options, ctx_);
        if (order != byte_order::none && order != byte_order::utf8) bytes = as_utf8(std::move(bytes), order);
        const bool numbered = form == corpus_form::lines;
        return read_records(std::move(bytes), records, options, ctx_, numbered ? &lines_read_ : nullptr);
    }

    using mapped_form = std::unique_ptr<corpus_reader>(const fs::path&, std::unique_ptr<byte_source>,
                                                       const corpus_options&, const context&);
    /// Read from its end: what is no plain file is copied to one first.
    std::unique_ptr<corpus_reader> open_mapped(const fs::path& path, std::unique_ptr<peeked_source> source,
                                               const corpus_options& options, mapped_form& read) {
        std::error_code failed;
        if (!source && fs::is_regular_file(path, failed)) {
            auto raw = std::make_unique<peeked_source>(open_raw_bytes(path, ctx_), 6);
            if (!is_compressed(raw->head())) return read(path, nullptr, options, ctx_);
        }
        if (!source) source = std::make_unique<peeked_source>(open_bytes(path, ctx_), 4);
        return read(path, std::move(source), options, ctx_);
    }

    std::shared_ptr<const record_form> table_or_tsv(std::string_view head, corpus_form form,
                                                    const fs::path& path) const {
        const document_fields& fields = options_.fields;
        if (const auto start = start_of_table(head, form, fields))
            return table_form(start->beginning, start->separator, fields);
        if (form == corpus_form::tsv && !fields.any_chosen()) return tsv_form();
        const std::string text = utf8_head(head);
        const char separator = form == corpus_form::csv ? csv_separator(text) : '\t';
        throw invalid_input(path.native(), 1,
                            missing_heading(text, head.size() < detection_bytes, separator, fields));
    }

    static std::shared_ptr<const record_form> record_form_of(corpus_form form,
                                                             const document_fields& fields) {
        switch (form) {
            case corpus_form::trec:
                return trec_form();
            case corpus_form::wikiextractor:
                return wikiextractor_form();
            case corpus_form::lines:
                return lines_form();
            case corpus_form::text_lines:
                return text_lines_form();
            case corpus_form::text_paragraphs:
                return text_paragraphs_form();
            case corpus_form::weights:
                return weights_form(fields);
            case corpus_form::jsonl:
            case corpus_form::tsv:
            case corpus_form::csv:
            case corpus_form::wikipedia:
            case corpus_form::folder:
            case corpus_form::binary:
            case corpus_form::parquet:
            case corpus_form::arrow:
            case corpus_form::warc:
            case corpus_form::mail:
            case corpus_form::ciff:
                break;
        }
        return jsonl_form(fields);
    }

    corpus_options options_;
    context ctx_;
    file_log* log_;
    std::vector<corpus_input> inputs_;
    std::size_t at_ = 0;
    std::uint32_t scopes_ = 0;
    std::unique_ptr<corpus_reader> current_;
    std::uint64_t consumed_ = 0, total_ = 0;
    std::optional<corpus_place> begun_;
    std::uint64_t lines_read_ = 0;  ///< documents of the form `lines`, numbered across all inputs
};

}  // namespace

bool is_list_file(const fs::path& path, const context& ctx) {
    std::error_code failed;
    if (path == "-" || !fs::is_regular_file(path, failed)) return false;
    std::string why;
    const peeked_source source(open_bytes(path, ctx), detection_bytes);
    const auto form = detect(source.head(), source.head().size() < detection_bytes, path.native(), why);
    return form && is_listed(*form);
}

std::unique_ptr<corpus_reader> open_corpus(const std::vector<fs::path>& inputs, const corpus_options& options,
                                           const context& ctx) {
    return std::make_unique<many_reader>(inputs, options, ctx);
}

std::unique_ptr<corpus_reader> open_corpus(const std::vector<fs::path>& inputs, const corpus_options& options,
                                           file_log& log, const context& ctx) {
    // Fields of a document and which of the named ones a record has are not in the log.
    return std::make_unique<many_reader>(inputs, options, ctx, options.fields.kept.empty() ? &log : nullptr);
}

}  // namespace quern::io

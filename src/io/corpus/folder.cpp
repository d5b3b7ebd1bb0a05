// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/folder.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/failure_kinds.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/binary_file.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/file_document.hpp"
#include "io/corpus/file_log.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

std::uint32_t name_at(const folder_file& file) {
    return static_cast<std::uint32_t>(file.path.native().size() - file.relative.size());
}

/// Files are read when they are parsed, so that many threads read concurrently.
class file_unit final : public corpus_unit {
  public:
    file_unit(std::vector<file_log::listed_file> files, parsed_unit notes, const corpus_options& options,
              const context& ctx, std::unique_ptr<byte_source> opened = nullptr, folder_log log = {})
        : files_(std::move(files)),
          notes_(std::move(notes)),
          options_(options),
          ctx_(ctx),
          opened_(std::move(opened)),
          log_(log),
          in_log_(log_.log == nullptr ? 0 : log_.log->begin_unit()) {}

    bool parse_within(const reading_budget& budget, parsed_unit& out) override {
        if (opened_ && !budget.is_last) return false;  // its size is unknown
        if (!std::exchange(begun_, true)) out = std::move(notes_);
        for (; next_ < files_.size(); ++next_) {
            const folder_file& file = files_[next_].file;
            const std::size_t before = out.documents.size(), issues_before = out.issues.size();
            if (const auto& known = files_[next_].record) {
                out.documents.push_back(known->made_of(file));
                records_.push_back({{}, known->whole, known->frame});
                input_name{options_.name.scope, name_at(file)}.give(out.documents, before);
                continue;
            }
            try {
                const auto parse = options_.form == corpus_form::binary ? parse_binary_file : parse_file;
                parse(file, options_, budget, ctx_, out, opened_.get());
            } catch (const out_of_memory& why) {
                if (!budget.is_last) return false;
                reject(out, file.path.native(), 0, why.what());
            }
            const bool is_plain = out.documents.size() == before + 1 && out.issues.size() == issues_before;
            if (log_.log != nullptr && is_plain)
                records_.push_back(
                    {file_log::record_of(log_.input, files_[next_], out.documents.back()), {}});
            input_name{options_.name.scope, name_at(file)}.give(out.documents, before);
        }
        out.counts.documents += out.documents.size();
        if (log_.log != nullptr) log_.log->end_unit(in_log_, std::move(records_));
        return true;
    }
    /// Files are read only when they are parsed.
    std::uint64_t raw_bytes() const override { return 0; }

  private:
    std::vector<file_log::listed_file> files_;
    std::size_t next_ = 0;
    bool begun_ = false;
    parsed_unit notes_;
    corpus_options options_;
    context ctx_;
    std::unique_ptr<byte_source> opened_;  ///< of the only file, if it can be read only once
    folder_log log_;
    std::uint64_t in_log_;                        ///< the unit's number
    std::vector<file_log::kept_record> records_;  ///< for the log
};

/// For files read one by one on the threads that parse units: has the context's stop flag and memory budget, but no
/// further threads, and no listeners, which must not be called from several threads.
context for_one_file(const context& ctx) {
    context alone = ctx;
    alone.threads = 1;
    alone.on_progress = nullptr;
    alone.on_log = nullptr;
    return alone;
}

/// The first bytes of a file, by which its form is detected.
struct file_head {
    std::string bytes;
    bool is_whole = false;
};

file_head head_of(const folder_file& file, const context& ctx) {
    file_head head{std::string(detection_bytes, '\0')};
    const auto source = open_bytes(file.path, ctx);
    head.bytes.resize(source->read(head.bytes));
    head.is_whole = head.bytes.size() < detection_bytes;
    return head;
}

/// An empty file holds no documents, by its name: no other file of a folder is read by its name alone.
std::optional<corpus_form> form_of(const folder_file& file, const file_head& head,
                                   const document_fields& fields) {
    if (head.bytes.empty() && without_compression(file.relative).ends_with(".jsonl"))
        return corpus_form::jsonl;
    return detect_collection(head.bytes, head.is_whole, file.relative, fields);
}

/// Whether the form takes any bytes for texts: in a folder, its binary files are skipped.
bool takes_any_bytes(corpus_form form) {
    return form == corpus_form::text_lines || form == corpus_form::text_paragraphs ||
           form == corpus_form::lines;
}

/// If no other file could be read either, the run fails.
void throw_if_exhausted(const error& failed) {
    const auto* const of_the_system = dynamic_cast<const io_error*>(&failed);
    if (of_the_system != nullptr && says_exhausted(of_the_system->code())) throw io_error(*of_the_system);
}

class folder_reader final : public corpus_reader {
  public:
    folder_reader(const std::filesystem::path& root, std::optional<corpus_form> form,
                  const corpus_options& options, open_collection open, const context& ctx, folder_log log)
        : walk_(root, options.follow_links),
          form_(form),
          options_(options),
          open_(std::move(open)),
          ctx_(ctx),
          alone_(for_one_file(ctx)),
          log_(log) {
        if (!options_.start.within.empty()) go_to(options_.start.within);
    }

    std::unique_ptr<corpus_unit> next() override {
        begun_.clear();
        while (true) {
            ctx_.check_stop();
            if (collection_) {
                if (auto unit = next_of_collection()) {
                    begun_ = std::exchange(opened_, {});
                    return unit;
                }
                done_ += collection_->consumed_bytes();
                collection_.reset();
            }
            if (waiting_) {
                const auto [file, form] = *std::exchange(waiting_, std::nullopt);
                opened_path_ = file.path.native();
                opened_ = file.relative;
                try {
                    collection_ = open_(file.path, form, name_at(file));
                } catch (const interrupted&) {
                    throw;
                } catch (const error& failed) {
                    throw_if_exhausted(failed);
                    reject(notes_, opened_path_, 0, failed.what());
                }
                continue;
            }
            if (ended_) return nullptr;
            if (auto unit = batch()) return unit;
        }
    }

    std::optional<corpus_place> begun() const override {
        if (begun_.empty()) return {};
        return corpus_place{0, begun_};
    }
    std::uint64_t consumed_bytes() const override {
        return done_ + (collection_ ? collection_->consumed_bytes() : 0);
    }
    /// The caller that opens a folder counts it once, by folder_bytes(), which is a separate walk.
    std::uint64_t total_bytes() const override { return 0; }

  private:
    /// Everything before a file with records has been read, including the notes of the walk.
    void go_to(const std::string& relative) {
        parsed_unit noted;
        while (auto file = walk_.next(noted)) {
            noted = {};
            if (file->relative != relative) {
                done_ += file->bytes;
                continue;
            }
            if (const auto form = collection_form(*file)) waiting_.emplace(std::move(*file), *form);
            return;
        }
        ended_ = true;
    }

    /// A collection whose decompression needs too much memory ends there, like a damaged one.
    std::unique_ptr<corpus_unit> next_of_collection() {
        try {
            return collection_->next();
        } catch (const out_of_memory& failed) {
            note(notes_, {opened_path_, 0, failed.what(), false, true, true});
            return nullptr;
        }
    }

    /// Documents up to the unit's size, or up to a file that holds a collection. Null if there are none.
    std::unique_ptr<corpus_unit> batch() {
        constexpr std::size_t max_files = 4096;
        std::vector<file_log::listed_file> files;
        std::uint64_t bytes = 0;
        while (files.size() < max_files && (files.empty() || bytes < options_.unit_bytes)) {
            auto file = walk_.next(notes_);
            if (!file) {
                ended_ = true;
                break;
            }
            file_log::listed_file listed;
            if (log_.log != nullptr) {
                listed = log_.log->list(log_.input, std::move(*file));
            } else {
                listed.file = std::move(*file);
            }
            if (listed.record) {
                is_document_ = true;
            } else if (const auto form = collection_form(listed.file)) {
                waiting_.emplace(std::move(listed.file), *form);
                break;
            }
            if (is_document_) {
                bytes += listed.file.bytes;
                done_ += listed.file.bytes;
                files.push_back(std::move(listed));
            }
        }
        const bool silent = notes_.issues.empty() && notes_.counts.skipped.empty();
        if (files.empty() && silent) return nullptr;
        return std::make_unique<file_unit>(std::move(files), std::exchange(notes_, {}), options_, alone_,
                                           nullptr, log_);
    }

    /// The form of a file that holds a collection. Otherwise `is_document_` says whether it is a document.
    std::optional<corpus_form> collection_form(const folder_file& file) {
        is_document_ = form_ == corpus_form::folder || form_ == corpus_form::binary;
        if (is_document_) return std::nullopt;
        if (form_ && !takes_any_bytes(*form_)) return form_;
        const file_kind kind = form_ ? file_kind::unknown : kind_of(file.relative);
        is_document_ = kind != file_kind::unknown;
        if (kind != file_kind::unknown && kind != file_kind::text) return std::nullopt;
        try {
            const file_head head = head_of(file, alone_);
            if (form_ && !is_binary(head.bytes)) return form_;
            if (form_) {
                skip(file);
                return std::nullopt;
            }
            if (const auto found = form_of(file, head, options_.fields)) return found;
            if (kind == file_kind::unknown) {
                is_document_ = kind_to_convert(file.relative, head.bytes) != file_kind::unknown;
                if (!is_document_) skip(file);
            }
        } catch (const io_error& failed) {  // a retry might succeed, and treat a collection as a document
            throw_if_exhausted(failed);
            reject(notes_, file.path.native(), 0, unreadable(failed));
            is_document_ = false;
            done_ += file.bytes;
        } catch (const error&) {  // the reader will hit the same failure and report it
            if (form_) return form_;
            is_document_ = true;
        }
        return std::nullopt;
    }

    void skip(const folder_file& file) {
        ++notes_.counts.skipped[skipped_kind(file.relative)];
        done_ += file.bytes;
    }

    folder_walk walk_;
    std::optional<corpus_form> form_;
    corpus_options options_;
    open_collection open_;
    context ctx_, alone_;
    folder_log log_;
    std::uint64_t done_ = 0;
    parsed_unit notes_;
    std::unique_ptr<corpus_reader> collection_;
    std::string opened_path_;  ///< the collection's
    std::string opened_;       ///< the same in the folder, until its first unit
    std::string begun_;        ///< the same if the last unit was its first
    std::optional<std::pair<folder_file, corpus_form>> waiting_;
    bool ended_ = false, is_document_ = false;
};

class single_reader final : public corpus_reader {
  public:
    single_reader(folder_file file, std::unique_ptr<byte_source> opened, const corpus_options& options,
                  const context& ctx)
        : file_(std::move(file)), opened_(std::move(opened)), options_(options), ctx_(for_one_file(ctx)) {}
    std::unique_ptr<corpus_unit> next() override {
        if (std::exchange(done_, true)) return nullptr;
        return std::make_unique<file_unit>(std::vector{file_log::listed_file{file_, {}, {}}}, parsed_unit{},
                                           options_, ctx_, std::move(opened_));
    }
    std::uint64_t consumed_bytes() const override { return done_ ? file_.bytes : 0; }
    std::uint64_t total_bytes() const override { return file_.bytes; }

  private:
    folder_file file_;
    std::unique_ptr<byte_source> opened_;
    corpus_options options_;
    context ctx_;
    bool done_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_folder(const std::filesystem::path& root, std::optional<corpus_form> form,
                                           const corpus_options& options, open_collection open,
                                           const context& ctx, folder_log log) {
    return std::make_unique<folder_reader>(root, form, options, std::move(open), ctx, log);
}

std::optional<collection_head> read_collection_head(const folder_file& file, std::optional<corpus_form> form,
                                                    const document_fields& fields, const context& ctx) {
    if (form == corpus_form::folder || form == corpus_form::binary) return std::nullopt;
    const file_kind kind = kind_of(file.relative);
    if (!form && kind != file_kind::unknown && kind != file_kind::text) return std::nullopt;
    try {
        const file_head head = head_of(file, ctx);
        if (form && takes_any_bytes(*form) && is_binary(head.bytes)) return std::nullopt;
        const auto found = form ? form : form_of(file, head, fields);
        if (!found) return std::nullopt;
        std::optional<table_start> start;
        if (found == corpus_form::csv || found == corpus_form::tsv)
            start = start_of_table(head.bytes, *found, fields);
        return collection_head{*found, start ? std::move(start->beginning) : std::string()};
    } catch (const interrupted&) {
        throw;
    } catch (const out_of_memory&) {
        throw;
    } catch (const error& failed) {
        throw_if_exhausted(failed);
        return std::nullopt;
    }
}

std::unique_ptr<corpus_reader> read_single_document(const std::filesystem::path& path,
                                                    std::unique_ptr<byte_source> opened,
                                                    const corpus_options& options, const context& ctx) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path, unknown);
    folder_file file{path.filename().native(), path, unknown ? 0 : bytes, true};
    return std::make_unique<single_reader>(std::move(file), std::move(opened), options, ctx);
}

}  // namespace quern::io

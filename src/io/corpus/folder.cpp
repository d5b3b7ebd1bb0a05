// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/folder.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/byte_source.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/file_document.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Files are read where they are parsed, so that many threads read at once.
class file_unit final : public corpus_unit {
  public:
    file_unit(std::vector<folder_file> files, parsed_unit notes, std::uint64_t bytes, std::uint64_t limit,
              const context& run, std::unique_ptr<byte_source> opened = nullptr)
        : files_(std::move(files)),
          notes_(std::move(notes)),
          bytes_(bytes),
          limit_(limit),
          run_(run),
          opened_(std::move(opened)) {}

    parsed_unit parse() override {
        parsed_unit out = std::move(notes_);
        for (const auto& file : files_) parse_file(file, limit_, run_, out, opened_.get());
        out.counts.documents += out.documents.size();
        return out;
    }
    std::uint64_t raw_bytes() const override { return bytes_; }

  private:
    std::vector<folder_file> files_;
    parsed_unit notes_;
    std::uint64_t bytes_;
    std::uint64_t limit_;
    context run_;
    std::unique_ptr<byte_source> opened_;  ///< of the only file, where it can be read only once
};

/// For files read one by one on the threads that parse units: the run's stop flag and memory budget, but no
/// threads of their own, and no listeners, which must not be called from several threads.
context for_one_file(const context& run) {
    context alone = run;
    alone.threads = 1;
    alone.on_progress = nullptr;
    alone.on_log = nullptr;
    return alone;
}

/// Why a file is left out that is text of no known kind. An extension that is long, or only a number, says nothing of
/// other files, and there may be millions of such.
std::string other_kind(std::string_view path) {
    constexpr std::size_t longest = 8;
    const std::string name = extension_of(path);
    const auto in = [](std::string_view signs) {
        return [signs](char c) { return signs.find(c) != signs.npos; };
    };
    const bool plain = std::ranges::all_of(name, in("abcdefghijklmnopqrstuvwxyz0123456789+-_"));
    const bool number = name.size() > 1 && std::ranges::all_of(name, in("0123456789"));
    const bool tells = plain && !number && !name.empty() && name.size() <= longest;
    return tells ? "file of another kind: ." + name : "file of another kind";
}

class folder_reader final : public corpus_reader {
  public:
    folder_reader(const std::filesystem::path& root, std::optional<corpus_form> form,
                  const corpus_options& options, open_collection open, const context& run)
        : walk_(root),
          form_(form),
          options_(options),
          open_(std::move(open)),
          run_(run),
          alone_(for_one_file(run)) {}

    std::unique_ptr<corpus_unit> next() override {
        while (true) {
            run_.check_stop();
            if (collection_) {
                if (auto unit = collection_->next()) return unit;
                done_ += collection_->consumed_bytes();
                collection_.reset();
            }
            if (waiting_) {
                const auto [path, form] = *std::exchange(waiting_, std::nullopt);
                try {
                    collection_ = open_(path, form);
                } catch (const interrupted&) {
                    throw;
                } catch (const out_of_memory&) {  // the run's failure, not the file's
                    throw;
                } catch (const error& failed) {
                    reject(notes_, path.native(), 0, failed.what());
                }
                continue;
            }
            if (ended_) return nullptr;
            if (auto unit = batch()) return unit;
        }
    }

    std::uint64_t consumed_bytes() const override {
        return done_ + (collection_ ? collection_->consumed_bytes() : 0);
    }
    /// Whoever opens a folder counts it once, by folder_bytes(): that is a walk of its own.
    std::uint64_t total_bytes() const override { return 0; }

  private:
    /// Documents up to the unit's size, or up to a file that holds a collection. Null where there are none.
    std::unique_ptr<corpus_unit> batch() {
        constexpr std::size_t most_files = 4096;
        std::vector<folder_file> files;
        std::uint64_t bytes = 0;
        while (files.size() < most_files && (files.empty() || bytes < options_.unit_bytes)) {
            auto file = walk_.next(notes_);
            if (!file) {
                ended_ = true;
                break;
            }
            if (const auto form = collection_form(*file)) {
                waiting_.emplace(file->path, *form);
                break;
            }
            if (is_document_) {
                bytes += file->bytes;
                done_ += file->bytes;
                files.push_back(std::move(*file));
            }
        }
        const bool silent = notes_.issues.empty() && notes_.counts.skipped.empty();
        if (files.empty() && silent) return nullptr;
        return std::make_unique<file_unit>(std::move(files), std::exchange(notes_, {}), bytes,
                                           options_.max_document_bytes, alone_);
    }

    /// The form of a file that holds a collection. Else `is_document_` says whether it is a document.
    std::optional<corpus_form> collection_form(const folder_file& file) {
        is_document_ = form_ == corpus_form::folder;
        if (is_document_) return std::nullopt;
        if (form_) return form_;
        const file_kind kind = kind_of(file.relative);
        is_document_ = kind != file_kind::unknown;
        if (kind != file_kind::unknown && kind != file_kind::text) return std::nullopt;
        try {
            std::string head(detection_bytes, '\0');
            const auto source = open_bytes(file.path, alone_);
            head.resize(source->read(head));
            const auto found = detect_collection(head, head.size() < detection_bytes, file.relative);
            if (found) return found;
            if (kind == file_kind::unknown) {
                is_document_ = opens_as_html(head);
                if (!is_document_) {
                    ++notes_.counts.skipped[is_binary(head) ? "binary file" : other_kind(file.relative)];
                    done_ += file.bytes;
                }
            }
        } catch (const error&) {
            is_document_ = true;  // parse_file meets the same failure and words it
        }
        return std::nullopt;
    }

    folder_walk walk_;
    std::optional<corpus_form> form_;
    corpus_options options_;
    open_collection open_;
    context run_, alone_;
    std::uint64_t done_ = 0;
    parsed_unit notes_;
    std::unique_ptr<corpus_reader> collection_;
    std::optional<std::pair<std::filesystem::path, corpus_form>> waiting_;
    bool ended_ = false, is_document_ = false;
};

class single_reader final : public corpus_reader {
  public:
    single_reader(folder_file file, std::unique_ptr<byte_source> opened, std::uint64_t limit,
                  const context& run)
        : file_(std::move(file)), opened_(std::move(opened)), limit_(limit), run_(for_one_file(run)) {}
    std::unique_ptr<corpus_unit> next() override {
        if (std::exchange(done_, true)) return nullptr;
        return std::make_unique<file_unit>(std::vector{file_}, parsed_unit{}, file_.bytes, limit_, run_,
                                           std::move(opened_));
    }
    std::uint64_t consumed_bytes() const override { return done_ ? file_.bytes : 0; }
    std::uint64_t total_bytes() const override { return file_.bytes; }

  private:
    folder_file file_;
    std::unique_ptr<byte_source> opened_;
    std::uint64_t limit_;
    context run_;
    bool done_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_folder(const std::filesystem::path& root, std::optional<corpus_form> form,
                                           const corpus_options& options, open_collection open,
                                           const context& run) {
    return std::make_unique<folder_reader>(root, form, options, std::move(open), run);
}

std::unique_ptr<corpus_reader> read_single_document(const std::filesystem::path& path,
                                                    std::unique_ptr<byte_source> opened,
                                                    const corpus_options& options, const context& run) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path, unknown);
    folder_file file{path.filename().native(), path, unknown ? 0 : bytes};
    return std::make_unique<single_reader>(std::move(file), std::move(opened), options.max_document_bytes,
                                           run);
}

}  // namespace quern::io

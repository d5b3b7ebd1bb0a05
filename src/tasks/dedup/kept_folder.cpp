// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "device/files/file_writer.hpp"
#include "io/byte_source.hpp"
#include "io/compression/gzip_writer.hpp"
#include "io/compression/zstd_writer.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/output_file.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/record_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t piece_bytes = 1 << 20;

fs::path without_last_slash(const fs::path& path) {
    return path.has_filename() ? path : path.parent_path();
}

void check_folder(const fs::path& folder, const corpus_input& input) {
    check_output_folder(folder);
    std::error_code failed;
    if (fs::exists(folder, failed) && !fs::is_empty(folder, failed)) {
        throw usage_error(
            folder.string() +
            " exists and is not empty (expected a new or an empty folder for the kept documents)");
    }
    for (const fs::path& each : input.inputs) {
        if (each == "-")
            throw usage_error(
                "standard input has no file name; write its documents to a file, not to a folder");
        const fs::file_status status = fs::status(each, failed);
        if (!fs::is_directory(status) && !fs::is_regular_file(status)) {
            throw usage_error(
                each.string() +
                " is neither a file nor a folder; write its documents to a file, not to a folder");
        }
        refuse_overlap(folder, each);
    }
}

/// A file that compresses what it is given if its name says so.
class compressed_file {
  public:
    compressed_file(const fs::path& path, const context& ctx) : file_(path) {
        const auto to_file = [this](std::string_view bytes) { file_.append(bytes); };
        const std::string ending = path.extension().string();
        if (!is_compressed_name(path)) return;
        if (std::ranges::count("gG", ending[1]) != 0) {
            gzip_.emplace(to_file, ctx);
        } else {
            zstd_.emplace(to_file, ctx);
        }
    }
    compressed_file(const compressed_file&) = delete;  // the writers point into it
    compressed_file& operator=(const compressed_file&) = delete;
    ~compressed_file() = default;

    void append(std::string_view bytes) {
        if (gzip_) return gzip_->append(bytes);
        if (zstd_) return zstd_->append(bytes);
        file_.append(bytes);
    }
    void close() {
        if (gzip_) gzip_->finish();
        if (zstd_) zstd_->finish();
        file_.close();
    }

  private:
    file_writer file_;
    std::optional<io::gzip_writer> gzip_;
    std::optional<io::zstd_writer> zstd_;
};

}  // namespace

kept_folder::kept_folder(const fs::path& folder, const corpus_input& input, const fs::path& scratch_file)
    : records_(scratch_file) {
    const fs::path target = without_last_slash(folder);
    check_folder(target, input);
    const bool may_be_collections = input.input_format != name_of(io::corpus_form::binary) &&
                                    input.input_format != name_of(io::corpus_form::folder);
    for (const fs::path& each : input.inputs) {
        std::error_code failed;
        if (!fs::is_directory(each, failed)) {
            take_name(each.filename().native(), each.native());
            if (may_be_collections && io::kind_of(each.filename().native()) == io::file_kind::unknown)
                named_.push_back(each);
            continue;
        }
        io::folder_walk walk(each, input.follow_links);
        io::parsed_unit ignored;
        while (const auto file = walk.next(ignored)) {
            take_name(file->relative, file->path.native());
            ignored = {};
        }
    }
    folder_ = std::make_unique<io::atomic_folder>(target, io::existing::replace);
}

/// No file may have the name of another file, nor that of a folder that another file needs.
void kept_folder::take_name(const std::string& name, std::string_view path) {
    bool taken = !names_.insert(name, 0) || folders_.find(hash128(name)).has_value();
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
        const std::string parent = name.substr(0, slash);
        taken = taken || names_.find(hash128(parent)).has_value();
        folders_.insert(parent, 0);
    }
    if (taken) {
        throw usage_error(
            fmt::format("{} and another input would both be written to {} below the folder of the "
                        "kept documents; give them to separate runs, or write one file",
                        path, name));
    }
}

void kept_folder::append(const document& d) {
    if (files_.empty() || files_.back().scope != d.scope || files_.back().path != d.path) begin_file(d);
    const std::uint64_t begin = ends_.empty() ? 0 : ends_.back();
    if (files_.back().is_document) {
        ends_.push_back(begin);
        return;
    }
    const std::string made = files_.back().has_lines ? std::string() : json_record(d);
    const std::string_view record = made.empty() ? std::string_view(d.record) : made;
    records_.append(record);
    const bool open = !record.ends_with('\n');  // the last line of a file
    if (open) records_.append("\n");
    ends_.push_back(begin + record.size() + (open ? 1 : 0));
}

void kept_folder::begin_file(const document& d) {
    source_file file;
    file.path = d.path;
    file.name_at = d.name_at;
    file.scope = d.scope;
    file.first = ends_.size();
    file.is_document = d.line == 0;
    file.has_lines = !d.record.empty();
    file.heading = d.record_heading;
    if (file.is_document) file.state = state_of(file.path);
    if (const std::string name = output_name(file); name != file.path.substr(file.name_at))
        take_name(name, file.path);
    files_.push_back(std::move(file));
}

std::string kept_folder::output_name(const source_file& file) {
    std::string name = file.path.substr(file.name_at);
    if (file.is_document) return name;
    const bool is_written = is_compressed_name(name);
    std::string ending = is_written ? fs::path(name).extension().string() : "";
    name = io::without_compression(name);
    if (!file.has_lines) name += ".jsonl";
    return name + ending;
}

kept_folder::file_state kept_folder::state_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
            static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void kept_folder::publish(const std::function<bool(std::size_t)>& wanted, const context& ctx) {
    records_.flush();
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        ctx.check_stop();
        ctx.report({"write documents", done++, files_.size(), "files"});
        const source_file& file = files_[i];
        const std::size_t end = i + 1 < files_.size() ? files_[i + 1].first : ends_.size();
        if (!file.is_document) {
            write_lines(file, end, wanted, ctx);
        } else if (wanted(file.first)) {
            copy(file, ctx);
        }
    }
    write_empty(ctx);
    if (std::error_code failed;
        fs::exists(folder_->path(), failed) && !fs::is_empty(folder_->path(), failed)) {
        throw usage_error(folder_->path().string() +
                          " has been filled meanwhile; it stays as it is, and nothing was written");
    }
    folder_->commit();
}

fs::path kept_folder::created(const std::string& name) const {
    fs::path path = folder_->file(name);
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) throw io_error(path.parent_path().string(), "cannot create", failed.value());
    if (fs::exists(fs::symlink_status(path, failed)))
        throw invalid_input(
            name, 0, "two files have this name, one of which appeared during the run; nothing was written");
    return path;
}

void kept_folder::write_lines(const source_file& file, std::size_t end,
                              const std::function<bool(std::size_t)>& wanted, const context& ctx) {
    compressed_file to(created(output_name(file)), ctx);
    if (file.heading) to.append(*file.heading);
    std::string piece;
    for (std::size_t i = file.first; i < end; ++i) {
        if (!wanted(i)) continue;
        const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
        for (std::uint64_t at = begin; at < ends_[i]; at += piece.size()) {
            piece.resize(std::min(piece_bytes, ends_[i] - at));
            records_.read_at(at, piece);
            to.append(piece);
        }
        ctx.check_stop();
    }
    to.close();
}

void kept_folder::copy(const source_file& file, const context& ctx) {
    file_writer to(created(output_name(file)));
    const auto refuse_other = [&] {
        if (state_of(file.path) != file.state)
            throw invalid_input(file.path, 0, "was changed after it was compared; nothing was written");
    };
    refuse_other();
    const auto from = io::open_raw_bytes(file.path, ctx);
    std::string piece(piece_bytes, '\0');
    while (const std::size_t got = from->read(piece)) to.append(std::string_view(piece).substr(0, got));
    refuse_other();
    to.close();
}

/// A collection that was given as an input has an output even if no document could be read from it.
void kept_folder::write_empty(const context& ctx) {
    std::unordered_set<std::string_view> written;
    for (const source_file& file : files_) written.insert(file.path);
    for (const fs::path& input : named_) {
        source_file file;
        file.path = input.native();
        if (written.contains(file.path)) continue;
        file.name_at = static_cast<std::uint32_t>(file.path.rfind('/') + 1);
        file.has_lines = true;
        compressed_file(created(output_name(file)), ctx).close();
    }
}

}  // namespace quern

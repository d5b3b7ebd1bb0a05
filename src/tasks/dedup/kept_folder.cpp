// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_folder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/file_status.hpp"
#include "device/files/temporary.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/folder.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/corpus/record_text.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/output_file.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/kept_rows.hpp"
#include "tasks/dedup/record_file.hpp"
#include "tasks/shared/output_folder.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t piece_bytes = 1 << 20;
constexpr std::string_view manifest_name = io::kept_list_name;

fs::path folder_of(const fs::path& target) {
    fs::path folder = target.has_filename() ? target : target.parent_path();
    // A folder next to "x/." would be in x.
    if (folder.filename() == "." || folder.filename() == "..") folder = resolved_folder(folder);
    return folder;
}

fs::path checked(const kept_target& target) {
    fs::path folder = folder_of(target.folder);
    check_output_folder(folder);
    std::error_code failed;
    if (fs::exists(folder, failed) && !fs::is_empty(folder, failed)) {
        throw usage_error(
            folder.string() +
            " exists and is not empty (expected a new or an empty folder for the kept documents)");
    }
    if (fs::equivalent(folder, fs::current_path(failed), failed))  // shells would stay in the old one
        throw usage_error(target.folder.string() +
                          " is the current folder, which a new one would replace (expected another folder)");
    if (target.input.source != nullptr)
        throw usage_error("documents in memory are in no files; write them to a file, not to a folder");
    for (const fs::path& each : target.input.inputs) {
        if (each == "-")
            throw usage_error(
                "standard input has no file name; write its documents to a file, not to a folder");
        const fs::file_status status = file_status_of(each);
        if (!fs::is_directory(status) && !fs::is_regular_file(status)) {
            throw usage_error(
                each.string() +
                " is neither a file nor a folder; write its documents to a file, not to a folder");
        }
        refuse_overlap(folder, each);
    }
    return folder;
}

std::unique_ptr<io::name_lock> lock(const fs::path& folder) {
    try {
        return std::make_unique<io::name_lock>(folder);
    } catch (const io::name_in_use&) {
        throw usage_error("another run is writing to " + folder.string());
    }
}

/// Of a file whose documents are rows of columns, written as JSON lines.
bool names_columns(std::string_view name) {
    constexpr std::array<std::string_view, 5> endings = {".parquet", ".arrow", ".arrows", ".feather", ".ipc"};
    return std::ranges::any_of(endings, [&](std::string_view each) { return name.ends_with(each); });
}

std::string output_name(const source_file& file) {
    std::string name = file.path.substr(file.name_at);
    if (file.is_document || file.has_rows) return name;
    const bool is_written = is_compressed_name(name);
    std::string ending = is_written ? fs::path(name).extension().string() : "";
    name = io::without_compression(name);
    if (!file.has_lines || names_columns(name)) name += ".jsonl";
    return name + ending;
}

/// Another one if the file is changed.
hash128_value version_of(const io::folder_file& file) {
    const io::file_state& state = file.state;
    return hash128(fmt::format("{} {} {} {}", state.bytes, state.number, state.modified, file.path.native()));
}

std::string in_words(const file_state& state) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(static_cast<std::time_t>(state.seconds)),
                       state.nanoseconds);
}

json entry_of(const source_file& file, const std::string& name, std::uint64_t documents, std::uint64_t kept,
              const written_file& written) {
    return {{"name", json_of_bytes(name)},
            {"bytes", written.bytes},
            {"xxh128", written.checksum},
            {"documents", documents},
            {"kept", kept},
            {"source",
             {{"path", json_of_bytes(file.path)},
              {"bytes", file.state.bytes},
              {"modified", in_words(file.state)}}}};
}

/// Removes what a killed run had begun to write.
void remove_all_but(const std::map<std::string, json>& finished, const fs::path& folder) {
    std::vector<fs::path> others;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory()) continue;
        if (!finished.contains(entry.path().lexically_relative(folder).native()))
            others.push_back(entry.path());
    }
    for (const fs::path& other : others) fs::remove(other);
}

}  // namespace

kept_folder::kept_folder(const kept_target& target, const context& ctx)
    : target_(checked(target)),
      fields_(target.input.fields),
      form_(io::corpus_form_named(target.input.input_format)),
      follow_links_(target.input.follow_links),
      resume_(target.resume),
      request_(target.request),
      only_one_(lock(target_)),
      folder_(target_, io::existing::replace,
              [&](const fs::path& folder, const fs::path& notes) { return goes_on(folder, notes, ctx); }),
      journal_(folder_.notes()) {
    take_name(std::string(manifest_name), "the list of files");
    const corpus_input& input = target.input;
    const bool may_be_collections = input.input_format != name_of(io::corpus_form::binary) &&
                                    input.input_format != name_of(io::corpus_form::folder);
    for (const fs::path& each : input.inputs) {
        std::error_code failed;
        if (!fs::is_directory(each, failed)) {
            take_name(each.filename().native(), each.native());
            if (may_be_collections &&
                (form_ || io::kind_of(each.filename().native()) == io::file_kind::unknown))
                named_.push_back(each);
            continue;
        }
        folders_of_inputs_.push_back(each);
        io::folder_walk walk(each, input.follow_links);
        io::parsed_unit ignored;
        while (const auto file = walk.next(ignored)) {
            take_name(file->relative, file->path.native());
            listed_.insert(version_of(*file), 0);
            ignored = {};
        }
    }
    finished_ = journal_.take_outputs();
    remove_all_but(finished_, folder_.folder());
    request_.write_to(folder_.notes());
}

bool kept_folder::goes_on(const fs::path&, const fs::path& notes, const context& ctx) {
    const auto before = kept_request::read_from(notes);
    if (!before) return false;
    if (!resume_) {
        ctx.log(log_level::info,
                target_.string() + ": an interrupted run is given up (--resume continues one)");
        return false;
    }
    const std::string difference = request_.difference_from(*before);
    if (!difference.empty()) {
        throw usage_error(fmt::format(
            "the interrupted run for {} cannot be continued: {} (expected the same inputs and options; "
            "without --resume it begins anew)",
            target_.string(), difference));
    }
    ctx.log(log_level::info, target_.string() + ": continuing an interrupted run");
    return true;
}

bool kept_folder::is_complete(const fs::path& target, const kept_request& request) {
    const fs::path folder = folder_of(target), file = folder / manifest_name;
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) return false;
    const json manifest = json::parse(io::mapped_file(file).text(), nullptr, false);
    const auto is = [&manifest](const char* name, std::string_view text) {
        const auto at = manifest.find(name);
        return at != manifest.end() && *at == text;
    };
    if (!is("format", io::kept_list_format)) return false;
    const bool is_same = is("request", request.checksum());
    if (is_same) {
        const auto only_one = lock(folder);
        remove_stale_temporaries(parent_of(folder), temporary_prefix(folder));
    }
    return is_same;
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

std::optional<io::corpus_place> kept_folder::take_batches(document_table& table, reading_record& record,
                                                          const std::function<void(const document&)>& take,
                                                          const context& ctx) {
    std::optional<io::corpus_place> next = io::corpus_place{};
    while (!has_read_all_) {
        std::optional<read_batch> batch = journal_.batch(batch_number(), ends_.size(), ctx);
        if (!batch) break;
        std::uint64_t before = 0, index = 0;
        for (const std::uint64_t end : batch->text_ends.values<std::uint64_t>(0, batch->documents)) {
            const std::string_view id = io::column_string(batch->ids, index++, batch->documents);
            if (!table.add(id, end - before)) batch->ids.fail("has a duplicate id");
            before = end;
        }
        table.map_texts(batch->texts_file);
        ends_.insert(ends_.end(), batch->record_ends.begin(), batch->record_ends.end());
        for (std::size_t i = 0; i < batch->files.size(); ++i) {
            document of_file;
            of_file.path = batch->files[i].path;
            const std::size_t end = i + 1 < batch->files.size() ? batch->files[i + 1].first
                                                                : batch->records.first + batch->documents;
            for (std::size_t d = batch->files[i].first; d < end; ++d) take(of_file);
            add_file(std::move(batch->files[i]));
        }
        batches_.push_back(std::move(batch->records));
        record = std::move(batch->record);
        next = batch->next;
        has_read_all_ = !next;
    }
    batch_files_ = files_.size();
    return next;
}

void kept_folder::append(const document& d) {
    if (!batch_) batch_ = std::make_unique<batch_writer>(notes(), batch_number(), ends_.size());
    const bool is_new = files_.size() == batch_files_;
    if (is_new || files_.back().scope != d.scope || files_.back().path != d.path) begin_file(d);
    if (files_.back().has_rows) {
        batch_->append(row_record(d));
    } else if (!files_.back().is_document) {
        const std::string made = files_.back().has_lines ? std::string() : json_record(d);
        const std::string_view record = made.empty() ? std::string_view(d.record) : made;
        batch_->append(record);
        if (!record.ends_with('\n')) batch_->append("\n");  // the last line of a file
    }
    ends_.push_back(batch_->size());
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
    file.form = d.record_kind;
    file.has_rows = !file.is_document && is_parquet(file.path);
    file.state = state_of(file.path);
    add_file(std::move(file));
}

void kept_folder::add_file(source_file file) {
    if (const std::string name = output_name(file); name != file.path.substr(file.name_at))
        take_name(name, file.path);
    files_.push_back(std::move(file));
}

void kept_folder::end_batch(shard_writer* texts, const reading_record& record,
                            const std::optional<io::corpus_place>& next) {
    if (!batch_) batch_ = std::make_unique<batch_writer>(notes(), batch_number(), ends_.size());
    batches_.push_back(batch_->finish());
    if (texts != nullptr) {
        const std::size_t first = batches_.back().first;
        journal_.add_batch(*batch_, *texts, std::span(files_).subspan(batch_files_),
                           std::span(ends_).subspan(first), record, next);
        if (resume_) folder_.keep();
    }
    batch_.reset();
    batch_files_ = files_.size();
    has_read_all_ = !next;
}

void kept_folder::keep_choice(const kept_choice& choice) {
    journal_.add_choice(choice);
}

void kept_folder::publish(const std::function<bool(std::size_t)>& wanted, const std::function<void()>& before,
                          const context& ctx, const new_text& text_of) {
    text_of_ = text_of;
    // Whatever happens, this run is over: the result may stay for long.
    const std::unique_ptr<io::name_lock> released = std::move(only_one_);
    if (resume_) folder_.keep();
    std::uint64_t done = 0, kept = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        ctx.check_stop();
        ctx.report({"write documents", done++, files_.size(), "files"});
        write_file(files_[i], i + 1 < files_.size() ? files_[i + 1].first : ends_.size(), wanted, ctx);
    }
    write_empty(ctx);
    for (std::size_t d = 0; d < ends_.size(); ++d) kept += wanted(d) ? 1 : 0;
    write_manifest(kept);
    if (std::error_code failed; fs::exists(target_, failed) && !fs::is_empty(target_, failed)) {
        throw usage_error(target_.string() +
                          " has been filled meanwhile; it stays as it is, and nothing was written");
    }
    if (before) before();
    folder_.commit();
}

fs::path kept_folder::created(const std::string& name) const {
    fs::path path = folder_.folder() / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) throw io_error(path.parent_path().string(), "cannot create", failed.value());
    if (fs::exists(fs::symlink_status(path, failed)))
        throw invalid_input(
            name, 0, "two files have this name, one of which appeared during the run; nothing was written");
    return path;
}

/// An output of an earlier run, if its bytes are still those that were written.
bool kept_folder::is_finished(const std::string& name, const context& ctx) {
    const auto at = finished_.find(name);
    if (at == finished_.end()) return false;
    const fs::path path = folder_.folder() / name;
    std::error_code failed;
    if (fs::is_regular_file(fs::symlink_status(path, failed))) {
        const written_file found = describe_written(path, ctx);
        const json& entry = at->second;
        if (found.bytes == entry.at("bytes").get<std::uint64_t>() &&
            found.checksum == entry.at("xxh128").get<std::string>())
            return true;
    }
    fs::remove(path, failed);
    return false;
}

void kept_folder::add_entry(json entry, bool is_logged) {
    if (is_logged) journal_.add_output(entry);
    outputs_.push_back(std::move(entry));
}

void kept_folder::write_file(const source_file& file, std::size_t end,
                             const std::function<bool(std::size_t)>& wanted, const context& ctx) {
    const std::string name = output_name(file);
    if (is_finished(name, ctx)) return outputs_.push_back(finished_.at(name));
    std::uint64_t kept = 0;
    for (std::size_t d = file.first; d < end; ++d) kept += wanted(d) ? 1 : 0;
    if (file.is_document && kept == 0) return;
    const written_file written = file.is_document ? copy(file, name, ctx)
                                 : file.has_rows  ? write_rows(file, name, end, wanted, ctx)
                                                  : write_lines(file, name, end, wanted, ctx);
    add_entry(entry_of(file, name, end - file.first, kept, written), true);
}

std::string_view kept_folder::record(std::size_t document) const {
    const auto after = std::ranges::upper_bound(batches_, document, {}, &batch_records::first);
    const batch_records& batch = *(after - 1);
    const std::uint64_t begin = document == batch.first ? 0 : ends_[document - 1];
    return batch.records.bytes(begin, ends_[document] - begin);
}

written_file kept_folder::write_lines(const source_file& file, const std::string& name, std::size_t end,
                                      const std::function<bool(std::size_t)>& wanted, const context& ctx) {
    kept_output to(created(name), kept_output::form::by_name, ctx);
    if (file.heading) to.append(*file.heading);
    for (std::size_t i = file.first; i < end; ++i) {
        if (!wanted(i)) continue;
        std::string_view rest = record(i);
        std::string changed;
        if (const auto text = text_of_ ? text_of_(i) : std::nullopt) {
            const std::string_view heading =
                file.heading ? std::string_view(*file.heading) : std::string_view();
            changed =
                io::with_text(rest, file.form, heading, *text, file.has_lines ? fields_ : document_fields());
            rest = changed;
        }
        while (!rest.empty()) {
            to.append(rest.substr(0, piece_bytes));
            rest.remove_prefix(std::min<std::size_t>(piece_bytes, rest.size()));
        }
        ctx.check_stop();
    }
    return to.close();
}

written_file kept_folder::write_rows(const source_file& file, const std::string& name, std::size_t end,
                                     const std::function<bool(std::size_t)>& wanted, const context& ctx) {
    kept_output to(created(name), kept_output::form::as_it_is, ctx);
    refuse_changed(file.path, file.state);
    kept_rows rows(ctx);
    for (std::size_t d = file.first; d < end; ++d) {
        if (wanted(d)) rows.take(row_of(record(d)));
    }
    io::parquet::row_writer writer([&to](std::string_view bytes) { to.append(bytes); }, ctx);
    rows.write(file.path, writer);
    writer.finish();
    refuse_changed(file.path, file.state);
    return to.close();
}

written_file kept_folder::copy(const source_file& file, const std::string& name, const context& ctx) {
    kept_output to(created(name), kept_output::form::as_it_is, ctx);
    const auto refuse_other = [&] { refuse_changed(file.path, file.state); };
    refuse_other();
    const auto from = io::open_raw_bytes(file.path, ctx);
    std::string piece(piece_bytes, '\0');
    while (const std::size_t got = from->read(piece)) to.append(std::string_view(piece).substr(0, got));
    refuse_other();
    return to.close();
}

/// A collection that was given as an input, or in a folder, has an output even if no document could be read from it.
void kept_folder::write_empty(const context& ctx) {
    std::unordered_set<std::string_view> written;
    for (const source_file& file : files_) written.insert(file.path);
    for (const fs::path& input : named_) {
        if (written.contains(input.native())) continue;
        const io::folder_file file{input.filename().native(), input};
        const auto head = io::read_collection_head(file, form_, fields_, ctx);
        write_empty_file(file, head.value_or(io::collection_head{io::corpus_form::jsonl, {}}), ctx);
    }
    for (const fs::path& input : folders_of_inputs_) {
        io::folder_walk walk(input, follow_links_);
        io::parsed_unit ignored;
        for (; const auto file = walk.next(ignored); ignored = {}) {
            ctx.check_stop();
            if (written.contains(file->path.native())) continue;
            const auto head = io::read_collection_head(*file, form_, fields_, ctx);
            if (!head) continue;
            if (listed_.find(version_of(*file)))
                write_empty_file(*file, *head, ctx);
            else
                ctx.log(log_level::warning,
                        file->path.string() + " appeared or changed during the run; it has no output");
        }
    }
}

void kept_folder::write_empty_file(const io::folder_file& of, const io::collection_head& head,
                                   const context& ctx) {
    source_file file;
    file.path = of.path.native();
    file.name_at = static_cast<std::uint32_t>(file.path.size() - of.relative.size());
    file.has_lines = head.form == io::corpus_form::jsonl || head.form == io::corpus_form::tsv ||
                     head.form == io::corpus_form::csv || head.form == io::corpus_form::text_lines ||
                     head.form == io::corpus_form::text_paragraphs;
    if (!head.heading.empty()) file.heading = std::make_shared<const std::string>(head.heading);
    file.has_rows = is_parquet(file.path);
    if (file.has_rows && !has_rows(file.path, ctx)) return;  // it was rejected as a whole
    file.state = state_of(file.path);
    const std::string name = output_name(file);
    if (name != of.relative) take_name(name, file.path);
    std::error_code failed;
    if (finished_.contains(name)) fs::remove(folder_.folder() / name, failed);
    const std::size_t end = file.first = ends_.size();
    const written_file empty =
        file.has_rows ? write_rows(file, name, end, {}, ctx) : write_lines(file, name, end, {}, ctx);
    add_entry(entry_of(file, name, 0, 0, empty), false);
}

void kept_folder::write_manifest(std::uint64_t kept) {
    const json manifest = {{"format", io::kept_list_format}, {"version", 1},
                           {"request", request_.checksum()}, {"parameters", request_.parameters},
                           {"documents", ends_.size()},      {"kept", kept},
                           {"outputs", std::move(outputs_)}};
    outputs_ = json::array();
    file_writer to(created(std::string(manifest_name)));
    to.append(manifest.dump(1));
    to.append("\n");
    to.close();
}

}  // namespace quern

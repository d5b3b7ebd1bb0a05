// SPDX-License-Identifier: Apache-2.0
// Manifest and journal cannot be replaced in one step. So the journal is written first and names both manifests, the
// current and the next one; the one found shows how far the build got.
#include "tasks/store_build/journal.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/failure_kinds.hpp"
#include "base/hash.hpp"
#include "device/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/record_json.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/duplicates_log.hpp"
#include "tasks/verify/verify_store.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr manifests::kind of_a_build = {"journal.json", "quern build at work", 1,
                                        "is not the journal of a build", "is not the JSON of a journal"};
constexpr std::string_view excluded_name = "left_out";

json to_json(const std::vector<stage_statistics>& stages) {
    json members = json::array();
    for (const stage_statistics& s : stages)
        members.push_back({s.name, s.seconds, s.thread_seconds, s.bytes});
    return members;
}

std::vector<stage_statistics> stages_of(const json& members) {
    std::vector<stage_statistics> stages;
    for (const json& s : members) stages.push_back({s.at(0), s.at(1), s.at(2), s.at(3)});
    return stages;
}

std::string checksum_of(std::string_view text) {
    return manifests::hex(hash64(text));
}

std::string manifest_checksum(const fs::path& store) {
    if (!is_store(store)) return {};
    return checksum_of(io::mapped_file(store / store_layout::manifest).text());
}

void remove_all_but(const fs::path& folder, const std::set<fs::path>& kept) {
    std::vector<fs::path> others;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!kept.contains(entry.path().filename())) others.push_back(entry.path());
    }
    for (const fs::path& other : others) fs::remove_all(other);
}

}  // namespace

build_journal::build_journal(fs::path notes, std::string request)
    : notes_(std::move(notes)), request_(std::move(request)) {}

void build_journal::add_duplicates(duplicates_outcome found) {
    duplicates_ = std::move(found);
    for (const auto& [name, count] : duplicates_->counts) counts[name] = count;
    if (notes_.empty()) return;
    io::section_writer file(manifests::file_of(notes_, excluded_name));
    file.append_values(std::span<const excluded_document>(duplicates_->excluded));
    excluded_ = listed_section(excluded_name, file.finish());
    write();
}

std::vector<excluded_document> build_journal::take_excluded() {
    return std::exchange(duplicates_->excluded, {});
}

void build_journal::add(const fs::path& store, const store_info& info) {
    const std::string manifest = store_layout::manifest_text(info);
    manifest_before_ = std::exchange(manifest_, checksum_of(manifest));
    info_ = info;
    if (!notes_.empty()) write();
    replace_file(store / store_layout::manifest, manifest);
}

void build_journal::write() const {
    json members = {{"request", checksum_of(request_)},
                    {"manifests", {manifest_before_, manifest_}},
                    {"record", to_json(record)},
                    {"counts", counts},
                    {"stages", to_json(stages)}};
    if (excluded_) {
        members["left_out"] = manifests::to_json({*excluded_}).front();
        members["sections"] = manifests::to_json(duplicates_->sections);
    }
    replace_file(notes_ / of_a_build.file, manifests::text_of(of_a_build, in_utf8(members)));
}

/// False if it belongs to another build, or if the store is none of those that it names.
bool build_journal::read(const fs::path& store) {
    bool same = false;
    manifests::read(notes_, of_a_build, [&](const json& members) {
        same = members.at("request") == checksum_of(request_);
        manifest_before_ = members.at("manifests").at(0);
        manifest_ = members.at("manifests").at(1);
        record = record_of(members.at("record"));
        counts = members.at("counts").get<std::map<std::string, std::uint64_t>>();
        stages = stages_of(members.at("stages"));
        if (!members.contains("left_out")) return;
        excluded_ = manifests::sections_of({{std::string(excluded_name), members.at("left_out")}}).front();
        duplicates_.emplace().sections = manifests::sections_of(members.at("sections"));
    });
    if (!same) return false;
    const std::string stored_checksum = manifest_checksum(store);
    if (stored_checksum != manifest_ && stored_checksum != manifest_before_) return false;
    manifest_ = stored_checksum;
    if (!stored_checksum.empty()) info_ = store_layout::read_manifest(store);
    return true;
}

std::optional<build_journal> build_journal::take_over(const fs::path& store, const fs::path& notes,
                                                      const std::string& request, const context& ctx) {
    build_journal journal(notes, request);
    try {
        if (!journal.read(store) || (!journal.info_ && !journal.duplicates_)) return {};
        if (journal.excluded_) {
            const io::section_view file(manifests::file_of(notes, excluded_name), std::string(excluded_name),
                                        journal.excluded_->checksum);
            const auto excluded = file.values<excluded_document>(0, file.size() / sizeof(excluded_document));
            if (!journal.info_) journal.duplicates_->excluded.assign(excluded.begin(), excluded.end());
        }
        if (journal.info_) {
            check_files(store, *journal.info_, ctx);
        } else if (journal.duplicates_) {
            store_info so_far;
            so_far.sections = journal.duplicates_->sections;
            check_files(store, so_far, ctx);
        }
        journal.remove_unnamed(store);
    } catch (const damaged_store&) {
        return {};
    } catch (const io_error& failed) {
        // A transient failure discards nothing.
        if (!says_missing(failed.code())) throw;
        return {};
    }
    return journal;
}

void build_journal::remove_unnamed(const fs::path& store) const {
    std::set<fs::path> kept = {fs::path(stop_words_file_name), fs::path(duplicates_log_name)};
    const auto keep = [&kept](const std::vector<store_section>& sections) {
        for (const store_section& section : sections) {
            kept.insert(section.name + std::string(manifests::section_extension));
        }
    };
    if (info_) {
        kept.insert(fs::path(store_layout::manifest));
        kept.insert(fs::path(read_files_name));
        keep(info_->sections);
        if (info_->thesaurus) kept.insert(fs::path(store_layout::thesaurus));
    } else {
        keep(duplicates_->sections);
    }
    remove_all_but(store, kept);
}

}  // namespace quern

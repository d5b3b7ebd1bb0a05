// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <utility>

#include "base/failure_kinds.hpp"
#include "base/hash.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/record_json.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view batch_format = "quern dedup batch", records_name = "records",
                           record_ends_name = "record_ends", choice_name = "choice";
constexpr manifests::kind of_a_choice = {"choice.json", "quern dedup choice", 1, "is not the choice of a run",
                                         "is not the JSON of a choice"};
constexpr std::string_view outputs_name = "finished";
constexpr std::size_t checksum_digits = 16;

manifests::kind of_batch(std::string_view file) {
    return {file, batch_format, 1, "is not a batch of a run", "is not the JSON of a batch"};
}

std::string file_of_batch(std::uint32_t number) {
    return fmt::format("{:06}.json", number);
}

std::string name_in_batch(std::uint32_t number, std::string_view section) {
    return fmt::format("{:06}.{}", number, section);
}

json to_json(const source_file& file, std::size_t first) {
    json member = {{"path", json_of_bytes(file.path)},
                   {"name_at", file.name_at},
                   {"first", file.first - first},
                   {"state",
                    {file.state.device, file.state.number, file.state.bytes, file.state.seconds,
                     file.state.nanoseconds}}};
    if (file.is_document) member["is_document"] = true;
    if (file.has_lines) member["has_lines"] = true;
    if (file.has_rows) member["has_rows"] = true;
    if (file.heading) member["heading"] = json_of_bytes(*file.heading);
    return member;
}

source_file file_of(const json& member, std::size_t first) {
    source_file file;
    file.path = bytes_of_json(member.at("path"));
    file.name_at = member.at("name_at");
    file.first = member.at("first").get<std::size_t>() + first;
    const json& state = member.at("state");
    file.state = {state.at(0), state.at(1), state.at(2), state.at(3), state.at(4)};
    file.is_document = member.contains("is_document");
    file.has_lines = member.contains("has_lines");
    file.has_rows = member.contains("has_rows");
    if (member.contains("heading"))
        file.heading = std::make_shared<const std::string>(bytes_of_json(member.at("heading")));
    return file;
}

template <class Value>
store_section write_section(const fs::path& notes, const std::string& name, std::span<const Value> values) {
    const fs::path path = manifests::file_of(notes, name);
    io::section_writer section(path);
    section.append_values(values);
    const auto done = section.finish();
    sync_file(open_file(path, O_RDONLY), path);
    return {name, done.file_bytes, done.checksum};
}

/// A part of a run that is missing or damaged is done once more; nothing else is hidden.
template <class Read>
bool is_whole(const Read& read) {
    try {
        read();
        return true;
    } catch (const damaged_store&) {
        return false;
    } catch (const json::exception&) {
        return false;
    } catch (const io_error& failed) {
        if (!says_missing(failed.code())) throw;
        return false;
    }
}

void check_ends(const io::section_view& section, std::span<const std::uint64_t> ends, std::uint64_t last) {
    std::uint64_t before = 0;
    for (const std::uint64_t end : ends) {
        if (end < before) section.fail("is out of order");
        before = end;
    }
    if (before != last) section.fail("does not fit the data");
}

}  // namespace

batch_writer::batch_writer(const fs::path& notes, std::uint32_t number, std::size_t first)
    : notes_(notes),
      number_(number),
      first_(first),
      records_(manifests::file_of(notes, name_in_batch(number, records_name))) {}

void batch_writer::append(std::string_view record) {
    records_.append(record);
}

batch_records batch_writer::finish() {
    const auto done = records_.finish();
    const std::string name = name_in_batch(number_, records_name);
    written_ = {name, done.file_bytes, done.checksum};
    return {first_, io::section_view(manifests::file_of(notes_, name), name, done.checksum)};
}

void kept_journal::add_batch(batch_writer& batch, shard_writer& texts, std::span<const source_file> files,
                             std::span<const std::uint64_t> record_ends, const reading_record& record,
                             const std::optional<io::corpus_place>& next) {
    const shard_writer::written written = texts.finish({}, {});
    const std::uint32_t number = batch.number_;
    std::vector<store_section> sections = {
        *batch.written_, write_section(notes_, name_in_batch(number, record_ends_name), record_ends)};
    const fs::path records = manifests::file_of(notes_, batch.written_->name);
    sync_file(open_file(records, O_RDONLY), records);
    for (const store_section& section : written.sections)
        sections.push_back({name_in_batch(number, section.name), section.bytes, section.checksum});
    json members = {{"documents", written.documents},
                    {"text_bytes", written.text_bytes},
                    {"sections", manifests::to_json(sections)},
                    {"record", in_utf8(to_json(record))},
                    {"files", json::array()}};
    for (const source_file& file : files) members["files"].push_back(to_json(file, batch.first_));
    if (next) members["next"] = {next->input, json_of_bytes(next->within)};
    sync_folder(notes_);
    const std::string file = file_of_batch(number);
    replace_file(notes_ / file, manifests::text_of(of_batch(file), std::move(members)));
    texts.keep();
}

std::optional<read_batch> kept_journal::batch(std::uint32_t number, std::size_t first,
                                              const context& ctx) const {
    const std::string file = file_of_batch(number);
    read_batch found;
    const bool is_present = is_whole([&] {
        std::vector<store_section> sections;
        manifests::read(notes_, of_batch(file), [&](const json& members) {
            found.documents = members.at("documents");
            found.text_bytes = members.at("text_bytes");
            sections = manifests::sections_of(members.at("sections"));
            found.record = record_of(members.at("record"));
            for (const json& each : members.at("files")) found.files.push_back(file_of(each, first));
            if (members.contains("next"))
                found.next = {members.at("next").at(0), bytes_of_json(members.at("next").at(1))};
        });
        const auto open = [&](std::string_view name) {
            io::section_view section =
                manifests::open_section(notes_, of_batch(file), sections, name_in_batch(number, name));
            manifests::check_all(section, ctx);
            return section;
        };
        found.texts = open("texts");
        found.text_ends = open("text_ends");
        found.ids = open("ids");
        found.texts_file = manifests::file_of(notes_, name_in_batch(number, "texts"));
        check_ends(found.text_ends, found.text_ends.values<std::uint64_t>(0, found.documents),
                   found.text_bytes);
        found.records = {first, open(records_name)};
        const io::section_view ends = open(record_ends_name);
        const auto values = ends.values<std::uint64_t>(0, found.documents);
        check_ends(ends, values, found.records.records.size());
        found.record_ends.assign(values.begin(), values.end());
    });
    if (is_present) return found;
    std::error_code failed;
    for (std::uint32_t later = number; fs::remove(notes_ / file_of_batch(later), failed);) ++later;
    fs::remove(notes_ / of_a_choice.file, failed);
    return {};
}

void kept_journal::add_choice(const kept_choice& choice) {
    std::vector<std::uint32_t> members;
    for (const duplicate_group& group : choice.groups) {
        members.push_back(group.kept);
        members.push_back(static_cast<std::uint32_t>(group.members.size()));
        members.insert(members.end(), group.members.begin(), group.members.end());
    }
    const std::string groups = std::string(choice_name) + ".groups",
                      removed = std::string(choice_name) + ".removed";
    const std::vector<store_section> sections = {
        write_section(notes_, groups, std::span<const std::uint32_t>(members)),
        write_section(notes_, removed, std::span<const removed_duplicate>(choice.removed))};
    json found = {{"sections", manifests::to_json(sections)},
                  {"counts", choice.counts},
                  {"numbers", members.size()},
                  {"removed", choice.removed.size()}};
    if (choice.pair_count) found["pairs"] = *choice.pair_count;
    sync_folder(notes_);
    replace_file(notes_ / of_a_choice.file, manifests::text_of(of_a_choice, std::move(found)));
}

std::optional<kept_choice> kept_journal::choice() const {
    kept_choice choice;
    const bool is_present = is_whole([&] {
        std::vector<store_section> sections;
        std::uint64_t numbers = 0, removed = 0;
        manifests::read(notes_, of_a_choice, [&](const json& members) {
            sections = manifests::sections_of(members.at("sections"));
            choice.counts = members.at("counts").get<std::map<std::string, std::uint64_t>>();
            numbers = members.at("numbers");
            removed = members.at("removed");
            if (members.contains("pairs")) choice.pair_count = members.at("pairs").get<std::uint64_t>();
        });
        const io::section_view of_groups = manifests::open_section(notes_, of_a_choice, sections,
                                                                   std::string(choice_name) + ".groups"),
                               of_removed = manifests::open_section(notes_, of_a_choice, sections,
                                                                    std::string(choice_name) + ".removed");
        auto rest = of_groups.values<std::uint32_t>(0, numbers);
        while (!rest.empty()) {
            if (rest.size() < 2 || rest[1] > rest.size() - 2) of_groups.fail("is too short");
            duplicate_group& group = choice.groups.emplace_back();
            group.kept = rest[0];
            const auto members = rest.subspan(2, rest[1]);
            group.members.assign(members.begin(), members.end());
            rest = rest.subspan(2 + members.size());
        }
        const auto pairs = of_removed.values<removed_duplicate>(0, removed);
        choice.removed.assign(pairs.begin(), pairs.end());
    });
    if (!is_present) return {};
    return choice;
}

void kept_journal::add_output(const json& entry) {
    if (!finished_) finished_ = std::make_unique<file_writer>(notes_ / outputs_name);
    const std::string line = entry.dump();
    finished_->append(manifests::hex(hash64(line)) + line + '\n');
    finished_->flush();
}

std::map<std::string, json> kept_journal::take_outputs() {
    std::map<std::string, json> outputs;
    std::string bytes;
    const bool is_present = is_whole([&] { bytes = io::mapped_file(notes_ / outputs_name).text(); });
    if (!is_present) return outputs;
    for (std::size_t begin = 0, end = 0; (end = bytes.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        const std::string_view line = std::string_view(bytes).substr(begin, end - begin);
        if (line.size() < checksum_digits) break;
        const std::string_view text = line.substr(checksum_digits);
        if (manifests::hex(hash64(text)) != line.substr(0, checksum_digits)) break;
        json entry = json::parse(text);
        std::string name = bytes_of_json(entry.at("name"));
        outputs.insert_or_assign(std::move(name), std::move(entry));
    }
    finished_.reset();
    for (const auto& [name, entry] : outputs) add_output(entry);
    return outputs;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_request.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/failure_kinds.hpp"
#include "base/file_status.hpp"
#include "base/hash.hpp"
#include "device/files/file_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/error.hpp"
#include "quern/base/pdf_program.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "quern/tasks/decontaminate.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/dedup_parts_option_table.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/dedup/dedup_checks.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr manifests::kind of_a_request = {"request.json", "quern dedup at work", 1,
                                          "is not the request of a run", "is not the JSON of a request"};

/// Incremented if the same inputs and options give other bytes than before.
constexpr int version_of_outputs = 1;

template <class Options>
void add_options(json& to, const Options& options) {
    for (const option<Options>& row : options_of<Options>)
        to[std::string(row.name)] = json_of_bytes(value_text(row, row.get(options)));
}

std::string joined(const auto& values) {
    std::string text;
    for (const auto& value : values) text.append(text.empty() ? "" : ", ").append(fs::path(value).native());
    return text;
}

/// `prefix` begins the names.
void add_fields(json& to, const document_fields& fields, const std::string& prefix) {
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) to[prefix + name] = json_of_bytes(value);
    };
    add("id_field", fields.id);
    add("text_field", joined(fields.text));
    add("title_field", fields.title);
    add("links_field", fields.links);
    add("kept_fields", joined(fields.kept));
}

void add_corpus(json& to, const corpus_input& corpus) {
    const error_limit& limit = corpus.max_errors;
    to["max_errors"] =
        limit.is_share ? fmt::format("{:g}%", 100 * limit.share) : fmt::format("{}", limit.count);
    to["ids"] = id_rule_names[static_cast<std::size_t>(corpus.ids)];
    if (!corpus.input_format.empty()) to["input_format"] = json_of_bytes(corpus.input_format);
    if (corpus.follow_links) to["follow_links"] = "true";
    add_fields(to, corpus.fields, "");
}

json parameters_of(const dedup_options& options) {
    json all = json::object();
    add_options(all, options.duplicates);
    add_options(all, options);
    if (compares_words(options.duplicates.method)) {
        add_options(all, as_recorded(options.text));
        all["unicode"] = text::unicode_version();
    }
    const auto add = [&all](const char* name, const std::string& value) {
        if (!value.empty()) all[name] = json_of_bytes(value);
    };
    add("prefer", joined(options.prefer));
    add("against", joined(options.against));
    add("store", options.store.native());
    return all;
}

json parameters_of(const decontaminate_options& options) {
    json all = json::object();
    add_options(all, options.contamination);
    add_options(all, as_recorded(options.text));
    all["unicode"] = text::unicode_version();
    all["against"] = json_of_bytes(joined(options.against.inputs));
    add_fields(all, options.against.fields, "against_");
    return all;
}

void describe_file(const fs::path& path, std::vector<kept_request::file>& files) {
    constexpr std::int64_t second = 1'000'000'000;
    struct stat status {};
    kept_request::file& file = files.emplace_back();
    file.path = path.native();
    if (::stat(path.c_str(), &status) != 0) {
        if (says_missing(errno)) return;  // removed meanwhile
        throw io_error(path.native(), "cannot be looked at", errno);
    }
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.modified = status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec;
}

void describe_input(const fs::path& input, bool follow_links, std::vector<kept_request::file>& files) {
    if (!fs::is_directory(file_status_of(input))) return describe_file(input, files);
    files.push_back({(input / "").native()});
    io::folder_walk walk(input, follow_links);
    io::parsed_unit ignored;
    while (const auto file = walk.next(ignored)) {
        describe_file(file->path, files);
        ignored = {};
    }
}

bool is_pdf(const kept_request::file& file) {
    return file.path.ends_with(".pdf") || file.path.ends_with(".PDF");
}

void note_pdf_program(kept_request& request) {
    if (std::ranges::any_of(request.files, is_pdf))
        request.parameters["pdf"] = json_of_bytes(used_pdf_program().path.native());
}

/// The sets that a run compares with.
void add_sets(const std::vector<fs::path>& sets, bool follow_links, kept_request& request) {
    for (const fs::path& set : sets) describe_input(set, follow_links, request.files);
    note_pdf_program(request);
}

std::string shown(const json& parameters, const std::string& name) {
    return parameters.contains(name) ? bytes_of_json(parameters.at(name)) : "not given";
}

json to_json(const kept_request& request) {
    json files = json::array();
    for (const auto& [path, bytes, modified] : request.files)
        files.push_back({json_of_bytes(path), bytes, modified});
    return {{"parameters", request.parameters}, {"files", std::move(files)}};
}

}  // namespace

json json_of_bytes(const std::string& text) {
    if (io::is_utf8(text)) return text;
    json bytes = json::array();
    for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
    return bytes;
}

std::string bytes_of_json(const json& member) {
    if (!member.is_array()) return member.get<std::string>();
    std::string text;
    for (const json& byte : member) text += static_cast<char>(byte.get<unsigned char>());
    return text;
}

std::string kept_request::checksum() const {
    return manifests::hex(hash64(to_json(*this).dump()));
}

std::string kept_request::difference_from(const kept_request& before) const {
    std::set<std::string> names;
    for (const json* each : {&parameters, &before.parameters})
        for (const auto& [name, value] : each->items()) names.insert(name);
    for (const std::string& name : names) {
        const std::string was = shown(before.parameters, name), is = shown(parameters, name);
        if (was != is) return fmt::format("{} was {} and is {} now", name, was, is);
    }
    std::map<std::string_view, const file*> old;
    for (const file& each : before.files) old.emplace(each.path, &each);
    for (const file& each : files) {
        const auto at = old.find(each.path);
        if (at == old.end()) return each.path + " was not read";
        if (*at->second != each) return each.path + " was changed";
        old.erase(at);
    }
    if (!old.empty()) return fmt::format("{} was read, and is not an input now", old.begin()->first);
    return files == before.files ? "" : "the inputs have another order";
}

void kept_request::write_to(const fs::path& folder) const {
    replace_file(folder / of_a_request.file, manifests::text_of(of_a_request, to_json(*this)));
}

std::optional<kept_request> kept_request::read_from(const fs::path& folder) {
    kept_request request;
    try {
        manifests::read(folder, of_a_request, [&request](const json& members) {
            request.parameters = members.at("parameters");
            for (const json& each : members.at("files"))
                request.files.push_back({bytes_of_json(each.at(0)), each.at(1), each.at(2)});
        });
    } catch (const damaged_store&) {
        return {};
    } catch (const io_error& failed) {
        if (!says_missing(failed.code())) throw;
        return {};
    }
    return request;
}

kept_request describe_request(const corpus_input& input, json parameters) {
    kept_request request;
    request.parameters = std::move(parameters);
    add_corpus(request.parameters, input);
    request.parameters["program"] = fmt::format("Quern {}, outputs {}", QUERN_VERSION, version_of_outputs);
    for (const fs::path& each : input.inputs) describe_input(each, input.follow_links, request.files);
    note_pdf_program(request);
    return request;
}

kept_request describe_kept(const dedup_options& options) {
    kept_request request = describe_request(options, parameters_of(options));
    add_sets(options.against, options.follow_links, request);
    return request;
}

kept_request describe_kept(const dedup_parts_options& options) {
    json all = json::object();
    add_options(all, options);
    if (options.whole_words) all["unicode"] = text::unicode_version();
    if (!options.against.empty()) all["against"] = json_of_bytes(joined(options.against));
    kept_request request = describe_request(options, std::move(all));
    add_sets(options.against, options.follow_links, request);
    return request;
}

kept_request describe_kept(const decontaminate_options& options) {
    kept_request request = describe_request(options, parameters_of(options));
    add_sets(options.against.inputs, options.against.follow_links, request);
    return request;
}

}  // namespace quern

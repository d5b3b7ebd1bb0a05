// SPDX-License-Identifier: Apache-2.0
#include "tasks/dictionary/dictionary_file.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/files/descriptor.hpp"
#include "io/store/format_version.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/manifest.hpp"

#include <fcntl.h>

namespace quern::dictionary_file {
namespace {

constexpr char magic[8] = {'Q', 'U', 'E', 'R', 'N', 'D', 'I', 'C'};

struct header {
    char name[8];
    std::uint32_t version;
    std::uint32_t reserved;
    std::uint64_t word_bytes, count_bytes, manifest_bytes;
    std::uint64_t zeros[11];
};
static_assert(sizeof(header) == 128,
              "pages of words begin at multiples of 128 bytes, as the file does in memory");

constexpr std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

std::string manifest_of(const dictionary_info& info) {
    nlohmann::json json = {
        {"unicode", info.unicode_version},
        {"language", info.text.language},
        {"tokens", token_rule_names[static_cast<std::size_t>(info.text.tokens)]},
        {"min_length", info.text.min_length},
        {"stop_words", info.text.stop_words},
        {"stem", stemmer_names[static_cast<std::size_t>(info.text.stem)]},
        {"verbatim", info.verbatim},
        {"titles", info.titles},
        {"min_count", info.min_count},
        {"documents", info.documents},
        {"occurrences", info.occurrences},
        {"kept", info.kept},
        {"distinct", info.distinct},
        {"words", info.words},
    };
    if (info.text.fold != folding::none)
        json["fold"] = folding_names[static_cast<std::size_t>(info.text.fold)];
    return json.dump() + '\n';
}

template <class Choice>
Choice named(const nlohmann::json& json, const char* key, std::span<const std::string_view> names) {
    const std::string value = json.at(key);
    const auto at = std::ranges::find(names, value);
    if (at == names.end()) throw std::runtime_error(std::string("has an unknown ") + key + ": " + value);
    return static_cast<Choice>(at - names.begin());
}

void read_manifest(std::string_view text, dictionary_info& info) {
    const nlohmann::json json = nlohmann::json::parse(text);
    info.unicode_version = json.at("unicode");
    info.text.language = json.at("language");
    info.text.tokens = named<token_rule>(json, "tokens", token_rule_names);
    info.text.min_length = json.at("min_length");
    info.text.stop_words = json.at("stop_words");
    info.text.stem = named<stemmer>(json, "stem", stemmer_names);
    if (json.contains("fold")) info.text.fold = named<folding>(json, "fold", folding_names);
    info.verbatim = json.at("verbatim");
    info.titles = json.value("titles", false);
    info.min_count = json.at("min_count");
    info.documents = json.at("documents");
    info.occurrences = json.at("occurrences");
    info.kept = json.at("kept");
    info.distinct = json.at("distinct");
    info.words = json.at("words");
}

void copy(const spill_file& from, std::uint64_t bytes, io::section_writer& to) {
    std::vector<char> buffer(std::min<std::uint64_t>(bytes, 1 << 20));
    for (std::uint64_t at = 0; at < bytes;) {
        const std::span<char> part(buffer.data(), std::min<std::uint64_t>(buffer.size(), bytes - at));
        from.read_at(at, part);
        to.append({part.data(), part.size()});
        at += part.size();
    }
}

}  // namespace

void write(file_writer& to, const contents& all, dictionary_info& info) {
    const std::string manifest = manifest_of(info);
    info.format_version = dictionary_format_version;
    info.word_bytes = all.tables.size() + all.block_bytes;
    header head{};
    std::memcpy(head.name, magic, sizeof magic);
    head.version = dictionary_format_version;
    head.word_bytes = info.word_bytes;
    head.count_bytes = all.count_bytes;
    head.manifest_bytes = manifest.size();

    io::section_writer section(to);
    section.append_value(head);
    section.append(all.tables);
    copy(all.blocks, all.block_bytes, section);
    section.align(8);
    copy(all.counts, all.count_bytes, section);
    section.append(manifest);
    const io::section_writer::summary done = section.finish();
    info.file_bytes = done.file_bytes;
    info.checksum = done.checksum;
}

opened open(const std::filesystem::path& path) {
    std::error_code unseen;
    if (!std::filesystem::exists(path, unseen)) throw usage_error(path.string() + ": no such dictionary");
    if (std::filesystem::is_directory(path, unseen)) throw usage_error(path.string() + " is a folder");
    opened out{io::section_view(path, "dictionary"), {}};
    const io::section_view& section = out.section;
    const auto head = section.value<header>(0);
    if (std::memcmp(head.name, magic, sizeof magic) != 0) section.fail("is not a dictionary");
    if (head.version != dictionary_format_version)
        section.fail(io::other_format_version(head.version, dictionary_format_version));
    const std::uint64_t max = section.size();
    if (head.word_bytes > max || head.count_bytes > max || head.manifest_bytes > max ||
        padded(sizeof head + head.word_bytes) + head.count_bytes + head.manifest_bytes != max) {
        section.fail("has parts of wrong length");
    }
    out.words_at = sizeof head;
    out.counts_at = padded(sizeof head + head.word_bytes);
    dictionary_info& info = out.info;
    try {
        read_manifest(section.bytes(out.counts_at + head.count_bytes, head.manifest_bytes), info);
    } catch (const nlohmann::json::exception& e) {
        section.fail(std::string("has a manifest that is not valid: ") + e.what());
    } catch (const damaged_store&) {
        throw;
    } catch (const std::runtime_error& e) {
        section.fail(e.what());
    }
    if (head.count_bytes / 8 != info.words || head.count_bytes % 8 != 0)
        section.fail("does not fit its manifest");
    info.format_version = head.version;
    info.word_bytes = head.word_bytes;
    info.file_bytes = std::filesystem::file_size(path);
    info.checksum = section.checksum();
    return out;
}

}  // namespace quern::dictionary_file

namespace quern {

bool is_dictionary(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    try {
        const descriptor file = open_file(path, O_RDONLY);
        char first[sizeof dictionary_file::magic];
        return read_some(file.number(), first, path) == sizeof first &&
               std::memcmp(first, dictionary_file::magic, sizeof first) == 0;
    } catch (const io_error&) {
        return false;
    }
}

dictionary_info read_dictionary_info(const std::filesystem::path& path) {
    return dictionary_file::open(path).info;
}

std::uint64_t verify_dictionary(const std::filesystem::path& path, const context& ctx) {
    const dictionary_file::opened file = dictionary_file::open(path);
    manifests::check_all(file.section, ctx);
    return file.info.file_bytes;
}

}  // namespace quern

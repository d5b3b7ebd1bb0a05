// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/files/mapped_file.hpp"
#include "io/store/format_version.hpp"
#include "quern/base/error.hpp"

namespace quern::manifests {

std::string text_of(const kind& of, nlohmann::json members) {
    members["format"] = of.format;
    members["version"] = of.version;
    members["checksum"] = hex(hash64(members.dump()));
    return members.dump(2) + '\n';
}

void read(const std::filesystem::path& folder, const kind& of,
          const std::function<void(const nlohmann::json&)>& sink) {
    const std::filesystem::path path = folder / of.file;
    const io::mapped_file file(path);
    try {
        if (io::has_nul(file.text())) throw std::runtime_error(std::string(of.not_json));
        nlohmann::json json = nlohmann::json::parse(file.text());
        if (json.at("format") != of.format) throw std::runtime_error(std::string(of.is_none));
        const unsigned version = json.at("version");
        if (version != of.version) throw std::runtime_error(io::other_format_version(version, of.version));
        const std::uint64_t checksum = from_hex(json.at("checksum"));
        json.erase("checksum");
        if (hash64(json.dump()) != checksum) throw std::runtime_error("does not match its checksum");
        sink(json);
    } catch (const nlohmann::json::exception&) {
        throw damaged_store(path.string(), "manifest", of.not_json);
    } catch (const io_error&) {  // nothing is wrong with the manifest
        throw;
    } catch (const out_of_memory&) {
        throw;
    } catch (const std::runtime_error& e) {
        throw damaged_store(path.string(), "manifest", e.what());
    }
}

std::string hex(std::uint64_t checksum) {
    return fmt::format("{:016x}", checksum);
}

std::uint64_t from_hex(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (code != std::errc() || end != text.data() + text.size())
        throw std::runtime_error("not a checksum: " + text);
    return value;
}

nlohmann::json to_json(const std::vector<store_section>& sections) {
    nlohmann::json member = nlohmann::json::object();
    for (const store_section& section : sections) {
        member[section.name] = {{"bytes", section.bytes}, {"checksum", hex(section.checksum)}};
    }
    return member;
}

std::vector<store_section> sections_of(const nlohmann::json& member) {
    std::vector<store_section> sections;
    for (const auto& [name, section] : member.items()) {
        sections.push_back({name, section.at("bytes"), from_hex(section.at("checksum"))});
    }
    return sections;
}

const store_section* find_section(const std::vector<store_section>& sections, std::string_view name) {
    const auto at = std::ranges::find(sections, name, &store_section::name);
    return at == sections.end() ? nullptr : &*at;
}

const store_section& listed(const std::filesystem::path& folder, const kind& of,
                            const std::vector<store_section>& sections, std::string_view name) {
    if (const store_section* const found = find_section(sections, name)) return *found;
    throw damaged_store((folder / of.file).string(), "manifest",
                        "does not list section " + std::string(name));
}

std::filesystem::path file_of(const std::filesystem::path& folder, std::string_view section) {
    return folder / std::string(section).append(section_extension);
}

io::section_view open_section(const std::filesystem::path& folder, const kind& of,
                              const std::vector<store_section>& sections, std::string_view name) {
    return io::section_view(file_of(folder, name), std::string(name),
                            listed(folder, of, sections, name).checksum);
}

void check_all(const io::section_view& section, const context& ctx) {
    constexpr std::uint64_t piece = 8 << 20;
    for_each_index(ctx, section.size() / piece + 1, [&](std::uint64_t i) {
        ctx.check_stop();
        section.bytes(i * piece, std::min(piece, section.size() - i * piece));
    });
}

}  // namespace quern::manifests

// SPDX-License-Identifier: Apache-2.0
// Shared by all folders that quern writes: sections with their sizes and checksums, listed by a manifest with its own
// checksum. The manifest's other members depend on the kind of folder (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/store.hpp"

namespace quern::manifests {

/// A kind of folder, by its manifest.
struct kind {
    std::string_view file;      ///< the manifest's name
    std::string_view format;    ///< its member "format"
    unsigned version;           ///< and "version"
    std::string_view is_none;   ///< the message for another format
    std::string_view not_json;  ///< and for other bytes
};

/// The manifest's bytes: JSON, keys sorted, including format, version and its own checksum.
std::string text_of(const kind& of, nlohmann::json members);
/// Passes the members to `sink`. Throws io_error, and damaged_store (section "manifest") for another format or version,
/// for a wrong checksum, and for errors of `sink`, either JSON's or a std::runtime_error.
void read(const std::filesystem::path& folder, const kind& of,
          const std::function<void(const nlohmann::json&)>& sink);

/// A checksum in a manifest's notation, and back; the latter throws std::runtime_error.
std::string hex(std::uint64_t checksum);
std::uint64_t from_hex(const std::string& text);

/// The member "sections" of a manifest, and back.
nlohmann::json to_json(const std::vector<store_section>& sections);
std::vector<store_section> sections_of(const nlohmann::json& member);
/// The one of this name; null if it is not listed.
const store_section* find_section(const std::vector<store_section>& sections, std::string_view name);
/// The section `name` of a folder. Throws damaged_store if it is not listed.
const store_section& listed(const std::filesystem::path& folder, const kind& of,
                            const std::vector<store_section>& sections, std::string_view name);

/// The path of a section in a folder.
inline constexpr std::string_view section_extension = ".section";
std::filesystem::path file_of(const std::filesystem::path& folder, std::string_view section);
/// Opens it as the manifest describes it. Throws damaged_store.
io::section_view open_section(const std::filesystem::path& folder, const kind& of,
                              const std::vector<store_section>& sections, std::string_view name);

/// Reads every byte of a section, with all threads. Throws damaged_store.
void check_all(const io::section_view& section, const context& ctx);

}  // namespace quern::manifests

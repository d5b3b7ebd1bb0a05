// SPDX-License-Identifier: Apache-2.0
// What the folders that quern writes share: sections with their sizes and checksums, named by a manifest that vouches
// for itself. What else a manifest says is for each kind of folder (docs/formats.md).
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
    std::string_view is_none;   ///< what is said of another format
    std::string_view not_json;  ///< and of other bytes
};

/// The manifest's bytes: JSON, keys sorted, format, version and its own checksum among them.
std::string text_of(const kind& of, nlohmann::json members);
/// Gives `take` the members. Throws io_error, and damaged_store (section "manifest") for another format or version, for
/// a checksum that does not fit, and for what `take` throws of JSON or as a std::runtime_error.
void read(const std::filesystem::path& folder, const kind& of,
          const std::function<void(const nlohmann::json&)>& take);

/// A checksum as a manifest writes it, and back; the latter throws std::runtime_error.
std::string hex(std::uint64_t checksum);
std::uint64_t from_hex(const std::string& text);

/// The member "sections" of a manifest, and back.
nlohmann::json to_json(const std::vector<store_section>& sections);
std::vector<store_section> sections_of(const nlohmann::json& member);
/// The section `name` of a folder. Throws damaged_store where it is not listed.
const store_section& listed(const std::filesystem::path& folder, const kind& of,
                            const std::vector<store_section>& sections, std::string_view name);

/// Where a section of a folder stands.
inline constexpr std::string_view section_extension = ".section";
std::filesystem::path file_of(const std::filesystem::path& folder, std::string_view section);
/// Opens it as the manifest describes it. Throws damaged_store.
io::section_view open_section(const std::filesystem::path& folder, const kind& of,
                              const std::vector<store_section>& sections, std::string_view name);

/// Touches every byte of a section, with all threads. Throws damaged_store.
void check_all(const io::section_view& section, const context& run);

}  // namespace quern::manifests

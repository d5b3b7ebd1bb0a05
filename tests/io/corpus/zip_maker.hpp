// SPDX-License-Identifier: Apache-2.0
// Zip archives for tests, well-formed and not.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::io::testing {

struct zip_member {
    std::string name, bytes;
    bool deflated = true;
    // What the archive says, if it lies.
    std::uint32_t declared_bytes = UINT32_MAX;  ///< UINT32_MAX: the truth
    std::uint32_t checksum_change = 0;
    std::uint16_t flags = 0;
    std::int64_t position = -1;  ///< of its header; -1: the truth
};

inline std::string deflated(std::string_view bytes) {
    z_stream state{};
    deflateInit2(&state, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&state, bytes.size()), '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    state.avail_in = static_cast<uInt>(bytes.size());
    state.next_out = reinterpret_cast<Bytef*>(out.data());
    state.avail_out = static_cast<uInt>(out.size());
    deflate(&state, Z_FINISH);
    out.resize(state.total_out);
    deflateEnd(&state);
    return out;
}

inline void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

inline std::string zip_of(const std::vector<zip_member>& members) {
    std::string out, directory;
    for (const zip_member& each : members) {
        const std::string packed = each.deflated ? deflated(each.bytes) : each.bytes;
        const auto checksum = static_cast<std::uint32_t>(
            crc32_z(0, reinterpret_cast<const Bytef*>(each.bytes.data()), each.bytes.size()));
        const std::uint64_t at = each.position < 0 ? out.size() : static_cast<std::uint64_t>(each.position);
        std::string common;
        put(common, 20, 2);
        put(common, each.flags, 2);
        put(common, each.deflated ? 8 : 0, 2);
        put(common, 0, 4);
        put(common, checksum + each.checksum_change, 4);
        put(common, packed.size(), 4);
        put(common, each.declared_bytes == UINT32_MAX ? each.bytes.size() : each.declared_bytes, 4);
        put(common, each.name.size(), 2);
        put(common, 0, 2);
        out += "PK\3\4" + common + each.name + packed;
        directory += "PK\1\2";
        put(directory, 20, 2);
        directory += common;
        directory.append(10, '\0');
        put(directory, at, 4);
        directory += each.name;
    }
    const std::size_t at = out.size();
    out += directory + "PK\5\6";
    put(out, 0, 4);
    put(out, members.size(), 2);
    put(out, members.size(), 2);
    put(out, directory.size(), 4);
    put(out, at, 4);
    put(out, 0, 2);
    return out;
}

/// A Word document with this body.
inline std::vector<zip_member> word_members(std::string_view body, std::string_view title = {}) {
    const std::string relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/";
    std::vector<zip_member> out;
    out.push_back({"[Content_Types].xml", "<Types/>"});
    out.push_back({"_rels/.rels",
                   "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
                   "<Relationship Id='r1' Type='" +
                       relations +
                       "officeDocument' Target='word/document.xml'/><Relationship Id='r2' "
                       "Type='x/metadata/core-properties' Target='docProps/core.xml'/></Relationships>"});
    out.push_back({"word/document.xml",
                   "<?xml version='1.0'?><w:document xmlns:w='http://w' xmlns:mc='http://mc'><w:body>" +
                       std::string(body) + "</w:body></w:document>"});
    if (!title.empty())
        out.push_back(
            {"docProps/core.xml", "<p xmlns:dc='d'><dc:title>" + std::string(title) + "</dc:title></p>"});
    return out;
}

}  // namespace quern::io::testing

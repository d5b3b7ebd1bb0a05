// SPDX-License-Identifier: Apache-2.0
#include "tasks/build/link_store.hpp"

#include <algorithm>
#include <fstream>
#include <span>

#include "io/files/mapped_file.hpp"

namespace quern {
namespace {

/// Reads a scratch file of plain values in pieces, so that memory stays constant.
template <class Value, class Visit>
void for_each_piece(const std::filesystem::path& path, std::size_t values_a_piece, Visit visit) {
    std::ifstream in(path, std::ios::binary);
    std::vector<Value> piece(values_a_piece);
    for (;;) {
        in.read(reinterpret_cast<char*>(piece.data()),
                static_cast<std::streamsize>(piece.size() * sizeof(Value)));
        const auto count = static_cast<std::size_t>(in.gcount()) / sizeof(Value);
        if (count == 0) break;
        visit(std::span<const Value>(piece.data(), count));
    }
    if (in.bad()) throw io_error(path.string(), "cannot be read", errno);
}

}  // namespace

link_collector::link_collector(const std::filesystem::path& scratch)
    : targets_(scratch / "link_targets"), ends_(scratch / "link_ends"), redirects_(scratch / "redirects") {}

void link_collector::add_document(const document& d) {
    for (const std::string& link : d.links) {
        const hash128_value target = hash128(link);
        targets_.append_values(std::span(&target, 1));
    }
    links_ += d.links.size();
    ends_.append_values(std::span<const std::uint64_t>(&links_, 1));
}

void link_collector::add_redirect(const redirect& r) {
    const waiting_redirect waiting{hash128(r.from), hash128(r.to)};
    redirects_.append_values(std::span(&waiting, 1));
}

void link_collector::resolve_redirects(id_table& ids, const context& run) const {
    // A pass resolves what leads to something known, so a chain of n steps takes n passes; real chains are
    // short (Wikipedia's software itself follows one step), and circles end when a pass finds nothing new.
    for (bool found = true; found;) {
        found = false;
        for_each_piece<waiting_redirect>(
            redirects_.path(), 1 << 16, [&](std::span<const waiting_redirect> piece) {
                run.check_stop();
                for (const waiting_redirect& r : piece) {
                    if (const auto document = ids.find(r.to); document && ids.insert(r.from, *document))
                        found = true;
                }
            });
    }
}

link_collector::outcome link_collector::resolve(id_table& ids, const std::filesystem::path& store,
                                                const context& run) {
    targets_.close();
    ends_.close();
    redirects_.close();
    resolve_redirects(ids, run);

    io::section_writer links(store_layout::file_of(store, store_layout::links));
    io::section_writer link_ends(store_layout::file_of(store, store_layout::link_ends));
    outcome result;
    // The ends of the raw links become the ends of the resolved ones on the way.
    std::ifstream ends(ends_.path(), std::ios::binary);
    std::uint64_t seen = 0, end = 0;
    const auto next_end = [&] {
        return static_cast<bool>(ends.read(reinterpret_cast<char*>(&end), sizeof end));
    };
    bool more = next_end();
    const auto close_documents = [&] {
        for (; more && end == seen; more = next_end()) link_ends.append_value(result.links);
    };
    close_documents();
    for_each_piece<hash128_value>(targets_.path(), 1 << 16, [&](std::span<const hash128_value> piece) {
        run.check_stop();
        for (const hash128_value& target : piece) {
            if (const auto document = ids.find(target)) {
                links.append_value(*document);
                ++result.links;
            } else {
                ++result.dangling;
            }
            ++seen;
            close_documents();
        }
    });
    const auto links_summary = links.finish();
    const auto ends_summary = link_ends.finish();
    result.sections = {
        {std::string(store_layout::links), links_summary.file_bytes, links_summary.checksum},
        {std::string(store_layout::link_ends), ends_summary.file_bytes, ends_summary.checksum}};
    return result;
}

}  // namespace quern

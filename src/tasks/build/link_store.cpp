// SPDX-License-Identifier: Apache-2.0
#include "tasks/build/link_store.hpp"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <span>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

/// Reads a scratch file of plain values front to back through one buffer, so that memory stays constant.
template <class Value>
class value_reader {
  public:
    explicit value_reader(const std::filesystem::path& path)
        : path_(path), file_(open_file(path, O_RDONLY)), buffer_(std::size_t{1} << 14) {}

    /// The next values, at least one; none at the end.
    std::span<const Value> next() {
        std::size_t bytes = 0;
        const std::span<char> room(reinterpret_cast<char*>(buffer_.data()), buffer_.size() * sizeof(Value));
        while (const std::size_t got = read_some(file_.number(), room.subspan(bytes), path_)) {
            bytes += got;
            if (bytes % sizeof(Value) == 0) break;
        }
        if (bytes % sizeof(Value) != 0) throw io_error(path_.string(), "is cut off", EIO);
        return std::span<const Value>(buffer_).first(bytes / sizeof(Value));
    }

  private:
    std::filesystem::path path_;
    descriptor file_;
    std::vector<Value> buffer_;
};

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
    std::vector<waiting_redirect> redirects;
    value_reader<waiting_redirect> reader(redirects_.path());
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        run.check_stop();
        redirects.insert(redirects.end(), piece.begin(), piece.end());
        if (redirects.size() * sizeof(waiting_redirect) > run.memory_limit() / 4) {
            throw out_of_memory("the table of redirects", 2 * redirects.size() * sizeof(waiting_redirect),
                                run.memory_limit() / 4);
        }
    }
    id_table number_of;  // of the first redirect from a name
    for (std::uint32_t i = 0; i < redirects.size(); ++i) number_of.insert(redirects[i].from, i);

    // Every redirect is followed once: what lies on the way gets the same end.
    constexpr std::uint32_t unknown = ~std::uint32_t{0}, nowhere = unknown - 1;
    std::vector<std::uint32_t> ends(redirects.size(), unknown);
    std::vector<std::uint32_t> way;
    for (std::uint32_t i = 0; i < redirects.size(); ++i) {
        std::optional<std::uint32_t> at = i;
        std::uint32_t end = nowhere;
        while (at) {
            if (ends[*at] != unknown) {
                end = ends[*at];  // `nowhere` too where the way comes round to itself
                break;
            }
            ends[*at] = nowhere;
            way.push_back(*at);
            if (const auto document = ids.find(redirects[*at].to)) {
                end = *document;
                break;
            }
            at = number_of.find(redirects[*at].to);
        }
        for (const std::uint32_t passed : way) ends[passed] = end;
        way.clear();
    }
    for (std::size_t i = 0; i < redirects.size(); ++i) {
        if (ends[i] != nowhere) ids.insert(redirects[i].from, ends[i]);
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
    value_reader<hash128_value> targets(targets_.path());
    value_reader<std::uint64_t> ends(ends_.path());
    std::span<const hash128_value> waiting;
    std::uint64_t seen = 0;
    for (auto piece = ends.next(); !piece.empty(); piece = ends.next()) {
        run.check_stop();
        for (const std::uint64_t end : piece) {
            for (; seen < end; ++seen) {
                if (waiting.empty()) waiting = targets.next();
                if (waiting.empty()) throw io_error(targets_.path().string(), "is cut off", EIO);
                if (const auto document = ids.find(waiting.front())) {
                    links.append_value(*document);
                    ++result.links;
                } else {
                    ++result.dangling;
                }
                waiting = waiting.subspan(1);
            }
            link_ends.append_value(result.links);
        }
    }
    const auto links_summary = links.finish();
    const auto ends_summary = link_ends.finish();
    result.sections = {
        {std::string(store_layout::links), links_summary.file_bytes, links_summary.checksum},
        {std::string(store_layout::link_ends), ends_summary.file_bytes, ends_summary.checksum}};
    return result;
}

}  // namespace quern

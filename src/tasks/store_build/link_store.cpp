// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/link_store.hpp"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <span>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/store/listed_section.hpp"

namespace quern {

using store_layout::named_redirect;
using store_layout::open_link;

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
        const std::span<char> capacity(reinterpret_cast<char*>(buffer_.data()),
                                       buffer_.size() * sizeof(Value));
        while (const std::size_t got = read_some(file_.number(), capacity.subspan(bytes), path_)) {
            bytes += got;
            if (bytes % sizeof(Value) == 0) break;
        }
        if (bytes % sizeof(Value) != 0) throw io_error(path_.string(), "is truncated", EIO);
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
    std::vector<hash128_value> names;
    names.reserve(d.links.size());
    for (const std::string& link : d.links) names.push_back(hash128(link));
    if ((scopes_.empty() ? 0 : scopes_.back().scope) != d.scope) scopes_.push_back({documents_, d.scope});
    add_document(names);
}

void link_collector::add_scoped_id(const document& d, std::uint32_t number, id_table& ids) {
    has_scoped_ids_ = true;
    ids.insert(hash_within(d.scope, hash128(d.given)), number);
}

void link_collector::add_document(std::span<const hash128_value> links) {
    targets_.append_values(links);
    links_ += links.size();
    ends_.append_values(std::span<const std::uint64_t>(&links_, 1));
    ++documents_;
}

void link_collector::add_redirect(const redirect& r) {
    add_redirect({hash128(r.from), hash128(r.to)});
}

void link_collector::add_redirect(const named_redirect& r) {
    redirects_.append_values(std::span(&r, 1));
}

std::vector<named_redirect> link_collector::resolve_redirects(id_table& ids, const context& ctx) {
    std::vector<named_redirect> redirects;
    value_reader<named_redirect> reader(redirects_.path());
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        ctx.check_stop();
        redirects.insert(redirects.end(), piece.begin(), piece.end());
        if (redirects.size() * sizeof(named_redirect) > ctx.memory_limit() / 4) {
            throw out_of_memory("the table of redirects", 2 * redirects.size() * sizeof(named_redirect),
                                ctx.memory_limit() / 4);
        }
    }
    id_table number_of;  // of the first redirect from a name
    std::uint32_t first = 0;
    for (const named_redirect& r : redirects) {
        if (number_of.insert(r.from, first)) redirects[first++] = r;
    }
    redirects.resize(first);

    // Every redirect is followed once: all redirects on the way get the same end.
    constexpr std::uint32_t unknown = ~std::uint32_t{0}, nowhere = unknown - 1;
    std::vector<std::uint32_t> ends(redirects.size(), unknown);
    std::vector<std::uint32_t> way;
    for (std::uint32_t i = 0; i < redirects.size(); ++i) {
        std::optional<std::uint32_t> at = i;
        std::uint32_t end = nowhere;
        while (at) {
            if (ends[*at] != unknown) {
                end = ends[*at];  // `nowhere` also for a cycle
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
        if (ends[i] == nowhere) continue;
        if (ids.insert(redirects[i].from, ends[i])) redirected_.insert(redirects[i].from, ends[i]);
    }
    return redirects;
}

link_collector::outcome link_collector::resolve(id_table& ids, const std::filesystem::path& store,
                                                const context& ctx) {
    targets_.close();
    ends_.close();
    redirects_.close();
    const std::vector<named_redirect> first_redirects = resolve_redirects(ids, ctx);

    io::section_writer links(store_layout::file_of(store, store_layout::links));
    io::section_writer link_ends(store_layout::file_of(store, store_layout::link_ends));
    io::section_writer open(store_layout::file_of(store, store_layout::open_links));
    outcome result;
    // The ends of the raw links are replaced by the ends of the resolved ones.
    value_reader<hash128_value> targets(targets_.path());
    value_reader<std::uint64_t> ends(ends_.path());
    std::span<const hash128_value> waiting;
    std::uint64_t seen = 0;
    std::uint32_t document = 0, scope = 0;
    std::span<const first_of_scope> scopes_ahead = scopes_;
    for (auto piece = ends.next(); !piece.empty(); piece = ends.next()) {
        ctx.check_stop();
        ctx.report({"links", document, 0, "documents"});
        for (const std::uint64_t end : piece) {
            if (!scopes_ahead.empty() && scopes_ahead.front().document == document) {
                scope = scopes_ahead.front().scope;
                scopes_ahead = scopes_ahead.subspan(1);
            }
            for (const std::uint64_t begin = seen; seen < end; ++seen) {
                if (waiting.empty()) waiting = targets.next();
                if (waiting.empty()) throw io_error(targets_.path().string(), "is truncated", EIO);
                const hash128_value name = waiting.front();
                waiting = waiting.subspan(1);
                const auto within = has_scoped_ids_ && scope != 0 ? ids.find(hash_within(scope, name))
                                                                  : std::optional<std::uint32_t>();
                const auto target = within ? within : ids.find(name);
                const bool redirected = target && !within && redirected_.find(name);
                if (!target || redirected) {
                    const auto position =
                        static_cast<std::uint32_t>(2 * (seen - begin) + (redirected ? 1 : 0));
                    open.append_value(open_link{document, position, name});
                }
                if (target) {
                    links.append_value(*target);
                    ++result.links;
                } else {
                    ++result.dangling;
                }
            }
            ++document;
            link_ends.append_value(result.links);
        }
    }
    const auto close = [&result, &store](std::string_view name, io::section_writer& section) {
        const bool empty = section.size() == 0;
        const auto summary = section.finish();
        if (!empty || name == store_layout::links || name == store_layout::link_ends) {
            result.sections.push_back(listed_section(name, summary));
        } else {
            std::filesystem::remove(store_layout::file_of(store, name));
        }
    };
    close(store_layout::links, links);
    close(store_layout::link_ends, link_ends);
    close(store_layout::open_links, open);
    io::section_writer redirects(store_layout::file_of(store, store_layout::redirects));
    redirects.append_values(std::span<const named_redirect>(first_redirects));
    close(store_layout::redirects, redirects);
    return result;
}

}  // namespace quern

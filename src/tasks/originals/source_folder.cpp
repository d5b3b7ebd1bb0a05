// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/source_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "device/files/descriptor.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/documents/markdown_limits.hpp"
#include "io/corpus/documents/rendering.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_charset.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::size_t max_links = 10'000;
constexpr std::uint64_t max_parser_bytes = 64 << 20;

bool names_nothing(int code) {
    return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EACCES || code == ENAMETOOLONG ||
           code == EINVAL;
}

/// One step down, never through a link. Not open: nothing that may be read is there.
descriptor step(int folder, const std::string& part, int flags, std::string_view path) {
    descriptor found(::openat(folder, part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (!found.is_open() && !names_nothing(errno)) throw io_error(path, "cannot open", errno);
    return found;
}

std::optional<document_form> form_of(io::file_kind kind) {
    switch (kind) {
        case io::file_kind::markdown:
        case io::file_kind::html:
            return document_form::html;
        case io::file_kind::text:
            return document_form::text;
        case io::file_kind::source:
            return document_form::verbatim;
        default:
            return {};
    }
}

bool ends_with_extension(std::string_view path, std::string_view extension) {
    return path.size() > extension.size() &&
           std::ranges::equal(path.substr(path.size() - extension.size()), extension, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

/// Empty: none of the five.
std::string_view image_type(std::string_view path, std::string_view bytes) {
    if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return "image/png";
    if (bytes.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
    if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
    if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "image/webp";
    constexpr std::size_t head = 4096;
    if (ends_with_extension(path, ".svg") && bytes.substr(0, head).find("<svg") != std::string_view::npos)
        return "image/svg+xml";
    return {};
}

}  // namespace

struct source_folder::opened {
    descriptor root;
    std::string name;

    /// A regular file within the folder.
    descriptor file(std::string_view path, std::uint64_t& size) const;
    std::optional<std::string> read(std::string_view path, std::uint64_t max_bytes) const;
};

descriptor source_folder::opened::file(std::string_view path, std::uint64_t& size) const {
    if (path.find('\0') != std::string_view::npos) return {};
    descriptor folder;
    int at = root.number();
    for (;;) {
        const std::size_t slash = path.find('/');
        const std::string part(path.substr(0, slash));
        if (part.empty() || part.front() == '.') return {};
        if (slash == std::string_view::npos) {
            descriptor found = step(at, part, O_RDONLY | O_NONBLOCK | O_NOCTTY, part);
            struct stat about {};
            if (!found.is_open() || ::fstat(found.number(), &about) != 0 || !S_ISREG(about.st_mode))
                return {};
            size = static_cast<std::uint64_t>(about.st_size);
            return found;
        }
        folder = step(at, part, O_PATH | O_DIRECTORY, part);
        if (!folder.is_open()) return {};
        at = folder.number();
        path.remove_prefix(slash + 1);
    }
}

std::optional<std::string> source_folder::opened::read(std::string_view path, std::uint64_t max_bytes) const {
    std::uint64_t size = 0;
    const descriptor found = file(path, size);
    if (!found.is_open() || size > max_bytes) return {};
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const std::size_t more = read_some(found.number(), std::span(bytes).subspan(done), std::string(path));
        if (more == 0) break;
        done += more;
    }
    bytes.resize(done);
    return bytes;
}

source_folder source_folder::open(const std::filesystem::path& folder) {
    auto opened = std::make_shared<source_folder::opened>();
    opened->name = folder.string();
    opened->root = descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened->root.is_open()) throw usage_error(opened->name + " is not a folder that can be read");
    return source_folder(std::move(opened));
}

std::optional<folder_document> source_folder::document(std::string_view id, std::uint64_t max_bytes,
                                                       const context& ctx) const {
    const auto bytes = folder_->read(id, max_bytes);
    if (!bytes) return {};
    constexpr std::size_t head = 4096;
    const io::file_kind kind = io::kind_to_convert(id, std::string_view(*bytes).substr(0, head));
    const auto form = form_of(kind);
    if (!form || bytes->find('\0') != std::string::npos) return {};  // the second: binary, compressed, UTF-16
    folder_document result{*form, {}, {}};
    std::string repaired;
    if (kind == io::file_kind::html) {
        result.text = io::decode_html(*bytes, repaired);
    } else {
        result.text = io::decode_text(*bytes, repaired);
    }
    if (kind == io::file_kind::markdown) {
        std::string html;
        if (io::parser_bytes(result.text) <= max_parser_bytes) html = io::markdown_as_html(result.text, ctx);
        if (html.empty()) {
            result.form = document_form::text;
        } else {
            result.text = std::move(html);
        }
    }
    if (result.form == document_form::html)
        for (io::resolved_link& link : io::links_of_html(result.text, id, max_links))
            result.links.push_back({std::move(link.address), std::move(link.path)});
    return result;
}

std::optional<folder_image> source_folder::image(std::string_view path, std::uint64_t max_bytes) const {
    auto bytes = folder_->read(path, max_bytes);
    if (!bytes) return {};
    const std::string_view type = image_type(path, *bytes);
    if (type.empty()) return {};
    return folder_image{type, std::move(*bytes)};
}

std::optional<std::string> source_folder::bytes(std::string_view path, std::uint64_t max_bytes) const {
    return folder_->read(path, max_bytes);
}

}  // namespace quern

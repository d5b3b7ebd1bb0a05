// SPDX-License-Identifier: Apache-2.0
// The folder that a store was built from, as it is now: its documents for readers, and its images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

enum class document_form {
    html,      ///< a page of the web, or Markdown as HTML: as unsafe as its source
    text,      ///< paragraphs
    verbatim,  ///< source code: every line and blank counts
};
inline constexpr std::string_view document_form_names[] = {"html", "text", "verbatim"};

/// Where a link of a document, or the address of its image, leads within the folder.
struct folder_link {
    std::string address;  ///< as in the HTML, references decoded
    std::string path;     ///< from the folder
};

struct folder_document {
    document_form form = document_form::text;
    std::string text;                ///< UTF-8
    std::vector<folder_link> links;  ///< of HTML, each address once, the first 10,000
};

struct folder_image {
    std::string_view media_type;  ///< image/png, image/jpeg, image/gif, image/webp, image/svg+xml
    std::string bytes;
};

/// Paths are relative to the folder, with '/' between their parts, as the ids of its documents. Nothing outside of it can be
/// read: a path with a part that is empty or begins with a dot (hidden, "..") or is a symbolic link names nothing. Cheap to
/// copy, thread-safe.
class source_folder {
  public:
    /// Throws usage_error if it is no folder.
    static source_folder open(const std::filesystem::path& folder);

    /// The document of this id; nothing if no regular file of at most `max_bytes` is there, or if it is of a kind that
    /// cannot be shown so (office, PDF, compressed). Throws io_error, interrupted.
    std::optional<folder_document> document(std::string_view id, std::uint64_t max_bytes,
                                            const context& ctx) const;
    /// Nothing unless the first bytes show one of the five types. Throws io_error.
    std::optional<folder_image> image(std::string_view path, std::uint64_t max_bytes) const;
    /// Any file's bytes. Throws io_error.
    std::optional<std::string> bytes(std::string_view path, std::uint64_t max_bytes) const;

  private:
    struct opened;
    explicit source_folder(std::shared_ptr<const opened> folder) : folder_(std::move(folder)) {}
    std::shared_ptr<const opened> folder_;
};

}  // namespace quern

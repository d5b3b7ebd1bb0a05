// SPDX-License-Identifier: Apache-2.0
// The links of a store while it is written. A link may name a later document, or a redirect, so links are kept on disk,
// as hashes, until every id is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/files/file_writer.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

class link_collector {
  public:
    explicit link_collector(const std::filesystem::path& scratch);
    void add_document(const document& d);  ///< documents in order
    void add_redirect(const redirect& r);
    /// A document whose id is prefixed with its file: links of its file to its original id lead to it. Inserted into
    /// `ids`.
    void add_scoped_id(const document& d, std::uint32_t number, id_table& ids);
    /// The same by the hashes of names.
    void add_document(std::span<const hash128_value> links);
    void add_redirect(const store_layout::named_redirect& r);

    struct outcome {
        std::uint64_t links = 0, dangling = 0;
        std::vector<store_section> sections;
    };
    /// Writes the sections `links` and `link_ends` and, if not empty, `open_links` and `redirects`. Redirects are
    /// inserted into `ids`: documents take precedence over redirects, earlier redirects over later ones, chains are
    /// followed, cycles lead nowhere. Cost: one pass over the links; the redirects, about 130 bytes each, are held in
    /// memory meanwhile. Throws io_error if the scratch files are damaged, out_of_memory.
    outcome resolve(id_table& ids, const std::filesystem::path& store, const context& ctx);

  private:
    /// Returns the first redirect of each name.
    std::vector<store_layout::named_redirect> resolve_redirects(id_table& ids, const context& ctx);

    file_writer targets_;    // hash128_value, link by link
    file_writer ends_;       // u64 per document: links up to its end
    file_writer redirects_;  // store_layout::named_redirect
    std::uint64_t links_ = 0;
    struct first_of_scope {
        std::uint32_t document, scope;
    };
    std::vector<first_of_scope> scopes_;  // first document of each other scope
    std::uint32_t documents_ = 0;
    bool has_scoped_ids_ = false;
    id_table redirected_;  // names that lead to a document by a redirect
};

}  // namespace quern

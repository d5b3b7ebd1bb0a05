// SPDX-License-Identifier: Apache-2.0
// Which member of a JSON record, or column of a table, is what in a document.
#pragma once

#include <string>
#include <vector>

namespace quern {

/// Names of members or columns. A dotted name leads into objects: "meta.url"; a member whose own name has the dot comes
/// first. Empty: the known names (docs/corpora.md).
struct document_fields {
    std::string id;
    std::vector<std::string> text;  ///< several are joined in this order, an empty line between them
    std::string title;
    std::string links;
    /// Of the other members, those to keep in document::fields, by name; "*": all of them.
    std::vector<std::string> kept;
};

}  // namespace quern

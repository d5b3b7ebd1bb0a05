// SPDX-License-Identifier: Apache-2.0
// The file of -o FILE|DIR/ for kept documents.
#pragma once

#include <string>

#include "output.hpp"

namespace quern::cli {

/// Nothing if `name` ends with a slash, a folder.
inline destination file_of_documents(const std::string& name) {
    destination to;
    if (!name.ends_with('/')) to.path = name;
    to.written = "a folder, DIR/, in which Parquet files stay such, or lines, as in FILE.jsonl";
    return to;
}

}  // namespace quern::cli

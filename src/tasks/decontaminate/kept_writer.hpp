// SPDX-License-Identifier: Apache-2.0
// Passes on kept documents while the corpus is read: lines of JSON at once. Lines of TSV and of tables can be passed on
// unchanged only if all are of one form, which is known at the end: they wait on disk (tasks/dedup/record_file.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/spill_file.hpp"
#include "quern/base/document.hpp"
#include "tasks/dedup/record_file.hpp"

namespace quern {

class kept_writer {
  public:
    using sink = std::function<void(std::string_view)>;
    /// Creates its scratch files in `folder` when they are needed.
    kept_writer(sink out, std::filesystem::path folder, document_fields fields)
        : out_(std::move(out)), folder_(std::move(folder)), fields_(std::move(fields)) {}

    /// Makes the record of a document that has none, and frees what is not needed beyond it. Any thread.
    static void prepare(document& d);
    /// Takes a prepared document, in order.
    void take(const document& d);
    /// Passes on what was taken so far. A document may still wait until finish().
    void flush();
    void finish();

  private:
    void hold(const document& d);

    sink out_;
    std::filesystem::path folder_;
    document_fields fields_;  ///< that the documents are read with
    bool is_first_ = true;
    std::string ready_;
    std::optional<record_file> held_;
    std::optional<spill_file> ids_;  ///< of held documents
    std::vector<std::uint64_t> id_ends_;
};

}  // namespace quern

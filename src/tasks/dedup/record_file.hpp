// SPDX-License-Identifier: Apache-2.0
// The documents of a corpus in the form of the output: the input line, or a JSON line if there was none. Lines of TSV,
// and rows of tables, mixed with others also become JSON lines, so that the output can be read; rows that share one
// heading are written under it. A file that is read as bytes is a line with its path. On disk, in order; 8 bytes of memory a document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/files/spill_file.hpp"
#include "quern/base/document.hpp"
#include "quern/base/document_fields.hpp"

namespace quern {

/// The JSON line of a document without a record of its own.
std::string json_record(const document& d);

class record_file {
  public:
    /// `fields`: those that the documents are read with.
    explicit record_file(const std::filesystem::path& scratch_file, document_fields fields = {})
        : file_(scratch_file), fields_(std::move(fields)) {}
    void append(const document& d);
    /// The text of a record instead of its own; nothing: as it is.
    using new_text = std::function<std::optional<std::string>(std::size_t)>;
    /// Writes the records for which wanted(i) is true, in order, in large pieces. Input lines are unchanged, but for new
    /// texts, with their original ids; generated JSON lines have the id id_of(i).
    void write(const std::function<bool(std::size_t)>& wanted,
               const std::function<std::string_view(std::size_t)>& id_of,
               const std::function<void(std::string_view)>& out, const new_text& text_of = {});

  private:
    std::uint8_t kind_of(const document& d);
    void write_converted(const std::function<bool(std::size_t)>& wanted,
                         const std::function<std::string_view(std::size_t)>& id_of,
                         const std::function<void(std::string_view)>& out, const new_text& text_of);
    std::string record_at(std::size_t i);
    std::string edited(std::string_view record, std::uint8_t kind, std::string_view text) const;

    spill_file file_;
    document_fields fields_;
    std::vector<std::uint64_t> ends_;
    /// The kind of a record: a line of JSON, of TSV, a path, or a row under heading number kind - 3.
    std::vector<std::uint8_t> kinds_;
    std::vector<std::shared_ptr<const std::string>> headings_;
    bool mixed_ = false;
};

}  // namespace quern

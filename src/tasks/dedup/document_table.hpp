// SPDX-License-Identifier: Apache-2.0
// The documents that a run compares, by position: ids and lengths in memory, texts on disk and mapped, one behind the
// other. About 60 bytes a document and its id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/joined_files.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "tasks/corpus/id_table.hpp"

namespace quern {

class document_table {
  public:
    std::uint32_t size() const { return static_cast<std::uint32_t>(id_ends_.size()); }
    std::string_view id(std::uint32_t document) const;
    std::optional<std::uint32_t> find(std::string_view id) const { return ids_.find(hash128(id)); }

    /// The next document; false, and nothing changed, where the id is there already. Throws usage_error beyond the
    /// number of documents that can be compared.
    bool add(std::string_view id, std::uint64_t text_bytes);
    /// Documents added from now on may have ids that are there already, and find() knows only those.
    void begin_another_set() { ids_ = id_table(); }
    std::uint64_t memory_bytes() const;

    std::uint64_t text_bytes(std::uint32_t document) const {
        return text_offsets_[document + std::size_t{1}] - text_offsets_[document];
    }
    /// What the file of the next texts must begin with.
    std::string_view overlap() const { return texts_.overlap(); }
    /// Takes in the file with the texts of all documents added since the last call.
    void map_texts(const std::filesystem::path& file);
    /// Of documents whose texts are mapped. Views of texts are valid until the next map_texts().
    std::string_view text(std::uint32_t document) const { return texts()[document]; }
    text_list texts() const;

  private:
    std::string id_bytes_;
    std::vector<std::uint64_t> id_ends_;
    std::vector<std::uint64_t> text_offsets_{0};
    id_table ids_;
    io::joined_files texts_;
    std::uint32_t mapped_ = 0;  ///< documents
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The documents that a run compares, by position: ids and lengths in memory, texts on disk and mapped, concatenated.
// About 60 bytes a document plus its id. Sketches, if kept, are in the store or in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/joined_files.hpp"
#include "io/store/section.hpp"
#include "quern/ops/text_sketches.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/dedup/scratch_texts.hpp"

namespace quern {

class document_table {
  public:
    document_table() = default;
    document_table(const document_table&) = delete;  // views that it returns point into it
    document_table& operator=(const document_table&) = delete;

    std::uint32_t size() const { return static_cast<std::uint32_t>(id_ends_.size()); }
    std::string_view id(std::uint32_t document) const;
    std::optional<std::uint32_t> find(std::string_view id) const { return ids_.find(hash128(id)); }

    /// Adds the next document; false, and no change, if the id exists already. Throws usage_error beyond the number of
    /// documents that can be compared.
    bool add(std::string_view id, std::uint64_t text_bytes);
    /// Documents added from now on may repeat earlier ids, and find() sees only the new ones.
    void begin_another_set() { ids_ = id_table(); }
    std::uint64_t memory_bytes() const;

    std::uint64_t text_bytes(std::uint32_t document) const {
        return text_offsets_[document + std::size_t{1}] - text_offsets_[document];
    }
    /// The bytes with which the file of the next texts must begin. Throws damaged_store.
    std::string_view overlap() const;
    /// Adds the file with the texts of all documents added since the last call.
    void map_texts(const std::filesystem::path& file);
    /// The same for several files that follow each other.
    void map_texts(std::span<const scratch_texts::file> files);
    /// The same for a file of a store. Its texts are checked when they are read, by their sketches, if it has any;
    /// `unit` is the one they were made with. Only at the beginning, before any other documents.
    void map_stored(const std::filesystem::path& file, std::optional<io::section_view> sketches,
                    edit_unit unit);
    /// For documents whose texts are mapped. Views of texts are valid until the next map_texts(). Throws damaged_store.
    std::string_view text(std::uint32_t document) const;
    /// Unchecked if they are from a store.
    text_list texts() const;

    /// Sketches of the documents after those that have one.
    void add_sketches(std::vector<text_sketch> sketches);
    /// Those of the last add_sketches().
    std::span<text_sketch> last_sketches() { return made_.back(); }
    /// All sketches, with the check of texts; none if they are of another unit. As long as the table.
    text_sketches sketches(edit_unit unit) const;

  private:
    std::string id_bytes_;
    std::vector<std::uint64_t> id_ends_;
    std::vector<std::uint64_t> text_offsets_{0};
    id_table ids_;
    io::joined_files texts_;
    std::uint32_t mapped_ = 0;  ///< documents

    struct stored_texts {
        std::uint32_t first;  ///< document
        std::filesystem::path file;
        io::section_view sketches;
    };
    std::vector<stored_texts> stored_;
    std::uint32_t checked_by_sketch_ = 0;  ///< documents: those of `stored_`
    edit_unit sketch_unit_ = edit_unit::byte;
    std::vector<std::vector<text_sketch>> made_;
    std::vector<std::span<const text_sketch>> sketches_;  ///< in `stored_` and `made_`
};

}  // namespace quern

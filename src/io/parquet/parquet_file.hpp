// SPDX-License-Identifier: Apache-2.0
// A Parquet file, and its columns as streams of levels and values.
//
//     const auto file = parquet_file::open("x.parquet", memory);
//     for (std::size_t g = 0; g < file->metadata().groups.size(); ++g) {
//         column_reader column(file, g, leaf);
//         column_batch batch;
//         while (column.read(batch, 1024) != 0) …
//     }
//
// Whatever a damaged file says, a reader stays within its bytes and within the memory that it may use. All errors are
// invalid_input with the name of the file, but for out_of_memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "io/parquet/metadata.hpp"
#include "io/parquet/packed_numbers.hpp"
#include "io/parquet/page.hpp"
#include "io/parquet/page_values.hpp"
#include "io/pooled_bytes.hpp"

namespace quern::io::parquet {

/// The first and the last four bytes of a file.
inline constexpr std::string_view magic = "PAR1";
/// Of a file whose footer is encrypted.
inline constexpr std::string_view encrypted_magic = "PARE";

/// Immutable; any threads.
class parquet_file {
  public:
    /// Maps a regular file. Throws io_error, invalid_input if it is not a Parquet file or its footer is damaged,
    /// out_of_memory if its metadata need more than `max_bytes`.
    static std::shared_ptr<const parquet_file> open(const std::filesystem::path& path,
                                                    std::uint64_t max_bytes);
    /// The same of a file that is mapped; `name` is for messages.
    static std::shared_ptr<const parquet_file> of(mapped_file mapped, std::string name,
                                                  std::uint64_t max_bytes);
    /// The same of bytes in memory, which must outlive it.
    static std::shared_ptr<const parquet_file> over(std::string_view bytes, std::string name,
                                                    std::uint64_t max_bytes);

    const file_metadata& metadata() const { return metadata_; }
    std::string_view bytes() const { return bytes_; }
    const std::string& name() const { return name_; }
    /// For its decompressed pages.
    const std::shared_ptr<buffer_pool>& pool() const { return pool_; }

  private:
    parquet_file(mapped_file mapped, std::string_view bytes, std::string name, std::uint64_t max_bytes);

    mapped_file mapped_;
    std::string_view bytes_;
    std::string name_;
    file_metadata metadata_;
    std::shared_ptr<buffer_pool> pool_ = std::make_shared<buffer_pool>();
};

/// Reads one leaf of one row group in order, a page at a time. A page is checked as a whole when it is loaded: it is damaged,
/// or all of its entries can be read. Not thread-safe; a copy goes on from the same place, and
/// shares the pages with the original.
class column_reader {
  public:
    /// Throws invalid_input if the chunk cannot be read: encrypted, of an unknown codec.
    column_reader(std::shared_ptr<const parquet_file> file, std::size_t group, std::size_t leaf);

    const leaf_column& leaf() const { return chunk_->leaf; }
    /// The memory that a page, or a dictionary, may take when it is loaded.
    void limit_memory(std::uint64_t bytes) { max_bytes_ = bytes; }

    /// Replaces `out` by the next entries, up to `max`, all of one page. Returns how many: 0 at the end. Throws
    /// invalid_input if the file is damaged there, out_of_memory if a page needs more than limit_memory().
    std::size_t read(column_batch& out, std::size_t max);

    /// The page from which the next entry comes, perhaps not yet loaded; null at the end. Throws invalid_input if it cannot
    /// be found: then the rest of the chunk is lost.
    const page* current_page();
    /// The entry with which the current page begins, from 0.
    std::uint64_t page_begin() const { return page_begin_; }
    /// How many entries of the current page are left.
    std::uint64_t left_in_page() { return current_page() == nullptr ? 0 : left_in_page_; }
    /// The memory of the page and the dictionary that it reads from, shared with its copies.
    std::uint64_t memory_bytes() const;
    /// Passes over entries; those of pages that are passed over completely are not decompressed.
    void skip(std::uint64_t entries);
    /// Passes over the rest of the current page, damaged or not. Returns its entries.
    std::uint64_t skip_page();

  private:
    /// Shared by copies.
    struct chunk {
        std::shared_ptr<const parquet_file> file;
        std::size_t group;
        leaf_column leaf;
        column_chunk meta;
        std::mutex finding = {};  ///< guards what follows
        std::weak_ptr<dictionary> entries = {};
        std::vector<std::pair<std::uint64_t, std::weak_ptr<page>>> pages =
            {};  ///< in use, by their place in the file
    };

    template <class Work>
    decltype(auto) guarded(const Work& work);
    bool next_page();
    void take_page(const page_header& header, std::string_view body);
    std::shared_ptr<page> shared_page(const page_header& header, std::string_view body);
    std::shared_ptr<dictionary> shared_dictionary(const page_header& header, std::string_view body);
    void begin_page();
    void skip_in_page();
    const dictionary* current_dictionary();

    std::shared_ptr<chunk> chunk_;
    std::uint64_t max_bytes_ = UINT64_MAX;
    std::uint64_t at_ = 0;    ///< of the next page, in the file
    std::uint64_t left_ = 0;  ///< entries after the current page
    std::shared_ptr<dictionary> dictionary_;
    std::shared_ptr<page> page_;
    std::uint64_t page_begin_ = 0;
    std::uint64_t left_in_page_ = 0;
    std::uint64_t to_skip_ = 0;  ///< of them, before the next entry
    bool begun_ = false;  ///< the page is loaded and its decoders stand at `to_skip_` entries before the next
    hybrid_decoder repetition_, definition_;
    page_values values_;
};

}  // namespace quern::io::parquet

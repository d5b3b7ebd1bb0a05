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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "io/parquet/metadata.hpp"
#include "io/parquet/packed_numbers.hpp"
#include "io/parquet/page.hpp"

namespace quern::io::parquet {

/// The first and the last four bytes of a file.
inline constexpr std::string_view magic = "PAR1";
/// Of a file whose footer is encrypted.
inline constexpr std::string_view encrypted_magic = "PARE";

/// Immutable; any threads.
class parquet_file {
  public:
    /// Maps a regular file. `name`: for messages, the path if empty. Throws io_error, invalid_input if it is not a Parquet
    /// file or its footer is damaged, out_of_memory if its metadata need more than `max_bytes`.
    static std::shared_ptr<const parquet_file> open(const std::filesystem::path& path,
                                                    std::uint64_t max_bytes, std::string name = {});
    /// The same of bytes in memory, which must outlive it.
    static std::shared_ptr<const parquet_file> over(std::string_view bytes, std::string name,
                                                    std::uint64_t max_bytes);

    const file_metadata& metadata() const { return metadata_; }
    std::string_view bytes() const { return bytes_; }
    const std::string& name() const { return name_; }

  private:
    parquet_file(mapped_file mapped, std::string_view bytes, std::string name, std::uint64_t max_bytes);

    mapped_file mapped_;
    std::string_view bytes_;
    std::string name_;
    file_metadata metadata_;
};

/// Consecutive entries of a column: a value, a null or an empty list each. The levels are those of the format: an entry
/// with repetition level 0 begins a row, and one with the leaf's highest definition level has a value.
struct column_batch {
    std::size_t entries = 0;
    std::vector<std::uint16_t> repetition;  ///< empty if the leaf is not repeated: all 0
    std::vector<std::uint16_t> definition;  ///< empty if nothing can be null: all have a value
    /// The values present. Of type byte_array; valid until the batch is filled again, or the reader ends.
    std::vector<std::string_view> texts;
    /// Of other types: leaf_column::width bytes each, as PLAIN has them; booleans a byte each.
    std::vector<char> fixed;

    std::size_t values(const leaf_column& leaf) const {
        return leaf.width == 0 ? texts.size() : fixed.size() / leaf.width;
    }

  private:
    friend class page_values;
    std::vector<std::unique_ptr<char[]>> built_;  ///< texts that lie nowhere in the file
    std::size_t built_bytes_ = 0;
};

/// The values of one page, decoded in order. A copy goes on from the same place.
class page_values {
  public:
    page_values() = default;
    page_values(std::string_view bytes, encoding encoded, const leaf_column& leaf, const dictionary* entries);

    /// Appends up to `count` values to out.texts or out.fixed; fewer, but one at least, if they have to be built and are
    /// long. Returns how many.
    std::size_t read(column_batch& out, std::size_t count);
    void skip(std::uint64_t count);

  private:
    void read_plain(column_batch& out, std::size_t count);
    void read_fixed(column_batch& out, std::size_t count);
    void read_keys(column_batch& out, std::size_t count);
    void read_lengths(column_batch& out, std::size_t count);
    std::size_t read_fronts(column_batch& out, std::size_t count);
    void read_differences(column_batch& out, std::size_t count);
    std::string_view next_of_lengths();
    void next_of_fronts();

    encoding encoded_ = encoding::plain;
    leaf_column leaf_;
    const dictionary* entries_ = nullptr;
    byte_cursor in_;           ///< PLAIN values; the bytes after lengths
    std::string_view all_;     ///< of values of equal length
    std::uint64_t taken_ = 0;  ///< of them
    hybrid_decoder keys_;      ///< of a dictionary; booleans
    delta_decoder lengths_, fronts_, numbers_;
    std::string before_;  ///< the last value of DELTA_BYTE_ARRAY
};

/// Reads one leaf of one row group in order, a page at a time. Not thread-safe; a copy goes on from the same place, and
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

    /// The page from which the next entry comes, not yet loaded; null at the end.
    const page* current_page();
    /// How many entries of the current page are left.
    std::uint64_t left_in_page() { return current_page() == nullptr ? 0 : left_in_page_; }
    /// Passes over entries; those of pages that are passed over completely are not decompressed.
    void skip(std::uint64_t entries);
    /// Passes over the current page, damaged or not. Returns its entries.
    std::uint64_t skip_page();

    /// The dictionary of the current page, if it needs one: loaded.
    const dictionary* current_dictionary();

  private:
    /// What is shared by copies.
    struct chunk {
        std::shared_ptr<const parquet_file> file;
        std::size_t group;
        leaf_column leaf;
        column_chunk meta;
    };

    template <class Work>
    decltype(auto) guarded(const Work& work);
    bool next_page();
    void take_page(const page_header& header, std::string_view body);
    void begin_page();
    void skip_in_page();
    bool has_dictionary_keys() const;

    std::shared_ptr<const chunk> chunk_;
    std::uint64_t max_bytes_ = UINT64_MAX;
    std::uint64_t at_ = 0;    ///< of the next page, in the file
    std::uint64_t left_ = 0;  ///< entries after the current page
    std::shared_ptr<dictionary> dictionary_;
    std::shared_ptr<page> page_;
    std::uint64_t left_in_page_ = 0;
    std::uint64_t to_skip_ = 0;  ///< of them, before the next entry
    bool begun_ = false;  ///< the page is loaded and its decoders stand at `to_skip_` entries before the next
    hybrid_decoder repetition_, definition_;
    page_values values_;
};

}  // namespace quern::io::parquet

// SPDX-License-Identifier: Apache-2.0
// The messages of an Arrow IPC file (Feather version 2) or stream: the schema, then dictionaries and record batches, in the
// order in which they are to be read. Nothing of a damaged file leads outside its bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/arrow/flat_buffer.hpp"
#include "io/arrow/schema.hpp"
#include "io/files/mapped_file.hpp"
#include "io/pooled_bytes.hpp"

namespace quern::io::arrow {

/// With which files begin, and end without the zeros.
inline constexpr std::string_view magic{"ARROW1\0\0", 8};
/// Of version 1 of Feather, which is another format.
inline constexpr std::string_view old_feather_magic = "FEA1";

/// Whether bytes begin a stream: with a message that has a schema, of which `head` may be a part.
bool opens_stream(std::string_view head);

/// The table RecordBatch of a message.
struct batch_header {
    enum class codec : std::uint8_t { none, lz4, zstd };

    std::uint64_t rows = 0;
    flat_vector nodes, buffers;  ///< 16 bytes each
    flat_vector view_buffers;    ///< counts, 8 bytes each
    codec compression = codec::none;
};

struct message {
    bool is_dictionary = false, is_delta = false;
    std::int64_t dictionary = 0;  ///< its id
    batch_header batch;           ///< of a dictionary: one column
    std::string_view body;
    std::uint64_t end = 0;                        ///< in the file, for progress
    std::shared_ptr<buffer_pool> pool = nullptr;  ///< of the file, for what is decompressed
};

/// Immutable; any threads.
class ipc_file {
  public:
    /// Maps a regular file. Throws io_error, invalid_input if it is not an Arrow file or damaged where its columns are
    /// described, out_of_memory if these need more than `max_bytes`.
    static std::shared_ptr<const ipc_file> open(const std::filesystem::path& path, std::uint64_t max_bytes);
    /// The same of a file that is mapped; `name` is for messages.
    static std::shared_ptr<const ipc_file> of(mapped_file mapped, std::string name, std::uint64_t max_bytes);
    /// The same of bytes in memory, which must outlive it.
    static std::shared_ptr<const ipc_file> over(std::string_view bytes, std::string name,
                                                std::uint64_t max_bytes);

    const arrow_schema& schema() const { return schema_; }
    std::string_view bytes() const { return bytes_; }
    const std::string& name() const { return name_; }

  private:
    friend class message_reader;

    ipc_file(mapped_file mapped, std::string_view bytes, std::string name, std::uint64_t max_bytes);
    void read_footer(std::uint64_t max_bytes);
    void read_first_message(std::uint64_t max_bytes);

    mapped_file mapped_;
    std::string_view bytes_;
    std::string name_;
    arrow_schema schema_;
    std::shared_ptr<buffer_pool> pool_ = std::make_shared<buffer_pool>();
    bool is_stream_ = false;
    std::uint64_t first_ = 0;             ///< of a stream: the message after the schema
    flat_vector dictionaries_, batches_;  ///< of a file: where its messages are, 24 bytes each
};

/// The messages of a file, one after the other; of the forms of a file the dictionaries first.
class message_reader {
  public:
    explicit message_reader(std::shared_ptr<const ipc_file> file)
        : file_(std::move(file)), at_(file_->first_) {}

    /// Nothing at the end. Throws fault if the file is damaged: then what follows is lost.
    std::optional<message> next();

  private:
    std::optional<message> next_of_stream();
    std::optional<message> next_of_file();

    std::shared_ptr<const ipc_file> file_;
    std::uint64_t at_;          ///< in a stream
    std::uint64_t number_ = 0;  ///< in a file
};

}  // namespace quern::io::arrow

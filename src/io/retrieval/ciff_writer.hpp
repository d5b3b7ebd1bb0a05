// SPDX-License-Identifier: Apache-2.0
// The Common Index File Format, in which search engines exchange indexes (Lin et al., "Supporting Interoperability
// Between Open-Source Search Engines with the Common Index File Format", 2020): a header, a posting list per word, a
// record per document, each a protobuf message preceded by its length. The few messages are written by hand: protobuf's
// library would hold a whole list as objects before writing its first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace quern::io {

/// The maximum size of a message and value of a number: readers use signed 32-bit lengths and numbers.
inline constexpr std::uint64_t max_in_ciff = 0x7fffffff;

/// Counts for the header: of the lists and documents that follow, and of the words in all documents together.
struct ciff_header {
    std::uint64_t lists = 0, documents = 0, words = 0;
    std::string_view description;  ///< human-readable
};

/// Writes front to back: the header, the lists by word in bytes, the documents from 0 on, and finish(). The caller
/// ensures that counts are right, strings are UTF-8, and numbers and messages are no larger than `max_in_ciff`.
class ciff_writer {
  public:
    explicit ciff_writer(std::function<void(std::string_view)> out);

    void header(const ciff_header& header);

    /// The size of a posting list must be known before its first posting is written.
    class list_size {
      public:
        /// Documents rise from call to call.
        void add(std::span<const std::uint32_t> documents, std::span<const std::uint32_t> frequencies);
        std::uint64_t occurrences() const noexcept { return occurrences_; }
        std::uint64_t bytes() const noexcept { return bytes_; }  ///< of the postings

      private:
        std::uint64_t bytes_ = 0, occurrences_ = 0;
        std::uint32_t previous_ = 0;
    };
    /// The size of the message that holds such a list.
    static std::uint64_t message_bytes(std::string_view word, std::uint64_t documents, const list_size& size);
    void begin_list(std::string_view word, std::uint64_t documents, const list_size& size);
    /// The postings, as passed to `list_size`.
    void add(std::span<const std::uint32_t> documents, std::span<const std::uint32_t> frequencies);

    void document(std::uint32_t number, std::string_view id, std::uint32_t length);
    void finish();  ///< once, last: writes what is still buffered

  private:
    void reserve(std::size_t bytes);
    void put_varint(std::uint64_t value);
    void put_number(unsigned field, std::uint64_t value);
    void put_double(unsigned field, double value);
    void put_string(unsigned field, std::string_view value);

    std::function<void(std::string_view)> out_;
    std::unique_ptr<char[]> buffer_;
    char* at_;
    std::uint32_t previous_ = 0;  // the previous document of the open list
};

}  // namespace quern::io

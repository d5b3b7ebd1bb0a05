// SPDX-License-Identifier: Apache-2.0
// Reads the Common Index File Format (ciff_writer.hpp says what it is) front to back, a posting at a time: no message is
// held, whatever its size. Every length and number is checked; unknown fields are skipped, as protobuf does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"

namespace quern::io {

/// Whether bytes begin with a header of version 1 that names numbers of lists and documents; `head` must hold all of it.
bool opens_as_ciff(std::string_view head);

/// Calls in this order: header(), list() for each list, record() for each document, finish(). Each throws invalid_input,
/// with the byte and the message where it is, for a file that is cut off, is malformed or contradicts itself; io_error.
class ciff_reader {
  public:
    /// The source must outlive it.
    explicit ciff_reader(byte_source& source);

    struct header_fields {
        std::uint32_t lists = 0, documents = 0;
        std::uint64_t all_lists = 0, all_documents = 0, words = 0;  ///< of the whole collection; 0: not given
        std::string description;
    };
    const header_fields& header();

    struct list_fields {
        std::string_view word;  ///< UTF-8, not empty, without a line end; valid until the next call
        std::uint64_t documents = 0, occurrences = 0;
    };
    /// Documents ascend, below the header's number; frequencies are at least 1; both add up to what the list says.
    list_fields list(const std::function<void(std::uint32_t document, std::uint32_t frequency)>& posting);

    struct record_fields {
        std::string_view id;  ///< UTF-8, not empty; valid until the next call
        std::uint32_t length = 0;
    };
    /// Of document 0, 1, …
    record_fields record();

    /// Throws if bytes follow.
    void finish();

    /// For an error that only the caller sees, about the last message read.
    [[noreturn]] void refuse(std::string_view reason) const;

  private:
    struct field {
        std::uint64_t number = 0, value = 0;  ///< value: of a number; of others their length
        unsigned kind = 0;
    };
    std::uint64_t offset() const { return begun_ + at_; }
    bool fill();
    unsigned char byte();
    std::uint64_t varint();
    void begin_message(std::string_view what, std::uint64_t number);
    /// False at the end of the message that ends at `end`.
    bool next_field(std::uint64_t end, field& found);
    void skip(const field& of);
    std::uint32_t number_of(const field& of, std::string_view what) const;
    void take_text(const field& of, std::uint64_t longest, std::string_view what, std::string& text);
    /// Of the message of a posting.
    void take_posting(std::uint64_t end, std::uint32_t& gap, std::uint32_t& frequency);

    byte_source& source_;
    std::string buffer_;
    std::size_t at_ = 0, end_ = 0;
    std::uint64_t begun_ = 0;  // offset of the buffer in the file
    std::uint64_t message_end_ = 0;
    std::string_view what_ = "the header";
    std::uint64_t number_ = 0;  // of the list or record, from 1; 0: the header
    header_fields header_;
    std::string text_;
    std::uint64_t lists_ = 0, records_ = 0;
};

}  // namespace quern::io

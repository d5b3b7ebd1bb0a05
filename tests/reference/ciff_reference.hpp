// SPDX-License-Identifier: Apache-2.0
// Reads the Common Index File Format in the obvious way, and strictly: a message must be exactly what protobuf itself would
// write (fields in order, no zero values, shortest numbers).
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::reference {

struct ciff_list {
    std::string word;
    std::int64_t documents = 0, occurrences = 0;
    std::vector<std::pair<std::int32_t, std::int32_t>> postings;  ///< document and frequency, gaps summed up
    bool operator==(const ciff_list&) const = default;
};
struct ciff_document {
    std::int32_t number = 0;
    std::string id;
    std::int32_t length = 0;
    bool operator==(const ciff_document&) const = default;
};
struct ciff_index {
    std::int32_t version = 0, lists_here = 0, documents_here = 0, lists_in_all = 0, documents_in_all = 0;
    std::int64_t words = 0;
    double mean_length = 0;
    std::string description;
    std::vector<ciff_list> lists;
    std::vector<ciff_document> documents;
};

class ciff_message {
  public:
    explicit ciff_message(std::string_view bytes) : rest_(bytes) {}

    std::uint64_t take_varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (rest_.empty() || shift > 63) throw std::runtime_error("a number is cut off");
            const auto byte = static_cast<unsigned char>(rest_[0]);
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) {
                if (byte == 0 && shift > 0) throw std::runtime_error("a number longer than it need be");
                return value;
            }
        }
    }
    std::string_view take_bytes(std::uint64_t count) {
        if (count > rest_.size()) throw std::runtime_error("a message is cut off");
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    ciff_message take_message() { return ciff_message(take_bytes(take_varint())); }

    /// The field's value, or nothing if the next field is another one.
    template <typename Number>
    Number number(unsigned field) {
        if (!at(field, 0)) return 0;
        const std::uint64_t value = take_varint();
        if (value == 0) throw std::runtime_error("a zero is written");
        return static_cast<Number>(value);
    }
    double fixed(unsigned field) {
        if (!at(field, 1)) return 0;
        double value;
        std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
        if (value == 0) throw std::runtime_error("a zero is written");
        return value;
    }
    std::string text(unsigned field) {
        if (!at(field, 2)) return {};
        std::string value(take_bytes(take_varint()));
        if (value.empty()) throw std::runtime_error("an empty string is written");
        return value;
    }
    /// Whether the next field is this one; skips its tag.
    bool at(unsigned field, unsigned wire_type) {
        if (rest_.empty() || static_cast<unsigned char>(rest_[0]) != (field << 3 | wire_type)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void end() const {
        if (!rest_.empty()) throw std::runtime_error("bytes that are no field, or not in order");
    }

  private:
    std::string_view rest_;
};

inline ciff_index read_ciff(std::string_view bytes) {
    ciff_message file(bytes);
    ciff_index index;
    ciff_message header = file.take_message();
    index.version = header.number<std::int32_t>(1);
    index.lists_here = header.number<std::int32_t>(2);
    index.documents_here = header.number<std::int32_t>(3);
    index.lists_in_all = header.number<std::int32_t>(4);
    index.documents_in_all = header.number<std::int32_t>(5);
    index.words = header.number<std::int64_t>(6);
    index.mean_length = header.fixed(7);
    index.description = header.text(8);
    header.end();
    for (std::int32_t i = 0; i < index.lists_here; ++i) {
        ciff_message message = file.take_message();
        ciff_list& list = index.lists.emplace_back();
        list.word = message.text(1);
        list.documents = message.number<std::int64_t>(2);
        list.occurrences = message.number<std::int64_t>(3);
        for (std::int32_t document = 0; message.at(4, 2);) {
            ciff_message posting = message.take_message();
            document += posting.number<std::int32_t>(1);
            list.postings.emplace_back(document, posting.number<std::int32_t>(2));
            posting.end();
        }
        message.end();
    }
    for (std::int32_t i = 0; i < index.documents_here; ++i) {
        ciff_message message = file.take_message();
        ciff_document& document = index.documents.emplace_back();
        document.number = message.number<std::int32_t>(1);
        document.id = message.text(2);
        document.length = message.number<std::int32_t>(3);
        message.end();
    }
    file.end();
    return index;
}

}  // namespace quern::reference

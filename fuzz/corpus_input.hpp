// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets of the corpus readers: bytes as a source, and the check that the documents do not
// depend on the boundaries of units.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io::fuzzing {

class memory_source final : public byte_source {
  public:
    explicit memory_source(std::string_view bytes) : bytes_(bytes) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t taken = std::min(out.size(), bytes_.size() - at_);
        if (taken != 0) std::memcpy(out.data(), bytes_.data() + at_, taken);
        at_ += taken;
        return taken;
    }
    std::uint64_t consumed() const override { return at_; }
    std::uint64_t size() const override { return bytes_.size(); }
    const std::string& name() const override { return name_; }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::string name_ = "input";
};

inline void require(bool holds) {
    if (!holds) std::abort();
}

/// JSON, with numbers of any size: nlohmann's parser ends at one beyond a double, and calls the text malformed.
inline bool is_json(const std::string& text) {
    try {
        return !nlohmann::json::parse(text).is_discarded();
    } catch (const nlohmann::json::out_of_range&) {
        return true;
    } catch (const nlohmann::json::parse_error&) {
        return false;
    }
}

/// The complete input as one text.
inline std::string reading(std::unique_ptr<byte_source> source,
                           const std::shared_ptr<const record_form>& form, std::uint64_t unit_bytes,
                           std::uint64_t limit) {
    corpus_options options;
    options.unit_bytes = unit_bytes;
    options.max_document_bytes = limit;
    std::uint64_t number = 0;
    const auto reader = read_records(std::move(source), form, options, context{}, &number);
    std::string out, issues;
    while (const auto unit = reader->next()) {
        const parsed_unit part = unit->parse();
        require(part.counts.documents == part.documents.size());
        require(part.counts.rejected + part.counts.damaged == part.issues.size());
        for (const auto& each : part.documents) {
            require(!each.id.empty() && is_utf8(each.id) && is_utf8(each.title) && is_utf8(each.text));
            require(each.fields.empty() || is_json(each.fields));
            out += each.fields + '\1';
            out += each.id + '\1' + each.title + '\1' + each.text + '\1' + std::to_string(each.line) + '\1';
            for (const auto& link : each.links) {
                require(is_utf8(link));
                out += link + '\1';
            }
        }
        for (const auto& each : part.issues) issues += std::to_string(each.line) + each.reason + '\1';
    }
    return out + issues;
}

inline void read_in_any_units(std::string_view bytes, const std::shared_ptr<const record_form>& form) {
    for (const std::uint64_t limit : {std::uint64_t{1} << 30, std::uint64_t{60}}) {
        const std::string whole = reading(std::make_unique<memory_source>(bytes), form, 1 << 20, limit);
        require(whole == reading(std::make_unique<memory_source>(bytes), form, 1, limit));
        require(whole == reading(std::make_unique<memory_source>(bytes), form, 37, limit));
    }
}

/// The documents of a file of columns as one text; at most 4,000, as a few bytes may stand for billions of rows.
inline std::string reading_columns(corpus_reader& reader) {
    constexpr std::uint64_t max_documents = 4000;
    std::uint64_t documents = 0;
    std::string out, issues;
    while (const auto unit = reader.next()) {
        parsed_unit part;
        if (!unit->parse_within({1 << 20, false}, part)) unit->parse_within({16 << 20, true}, part);
        require(part.counts.documents == part.documents.size());
        for (const auto& each : part.documents) {
            require(!each.id.empty() && is_utf8(each.id) && is_utf8(each.title));
            require(is_utf8(each.text) && is_utf8(each.fields) && is_utf8(each.record));
            if (documents++ > max_documents) continue;
            out += each.id + '\1' + each.title + '\1' + each.text + '\1' + each.fields + '\1' + each.record +
                   std::to_string(each.line) + '\1';
            for (const auto& link : each.links) out += link + '\1';
        }
        for (const auto& each : part.issues) issues += std::to_string(each.line) + each.reason + '\1';
        if (documents > max_documents) return out.substr(0, 1000);
    }
    return out + issues;
}

/// `open` returns a reader of the file with these options, or nothing. With needed columns and with all.
template <class Open>
void read_columns_in_any_units(const Open& open) {
    const auto reading = [&](std::uint64_t unit_bytes, bool everything) {
        corpus_options options;
        options.unit_bytes = unit_bytes;
        options.document_memory = 16 << 20;
        options.max_document_bytes = 1 << 20;
        options.keep_records = everything;
        if (everything) options.fields.kept = {"*"};
        const std::unique_ptr<corpus_reader> reader = open(options);
        return reader ? reading_columns(*reader) : std::string();
    };
    for (const bool everything : {false, true}) {
        try {
            const std::string whole = reading(1 << 20, everything);
            require(whole == reading(1, everything));
            require(whole == reading(700, everything));
        } catch (const invalid_input&) {
        } catch (const out_of_memory&) {
        }
    }
}

}  // namespace quern::io::fuzzing

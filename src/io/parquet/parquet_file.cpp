// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/parquet_file.hpp"

#include <cstring>
#include <utility>

#include "io/parquet/byte_cursor.hpp"
#include "io/parquet/page_codec.hpp"
#include "quern/base/error.hpp"

namespace quern::io::parquet {
namespace {

/// The footer's bytes, without its length and magic.
std::string_view footer_of(std::string_view bytes, const std::string& name) {
    constexpr std::size_t tail = sizeof(std::uint32_t) + magic.size();
    const auto refuse = [&name](std::string_view reason) { throw invalid_input(name, 0, reason); };
    if (bytes.starts_with(encrypted_magic))
        refuse("an encrypted Parquet file; write it again without encryption");
    if (!bytes.starts_with(magic)) refuse("not a Parquet file: it does not begin with PAR1");
    if (bytes.size() < magic.size() + tail || !bytes.ends_with(magic))
        refuse("the Parquet file is cut off: its footer is missing");
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + bytes.size() - tail, sizeof length);
    if (length > bytes.size() - tail - magic.size())
        refuse("the footer of the Parquet file is damaged: it is longer than the file");
    return bytes.substr(bytes.size() - tail - length, length);
}

}  // namespace

parquet_file::parquet_file(mapped_file mapped, std::string_view bytes, std::string name,
                           std::uint64_t max_bytes)
    : mapped_(std::move(mapped)), bytes_(bytes), name_(std::move(name)) {
    const std::string_view footer = footer_of(bytes_, name_);
    try {
        metadata_ = parse_metadata(footer, max_bytes);
    } catch (const fault& why) {
        throw invalid_input(name_, 0,
                            std::string("the footer of the Parquet file is damaged: ") + why.what());
    }
}

std::shared_ptr<const parquet_file> parquet_file::open(const std::filesystem::path& path,
                                                       std::uint64_t max_bytes) {
    return of(mapped_file(path), path.native(), max_bytes);
}

std::shared_ptr<const parquet_file> parquet_file::of(mapped_file mapped, std::string name,
                                                     std::uint64_t max_bytes) {
    const std::string_view bytes = mapped.text();
    return std::shared_ptr<const parquet_file>(
        new parquet_file(std::move(mapped), bytes, std::move(name), max_bytes));
}

std::shared_ptr<const parquet_file> parquet_file::over(std::string_view bytes, std::string name,
                                                       std::uint64_t max_bytes) {
    return std::shared_ptr<const parquet_file>(new parquet_file({}, bytes, std::move(name), max_bytes));
}

template <class Work>
decltype(auto) column_reader::guarded(const Work& work) {
    try {
        return work();
    } catch (const fault& why) {
        const parquet_file& file = *chunk_->file;
        throw invalid_input(file.name(), 0,
                            "row group " + std::to_string(chunk_->group) + ", column \"" +
                                file.metadata().columns.path_of(chunk_->leaf.node) + "\": " + why.what());
    }
}

column_reader::column_reader(std::shared_ptr<const parquet_file> file, std::size_t group, std::size_t leaf) {
    const file_metadata& metadata = file->metadata();
    const column_chunk& meta = metadata.groups.at(group).chunks.at(leaf);
    const leaf_column& column = metadata.columns.leaves.at(leaf);
    chunk_ = std::make_shared<chunk>(std::move(file), group, column, meta);
    guarded([&] {
        if (meta.encrypted) throw fault("encrypted; write the file again without encryption");
        if (meta.elsewhere) throw fault("its values lie in another file, which is not read");
        if (!is_supported(meta.compression)) {
            throw fault("compressed by " + name_of(meta.compression) +
                        ", which is not read; write the file again with zstd or snappy");
        }
        if (column.max_repetition == 0 && meta.values != metadata.groups[group].rows)
            throw fault("it has " + std::to_string(meta.values) + " values for " +
                        std::to_string(metadata.groups[group].rows) + " rows");
        if (meta.begin < magic.size() && meta.values != 0) throw fault("it begins outside the file");
    });
    at_ = meta.begin;
    left_ = meta.values;
}

std::shared_ptr<page> column_reader::shared_page(const page_header& header, std::string_view body) {
    const std::lock_guard lock(chunk_->finding);
    auto& pages = chunk_->pages;
    std::erase_if(pages, [](const auto& each) { return each.second.expired(); });
    for (const auto& [at, known] : pages) {
        if (auto found = at == at_ ? known.lock() : nullptr) return found;
    }
    auto result =
        std::make_shared<page>(header, body, chunk_->leaf, chunk_->meta.compression, chunk_->file->pool());
    pages.emplace_back(at_, result);
    return result;
}

/// A chunk has one, before its pages.
std::shared_ptr<dictionary> column_reader::shared_dictionary(const page_header& header,
                                                             std::string_view body) {
    const std::lock_guard lock(chunk_->finding);
    auto shared = chunk_->entries.lock();
    if (!shared) {
        shared = std::make_shared<dictionary>(header, body, chunk_->leaf, chunk_->meta.compression,
                                              chunk_->file->pool());
        chunk_->entries = shared;
    }
    return shared;
}

void column_reader::take_page(const page_header& header, std::string_view body) {
    using kind = page_header::kind;
    if (header.what == kind::dictionary) {
        if (dictionary_ || page_ || chunk_->leaf.type == physical_type::boolean)
            throw fault("a dictionary where none is expected");
        dictionary_ = shared_dictionary(header, body);
    } else if (header.what == kind::data || header.what == kind::data_v2) {
        if (header.values > left_) throw fault("its pages have more values than it says");
        page_begin_ = chunk_->meta.values - left_;
        page_ = shared_page(header, body);
        left_in_page_ = header.values;
        left_ -= header.values;
        begun_ = false;
        to_skip_ = 0;
    }
}

bool column_reader::next_page() {
    const std::string_view bytes = chunk_->file->bytes();
    while (left_in_page_ == 0) {
        if (left_ == 0) return false;
        if (at_ >= bytes.size()) throw fault("it has fewer values than it says");
        std::size_t header_bytes = 0;
        const page_header header = parse_page_header(bytes.substr(at_), header_bytes);
        const std::string_view rest = bytes.substr(at_ + header_bytes);
        if (header.packed_bytes > rest.size()) throw fault("a page ends after the end of the file");
        at_ += header_bytes + header.packed_bytes;
        take_page(header, rest.substr(0, header.packed_bytes));
    }
    return true;
}

const dictionary* column_reader::current_dictionary() {
    if (!page_->has_keys()) return nullptr;
    if (!dictionary_) throw fault("a page names entries of a dictionary, and there is none");
    dictionary_->load(max_bytes_);
    return dictionary_.get();
}

void column_reader::begin_page() {
    if (!begun_) {
        const dictionary* const entries = current_dictionary();
        page_->load(max_bytes_, entries);
        repetition_ = page_->repetition_levels();
        definition_ = page_->definition_levels();
        values_ = page_->values(entries);
        begun_ = true;
    }
    if (to_skip_ != 0) skip_in_page();
}

void column_reader::skip_in_page() {
    const std::uint64_t entries = std::exchange(to_skip_, 0);
    if (leaf().max_repetition != 0) repetition_.skip(entries);
    std::uint64_t present = entries;
    if (leaf().max_definition != 0) present = definition_.skip(entries, leaf().max_definition);
    values_.skip(present);
}

std::size_t column_reader::read(column_batch& out, std::size_t max) {
    return guarded([&]() -> std::size_t {
        out.entries = 0;
        out.repetition.clear();
        out.definition.clear();
        out.texts.clear();
        out.fixed.clear();
        if (!next_page()) return 0;
        begin_page();
        const leaf_column& its = leaf();
        std::size_t count = std::min<std::uint64_t>(max, left_in_page_);
        const hybrid_decoder definition_before = definition_;
        std::size_t present = count;
        if (its.max_definition != 0) {
            out.definition.resize(count);
            definition_.read(std::span(out.definition));
            present = static_cast<std::size_t>(
                std::count(out.definition.begin(), out.definition.end(), its.max_definition));
        }
        const std::size_t values_read = values_.read(out, present);
        if (values_read < present) {  // ends before the first value that is not read
            if (its.max_definition == 0) {
                count = values_read;
            } else {
                std::size_t seen = 0;
                const auto next = std::find_if(out.definition.begin(), out.definition.end(), [&](auto level) {
                    return level == its.max_definition && seen++ == values_read;
                });
                count = static_cast<std::size_t>(next - out.definition.begin());
                out.definition.resize(count);
                definition_ = definition_before;
                definition_.skip(count);
            }
        }
        if (its.max_repetition != 0) {
            out.repetition.resize(count);
            repetition_.read(std::span(out.repetition));
        }
        out.entries = count;
        left_in_page_ -= count;
        return count;
    });
}

const page* column_reader::current_page() {
    return guarded([&]() -> const page* { return next_page() ? page_.get() : nullptr; });
}

std::uint64_t column_reader::memory_bytes() const {
    if (!begun_) return 0;
    return page_->memory_bytes() + (page_->has_keys() ? dictionary_->memory_bytes() : 0);
}

void column_reader::skip(std::uint64_t entries) {
    guarded([&] {
        while (entries != 0) {
            if (!next_page()) throw fault("it has fewer values than it says");
            const std::uint64_t part = std::min(entries, left_in_page_);
            to_skip_ += part;
            left_in_page_ -= part;
            entries -= part;
        }
    });
}

std::uint64_t column_reader::skip_page() {
    return guarded([&]() -> std::uint64_t {
        if (!next_page()) return 0;
        return std::exchange(left_in_page_, 0);
    });
}

}  // namespace quern::io::parquet

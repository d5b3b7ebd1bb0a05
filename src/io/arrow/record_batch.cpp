// SPDX-License-Identifier: Apache-2.0
#include "io/arrow/record_batch.hpp"

#include <lz4frame.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "io/compression/zstd_frame.hpp"
#include "quern/base/error.hpp"

namespace quern::io::arrow {
namespace {

constexpr std::uint64_t max_rows = std::uint64_t{1} << 60, view_size = 16, inline_bytes = 12;

template <class Number>
Number load_number(std::string_view bytes, std::uint64_t number) {
    Number value;
    std::memcpy(&value, bytes.data() + number * sizeof value, sizeof value);
    return value;
}

[[noreturn]] void throw_damaged(std::string_view codec) {
    throw fault("the " + std::string(codec) +
                " data of a buffer are damaged, or of another length than it says");
}

void unlz4(std::string_view packed, std::span<char> plain) {
    struct free_context {
        void operator()(LZ4F_dctx* c) const { LZ4F_freeDecompressionContext(c); }
    };
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0)
        throw out_of_memory("LZ4 decompression", 1U << 18, 0);
    const std::unique_ptr<LZ4F_dctx, free_context> context(made);
    LZ4F_decompressOptions_t options{};
    options.stableDst = 1;  // earlier output stays in place: later blocks may refer to it
    while (true) {
        std::size_t to = plain.size(), from = packed.size();
        const std::size_t next =
            LZ4F_decompress(context.get(), plain.data(), &to, packed.data(), &from, &options);
        if (LZ4F_isError(next) != 0) throw_damaged("LZ4");
        plain = plain.subspan(to);
        packed.remove_prefix(from);
        if (next == 0) break;  // the end of the frame
        if (to == 0 && from == 0) throw_damaged("LZ4");
    }
    if (!plain.empty()) throw_damaged("LZ4");
}

/// The nodes and buffers of a message.
class message_parts {
  public:
    message_parts(const message& from, std::uint64_t max_bytes)
        : from_(from), left_(max_bytes), max_(max_bytes) {}

    struct node {
        std::uint64_t length = 0, nulls = 0;
    };
    node node_at(std::uint64_t number) const {
        const std::string_view bytes = pair(from_.batch.nodes, number, "columns");
        const auto length = load_number<std::int64_t>(bytes, 0), nulls = load_number<std::int64_t>(bytes, 1);
        if (length < 0 || static_cast<std::uint64_t>(length) > max_rows || nulls < 0)
            throw fault("a column has an impossible number of values");
        return {static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(nulls)};
    }
    /// How many buffers of bytes a field of views has, besides the views.
    std::uint64_t view_buffers(std::uint64_t number) const {
        const auto count = from_.batch.view_buffers.at<std::int64_t>(number);
        if (count < 0 || static_cast<std::uint64_t>(count) > from_.batch.buffers.count)
            throw fault("a column has an impossible number of buffers");
        return static_cast<std::uint64_t>(count);
    }
    /// The first buffer of a field. To be called with fields in their order.
    std::uint64_t first_buffer(const field& its) {
        while (views_passed_ < its.views_before) of_views_ += view_buffers(views_passed_++);
        return its.buffer + of_views_;
    }
    /// As it lies in the file.
    std::string_view stored(std::uint64_t number) const {
        const std::string_view bytes = pair(from_.batch.buffers, number, "buffers");
        const auto begin = load_number<std::uint64_t>(bytes, 0),
                   length = load_number<std::uint64_t>(bytes, 1);
        if (begin > from_.body.size() || length > from_.body.size() - begin)
            throw fault("a buffer ends after the end of its message");
        return from_.body.substr(begin, length);
    }
    /// Its decompressed size; 0 if it is not compressed.
    std::uint64_t unpacked_bytes(std::uint64_t number) const {
        const std::string_view bytes = stored(number);
        if (from_.batch.compression == batch_header::codec::none || bytes.empty()) return 0;
        const auto length = number_at<std::int64_t>(bytes, 0);
        if (length < -1) throw fault("a buffer has a negative length");
        return length == -1 ? 0 : static_cast<std::uint64_t>(length);
    }
    std::string_view buffer(std::uint64_t number, array& of) {
        const std::string_view bytes = stored(number);
        if (from_.batch.compression == batch_header::codec::none || bytes.empty()) return bytes;
        const std::uint64_t length = unpacked_bytes(number);
        const std::string_view packed = bytes.substr(sizeof(std::int64_t));
        if (load_number<std::int64_t>(bytes, 0) == -1) return packed;
        if (length == 0) return {};
        if (length > left_)
            throw out_of_memory("a record batch of an Arrow file", max_ - left_ + length, max_);
        left_ -= length;
        const std::span<char> plain = of.owned.emplace_back(from_.pool, length).bytes();
        of.owned_bytes += length;
        if (from_.batch.compression == batch_header::codec::lz4) {
            unlz4(packed, plain);
        } else {
            if (!decompress_zstd(packed, plain)) throw_damaged("zstd");
        }
        return {plain.data(), plain.size()};
    }

  private:
    static std::string_view pair(const flat_vector& of, std::uint64_t number, std::string_view what) {
        if (number >= of.count)
            throw fault("a record batch has fewer " + std::string(what) + " than its file");
        return of.bytes.substr(16 * number, 16);
    }

    const message& from_;
    std::uint64_t left_, max_;
    std::uint64_t views_passed_ = 0, of_views_ = 0;
};

template <class Offset>
void check_offsets(std::string_view bytes, std::uint64_t count, std::uint64_t end) {
    bool ascend = true;
    Offset before = load_number<Offset>(bytes, 0);
    const Offset first = before;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const auto next = load_number<Offset>(bytes, i);
        ascend &= before <= next;
        before = next;
    }
    if (first < 0 || !ascend || static_cast<std::uint64_t>(before) > end)
        throw fault("the values of a column end before they begin, or after the end of their buffer");
}

void require_bytes(std::string_view bytes, std::uint64_t count, std::uint64_t width) {
    if (width != 0 && count > bytes.size() / width) throw fault("a buffer is shorter than its column");
}

/// Loads one field of a message.
class array_loader {
  public:
    array_loader(message_parts& parts, const field& its, std::uint64_t node, std::uint64_t buffer)
        : parts_(parts), its_(its), buffer_(buffer) {
        const auto [length, nulls] = parts.node_at(node);
        made_.length = length;
        nulls_ = nulls;
    }

    array load(const std::shared_ptr<const dictionary>& entries) {
        if (its_.encoded) {
            load_keys(entries);
        } else if (its_.how != layout::nothing) {
            load_validity();
            load_values();
        }
        return std::move(made_);
    }

    /// The entries of a dictionary, of which its field has the layout.
    array load_entries() {
        if (its_.how != layout::nothing) {
            load_validity();
            load_values();
        }
        return std::move(made_);
    }
    std::uint64_t view_buffers = 0;  ///< of a field of views

  private:
    std::string_view next() { return parts_.buffer(buffer_++, made_); }

    void load_validity() {
        const std::string_view bits = next();
        if (nulls_ == 0) return;
        require_bytes(bits, made_.length / 8 + (made_.length % 8 != 0 ? 1 : 0), 1);
        made_.validity = bits;
    }

    void load_keys(const std::shared_ptr<const dictionary>& entries) {
        load_validity();
        made_.values = next();
        require_bytes(made_.values, made_.length, its_.encoded->width);
        made_.entries = entries;
        const std::uint64_t size = made_.entries ? made_.entries->size() : 0;
        for (std::uint64_t i = 0; i < made_.length; ++i) {
            if (made_.is_valid(i) && made_.key(its_, i) >= size)
                throw fault(made_.entries ? "a value names an entry after the end of its dictionary"
                                          : "its dictionary is missing");
        }
    }

    void load_values() {
        const std::uint64_t count = made_.length;
        switch (its_.how) {
            case layout::bits:
                made_.values = next();
                return require_bytes(made_.values, count / 8 + (count % 8 != 0 ? 1 : 0), 1);
            case layout::fixed:
                made_.values = next();
                return require_bytes(made_.values, count, its_.width);
            case layout::texts:
                load_offsets();
                made_.values = next();
                return check(made_.values.size());
            case layout::list:
                return load_offsets();
            case layout::views:
                return load_views();
            case layout::nothing:
            case layout::group:
            case layout::fixed_list:
            case layout::unread:
                return;
        }
    }

    void load_offsets() {
        made_.offsets = next();
        if (made_.length != 0) require_bytes(made_.offsets, made_.length + 1, its_.width);
    }

  public:
    /// Checks that offsets stay within `end` elements, which for a list are known only once these are loaded.
    static void check(const array& made, const field& its, std::uint64_t end) {
        if (made.length == 0) return;
        if (its.width == 4) {
            check_offsets<std::int32_t>(made.offsets, made.length, end);
        } else {
            check_offsets<std::int64_t>(made.offsets, made.length, end);
        }
    }

  private:
    void check(std::uint64_t end) const { check(made_, its_, end); }

    void load_views() {
        made_.values = next();
        require_bytes(made_.values, made_.length, view_size);
        for (std::uint64_t i = 0; i < view_buffers; ++i) made_.view_bytes.push_back(next());
        for (std::uint64_t i = 0; i < made_.length; ++i) {
            if (!made_.is_valid(i)) continue;
            const auto length = load_number<std::int32_t>(made_.values, 4 * i);
            if (length < 0) throw fault("a text has a negative length");
            if (static_cast<std::uint64_t>(length) <= inline_bytes) continue;
            const auto buffer = load_number<std::uint32_t>(made_.values, 4 * i + 2),
                       begin = load_number<std::uint32_t>(made_.values, 4 * i + 3);
            if (buffer >= made_.view_bytes.size() || begin > made_.view_bytes[buffer].size() ||
                static_cast<std::uint64_t>(length) > made_.view_bytes[buffer].size() - begin)
                throw fault("a text ends after the end of its buffer");
        }
    }

    message_parts& parts_;
    const field& its_;
    std::uint64_t buffer_, nulls_ = 0;
    array made_;
};

/// Checks that the elements of lists and groups exist.
void check_elements(const arrow_schema& schema, const field& its, const std::vector<array>& arrays,
                    const array& made, std::span<const std::uint32_t> fields) {
    for (const std::uint32_t child : its.children) {
        if (!std::ranges::binary_search(fields, child)) {
            // The group of a map's keys and values is not loaded; its columns are the elements.
            if (its.how == layout::list)
                for (const std::uint32_t part : schema.fields[child].children)
                    if (std::ranges::binary_search(fields, part))
                        array_loader::check(made, its, arrays[part].length);
            continue;
        }
        const std::uint64_t elements = arrays[child].length;
        if (its.how == layout::list) array_loader::check(made, its, elements);
        if (its.how == layout::group && elements < made.length)
            throw fault("a column within a group is shorter than the group");
        if (its.how == layout::fixed_list && its.width != 0 && made.length > elements / its.width)
            throw fault("a list has fewer elements than it says");
    }
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> array::range(const field& its, std::uint64_t at) const {
    if (its.how == layout::fixed_list) return {at * its.width, (at + 1) * its.width};
    if (its.width == 4)
        return {load_number<std::uint32_t>(offsets, at), load_number<std::uint32_t>(offsets, at + 1)};
    return {load_number<std::uint64_t>(offsets, at), load_number<std::uint64_t>(offsets, at + 1)};
}

std::string_view array::text(const field& its, std::uint64_t at) const {
    if (its.how == layout::texts) {
        const auto [begin, end] = range(its, at);
        return values.substr(begin, end - begin);
    }
    const auto bytes = load_number<std::uint32_t>(values, 4 * at);
    if (bytes <= inline_bytes) return values.substr(view_size * at + 4, bytes);
    return view_bytes[load_number<std::uint32_t>(values, 4 * at + 2)].substr(
        load_number<std::uint32_t>(values, 4 * at + 3), bytes);
}

std::uint64_t array::key(const field& its, std::uint64_t at) const {
    const bool is_signed = its.encoded->is_signed;  // a negative one becomes larger than any dictionary
    switch (its.encoded->width) {
        case 1:
            return is_signed ? static_cast<std::uint64_t>(load_number<std::int8_t>(values, at))
                             : load_number<std::uint8_t>(values, at);
        case 2:
            return is_signed ? static_cast<std::uint64_t>(load_number<std::int16_t>(values, at))
                             : load_number<std::uint16_t>(values, at);
        case 4:
            return is_signed ? static_cast<std::uint64_t>(load_number<std::int32_t>(values, at))
                             : load_number<std::uint32_t>(values, at);
        default:
            return load_number<std::uint64_t>(values, at);
    }
}

dictionary::dictionary(const dictionary* before, std::shared_ptr<const array> part) {
    constexpr std::uint64_t max_parts = 65536;
    if (before != nullptr) {
        parts_ = before->parts_;
        ends_ = before->ends_;
    }
    if (parts_.size() == max_parts) throw fault("a dictionary in more than 65,536 parts");
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part->length);
    parts_.push_back(std::move(part));
}

std::pair<const array*, std::uint64_t> dictionary::at(std::uint64_t key) const {
    if (key < ends_.front()) return {parts_.front().get(), key};
    const auto after = std::ranges::upper_bound(ends_, key);
    return {parts_[static_cast<std::size_t>(after - ends_.begin())].get(), key - *(after - 1)};
}

std::uint64_t dictionary::mean_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& part : parts_) {
        bytes += part->values.size();
        for (const std::string_view each : part->view_bytes) bytes += each.size();
    }
    return bytes / std::max<std::uint64_t>(1, size());
}

std::uint64_t dictionary::memory_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& part : parts_) bytes += part->owned_bytes;
    return bytes;
}

std::vector<std::uint32_t> fields_of(const arrow_schema& schema, std::span<const std::size_t> leaves) {
    std::vector<std::uint32_t> fields;
    for (const std::size_t leaf : leaves)
        fields.insert(fields.end(), schema.paths[leaf].begin(), schema.paths[leaf].end());
    std::ranges::sort(fields);
    const auto repeated = std::ranges::unique(fields);
    fields.erase(repeated.begin(), repeated.end());
    return fields;
}

namespace {

std::uint64_t buffers_of(const field& its, std::uint64_t of_views) {
    if (its.encoded) return 2;
    switch (its.how) {
        case layout::nothing:
        case layout::unread:
            return 0;
        case layout::group:
        case layout::fixed_list:
            return 1;
        case layout::texts:
            return 3;
        case layout::views:
            return 2 + of_views;
        case layout::bits:
        case layout::fixed:
        case layout::list:
            break;
    }
    return 2;
}

}  // namespace

std::uint64_t unpacked_bytes(const arrow_schema& schema, std::span<const std::uint32_t> fields,
                             const message& from) {
    if (from.batch.compression == batch_header::codec::none) return 0;
    message_parts parts(from, 0);
    std::uint64_t bytes = 0;
    for (const std::uint32_t number : fields) {
        const field& its = schema.fields[number];
        const bool has_views = its.how == layout::views && !its.encoded;
        const std::uint64_t first = parts.first_buffer(its),
                            count = buffers_of(its, has_views ? parts.view_buffers(its.views_before) : 0);
        for (std::uint64_t i = first; i < first + count; ++i) {
            bytes += parts.unpacked_bytes(i);
            if (bytes > max_rows) throw fault("a buffer has an impossible length");
        }
    }
    return bytes;
}

std::vector<array> load(const arrow_schema& schema, std::span<const std::uint32_t> fields,
                        const message& from, const dictionaries& known, std::uint64_t max_bytes) {
    message_parts parts(from, max_bytes);
    std::vector<array> result(schema.fields.size());
    for (const std::uint32_t number : fields) {
        const field& its = schema.fields[number];
        array_loader loader(parts, its, its.node, parts.first_buffer(its));
        if (its.how == layout::views && !its.encoded)
            loader.view_buffers = parts.view_buffers(its.views_before);
        const auto entries = known.find(number);
        result[number] = loader.load(entries == known.end() ? nullptr : entries->second);
    }
    for (const std::uint32_t number : fields) {
        const field& its = schema.fields[number];
        if (!its.is_part && result[number].length != from.batch.rows)
            throw fault("a column has another number of values than its record batch");
        check_elements(schema, its, result, result[number], fields);
    }
    return result;
}

std::shared_ptr<const array> load_entries(const field& its, const message& from, std::uint64_t max_bytes) {
    message_parts parts(from, max_bytes);
    array_loader loader(parts, its, 0, 0);
    if (its.how == layout::views) loader.view_buffers = parts.view_buffers(0);
    return std::make_shared<const array>(loader.load_entries());
}

}  // namespace quern::io::arrow

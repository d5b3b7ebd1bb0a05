// SPDX-License-Identifier: Apache-2.0
#include "arrow_texts.hpp"

#include <cstring>

#include "quern/base/error.hpp"

namespace quern::python {
namespace {

constexpr std::string_view number_formats = "cCsSiIlL";

template <class Value>
Value read(const void* buffer, std::int64_t position) {
    Value value;
    std::memcpy(&value,
                static_cast<const char*>(buffer) + position * static_cast<std::int64_t>(sizeof(Value)),
                sizeof value);
    return value;
}

/// The type as pyarrow names it; of nested and rarer ones the format itself.
std::string name_of_type(std::string_view format) {
    constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"b", "bool"},     {"e", "halffloat"},       {"f", "float"},        {"g", "double"},
        {"z", "binary"},   {"Z", "large_binary"},    {"vz", "binary_view"}, {"tdD", "date32"},
        {"tdm", "date64"}, {"+l", "list"},           {"+L", "large_list"},  {"+s", "struct"},
        {"+m", "map"},     {"+r", "run_end_encoded"}};
    for (const auto& [short_name, name] : names)
        if (format == short_name) return std::string(name);
    if (format.starts_with("d:")) return "decimal";
    if (format.starts_with("ts")) return "timestamp";
    return std::string(format);
}

/// Unions and run-end-encoded columns have no bits that say which values are null.
bool has_validity_bits(std::string_view format) {
    return !format.starts_with("+u") && format != "+r";
}

/// Of an array with such bits. `position`: with the array's offset.
bool is_null(const ArrowArray& array, std::int64_t position) {
    if (array.n_buffers == 0 || array.buffers == nullptr || array.null_count == 0) return false;
    const auto* const valid = static_cast<const std::uint8_t*>(array.buffers[0]);
    return valid != nullptr && ((valid[position / 8] >> (position % 8)) & 1) == 0;
}

}  // namespace

arrow_schema::~arrow_schema() {
    if (schema_.release != nullptr) schema_.release(&schema_);
}

bool arrow_schema::is_table() const {
    return std::string_view(schema_.format) == "+s";
}

std::vector<std::string> arrow_schema::names() const {
    std::vector<std::string> names;
    for (std::int64_t c = 0; is_table() && c < schema_.n_children; ++c)
        names.emplace_back(schema_.children[c]->name == nullptr ? "" : schema_.children[c]->name);
    return names;
}

const ArrowSchema& arrow_schema::column(std::size_t position) const {
    return is_table() ? *schema_.children[position] : schema_;
}

arrow_texts::arrow_texts(const ArrowSchema& schema, const std::string& name) {
    const std::string_view format = schema.format;
    const bool is_number = format.size() == 1 && number_formats.find(format[0]) != std::string_view::npos;
    if (schema.dictionary != nullptr && is_number) {
        layout_ = layout::dictionary;
        format_ = format[0];
        dictionary_ = std::make_unique<arrow_texts>(*schema.dictionary, name);
    } else if (format == "u") {
        layout_ = layout::text32;
    } else if (format == "U") {
        layout_ = layout::text64;
    } else if (format == "vu") {
        layout_ = layout::view;
    } else if (format == "n") {
        layout_ = layout::nulls;
    } else if (is_number) {
        layout_ = layout::number;
        format_ = format[0];
    } else {
        layout_ = layout::other;
        has_validity_bits_ = has_validity_bits(format);
        refusal_ = "column '" + name + "' has the Arrow type " + name_of_type(format) +
                   " (expected string, large_string, string_view or whole numbers)";
    }
}

void arrow_texts::set_batch(const ArrowArray& column, std::int64_t offset_of_parent) {
    column_ = &column;
    parent_ = nullptr;
    offset_ = column.offset + offset_of_parent;
    if (dictionary_) dictionary_->set_batch(*column.dictionary, 0);
}

void arrow_texts::set_column(const ArrowArray& batch, std::size_t position) {
    set_batch(*batch.children[position], batch.offset);
    if (batch.null_count != 0 && batch.n_buffers != 0 && batch.buffers[0] != nullptr) parent_ = &batch;
}

std::int64_t arrow_texts::number_at(std::int64_t position) const {
    const void* const values = column_->buffers[1];
    switch (format_) {
        case 'c':
            return read<std::int8_t>(values, position);
        case 'C':
            return read<std::uint8_t>(values, position);
        case 's':
            return read<std::int16_t>(values, position);
        case 'S':
            return read<std::uint16_t>(values, position);
        case 'i':
            return read<std::int32_t>(values, position);
        case 'I':
            return read<std::uint32_t>(values, position);
        default:
            return read<std::int64_t>(values, position);
    }
}

std::optional<std::string_view> arrow_texts::at(std::int64_t row) {
    if (layout_ == layout::nulls || (parent_ != nullptr && is_null(*parent_, parent_->offset + row)))
        return {};
    const std::int64_t position = offset_ + row;
    if (has_validity_bits_ && is_null(*column_, position)) return {};
    if (layout_ == layout::other) throw usage_error(refusal_);
    switch (layout_) {
        case layout::text32: {
            const auto begin = read<std::int32_t>(column_->buffers[1], position);
            const auto end = read<std::int32_t>(column_->buffers[1], position + 1);
            return std::string_view(static_cast<const char*>(column_->buffers[2]) + begin,
                                    static_cast<std::size_t>(end - begin));
        }
        case layout::text64: {
            const auto begin = read<std::int64_t>(column_->buffers[1], position);
            const auto end = read<std::int64_t>(column_->buffers[1], position + 1);
            return std::string_view(static_cast<const char*>(column_->buffers[2]) + begin,
                                    static_cast<std::size_t>(end - begin));
        }
        case layout::
            view: {  // length, then up to 12 bytes here, or a prefix of 4, a buffer and an offset in it
            constexpr std::int64_t bytes_of_view = 16;
            constexpr std::int32_t inline_bytes = 12;
            const char* const view = static_cast<const char*>(column_->buffers[1]) + position * bytes_of_view;
            const auto length = read<std::int32_t>(view, 0);
            if (length <= inline_bytes) return std::string_view(view + 4, static_cast<std::size_t>(length));
            const auto buffer = read<std::int32_t>(view, 2);
            const auto offset = read<std::int32_t>(view, 3);
            return std::string_view(static_cast<const char*>(column_->buffers[2 + buffer]) + offset,
                                    static_cast<std::size_t>(length));
        }
        case layout::dictionary:
            return dictionary_->at(number_at(position));
        case layout::number:
        case layout::nulls:
        case layout::other:
            break;
    }
    decimal_ = format_ == 'L' ? std::to_string(static_cast<std::uint64_t>(number_at(position)))
                              : std::to_string(number_at(position));
    return decimal_;
}

}  // namespace quern::python

// SPDX-License-Identifier: Apache-2.0
#include "documents.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

#include "arrow_texts.hpp"
#include "document_text.hpp"
#include "errors.hpp"
#include "quern/base/error.hpp"
#include "quern/base/field_names.hpp"
#include "quern/tasks/input_names.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

constexpr std::array<std::string_view, 1> title_names{"title"}, link_names{"links"};

/// The fields that documents in memory have.
struct field_names {
    std::vector<std::string> text;
    std::string id, title, links;
};

std::string joined(std::span<const std::string> names) {
    std::string text;
    for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

/// The chosen or usual name among those there are; empty if there is none.
std::string field_of(std::string_view parameter, const std::string& chosen,
                     std::span<const std::string_view> usual, std::span<const std::string> there) {
    if (!chosen.empty()) {
        if (std::ranges::find(there, chosen) != there.end()) return chosen;
        refuse(std::string(parameter) + ": there is no field '" + chosen + "' (expected one of " +
               joined(there) + ")");
    }
    for (const std::string_view name : usual) {
        if (std::ranges::find(there, name) != there.end()) return std::string(name);
    }
    return {};
}

field_names fields_of(const document_fields& chosen, std::span<const std::string> there) {
    field_names found;
    found.id = field_of("id_field", chosen.id, id_names, there);
    found.title = field_of("title_field", chosen.title, title_names, there);
    found.links = field_of("link_field", chosen.links, link_names, there);
    for (const std::string& name : chosen.text)
        found.text.push_back(field_of("text_field", name, text_names, there));
    if (!found.text.empty()) return found;
    found.text = {field_of("text_field", "", text_names, there)};
    if (found.text.front().empty()) {
        refuse("no field has a usual name for the text; " +
               (there.empty() ? "there are no fields"
                              : "name it with text_field (expected one of " + joined(there) + ")"));
    }
    return found;
}

}  // namespace

/// Documents in memory. Reads the calling thread's Python objects there, buffers on the thread of the run.
class document_argument::memory_source : public document_source {
  public:
    virtual void begin(calling_thread& caller) { (void)caller; }
    std::uint64_t rows() const { return rows_; }

  protected:
    std::uint64_t rows_ = 0;
};

namespace {

using memory_source = document_argument::memory_source;

/// Appends a part of a text that is joined from several fields.
void append_text(std::string& text, std::string_view part) {
    if (part.empty()) return;
    text.append(text.empty() ? "" : "\n\n").append(part);
}

// ---- Arrow ----

class arrow_source final : public memory_source {
  public:
    arrow_source(const nb::object& stream_capsule, const document_fields& fields) : kept_(stream_capsule) {
        stream_ =
            static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(stream_capsule.ptr(), arrow_stream_capsule));
        if (stream_ == nullptr) throw nb::python_error();
        ArrowSchema taken{};
        check(stream_->get_schema(stream_, &taken));
        set_columns(taken, fields);
    }
    /// One array, which it owns from now on, also if it refuses it.
    arrow_source(ArrowSchema schema, ArrowArray array, const document_fields& fields) {
        batch_ = array;
        try {
            set_columns(schema, fields);
            select();
        } catch (...) {
            release();
            throw;
        }
    }
    ~arrow_source() override { release(); }

    bool next(source_document& document) override {
        while (batch_.release == nullptr || row_ == batch_.length) {
            release();
            if (stream_ == nullptr) return false;
            check(stream_->get_next(stream_, &batch_));
            if (batch_.release == nullptr) {
                stream_ = nullptr;
                return false;
            }
            select();
        }
        const std::int64_t row = row_++;
        ++rows_;
        document = {.id = text(id_, row), .title = text(title_, row), .text = whole_text(row)};
        return true;
    }

  private:
    struct column {
        std::size_t position = 0;
        arrow_texts texts;
    };

    void set_columns(ArrowSchema taken, const document_fields& fields) {
        schema_ = std::make_unique<arrow_schema>(taken);
        if (!schema_->is_table()) {
            texts_.push_back(column{0, arrow_texts(schema_->column(0), "text")});
            return;
        }
        const std::vector<std::string> names = schema_->names();
        if (!fields.links.empty())
            refuse("link_field: is not read from Arrow data (expected mappings, such as table.to_pylist())");
        const field_names found = fields_of(fields, names);
        const auto select_column = [&](const std::string& name) -> std::optional<column> {
            if (name.empty()) return {};
            const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
            return column{at, arrow_texts(schema_->column(at), name)};
        };
        for (const std::string& name : found.text) texts_.push_back(*select_column(name));
        id_ = select_column(found.id);
        title_ = select_column(found.title);
    }
    void select() {
        row_ = 0;
        const auto set = [this](column& c) {
            if (schema_->is_table()) {
                c.texts.set_column(batch_, c.position);
            } else {
                c.texts.set_batch(batch_, 0);
            }
        };
        for (column& c : texts_) set(c);
        if (id_) set(*id_);
        if (title_) set(*title_);
    }
    /// In place, unless several columns are joined.
    std::string_view whole_text(std::int64_t row) {
        if (texts_.size() == 1) return texts_.front().texts.at(row).value_or(std::string_view());
        joined_.clear();
        for (column& c : texts_) append_text(joined_, c.texts.at(row).value_or(std::string_view()));
        return joined_;
    }
    static std::string_view text(std::optional<column>& from, std::int64_t row) {
        return from ? from->texts.at(row).value_or(std::string_view()) : std::string_view();
    }
    void check(int failure) const {
        if (failure == 0) return;
        const char* const why = stream_->get_last_error(stream_);
        throw usage_error(std::string("the Arrow stream failed: ") +
                          (why == nullptr ? std::strerror(failure) : why));
    }
    void release() {
        if (batch_.release != nullptr) batch_.release(&batch_);
        batch_ = {};
    }

    nb::object kept_;
    ArrowArrayStream* stream_ = nullptr;  ///< null at its end
    std::unique_ptr<arrow_schema> schema_;
    std::vector<column> texts_;
    std::optional<column> id_, title_;
    std::string joined_;
    ArrowArray batch_{};
    std::int64_t row_ = 0;
};

// ---- Iterables ----

/// Takes documents from an iterator in batches, on the calling thread, to which a generator may be bound.
class iterator_source final : public memory_source {
  public:
    iterator_source(nb::object iterator, document_fields fields)
        : iterator_(std::move(iterator)), fields_(std::move(fields)) {
        if (fields_.kept.empty()) return;
        nb::list kept;
        for (const std::string& name : fields_.kept) kept.append(name);
        json_of_ = nb::module_::import_("quern._documents").attr("FieldsJson")(kept);
    }

    void begin(calling_thread& caller) override { caller_ = &caller; }

    /// That of the first document, which is taken for it.
    word_listing listed() const override {
        auto* const self = const_cast<iterator_source*>(this);
        if (batch_.empty() && !ended_) caller_->call([self] { self->take_batch(); });
        return has_weights_ ? word_listing::weights : word_listing::none;
    }

    bool next(source_document& document) override {
        if (next_ == batch_.size()) {
            if (ended_) return false;
            caller_->call([this] { take_batch(); });
            if (batch_.empty()) return false;
        }
        const taken& from = batch_[next_++];
        ++rows_;
        document = {.id = from.id.view(),
                    .title = from.title.view(),
                    .text = from.is_joined ? std::string_view(from.joined) : from.text.view(),
                    .links = from.links,
                    .fields = from.fields.view()};
        return true;
    }

  private:
    /// A str, whose UTF-8 form it shares, or other text that it owns.
    struct text_object {
        nb::object kept;
        const char* bytes = "";
        std::size_t size = 0;
        std::string_view view() const { return {bytes, size}; }
    };
    struct taken {
        text_object id, title, text, fields;
        std::string joined;  ///< of several fields
        bool is_joined = false;
        std::vector<std::string> links;
    };

    void take_batch() {
        constexpr std::size_t documents_at_once = 1024, bytes_at_once = 1 << 20;
        batch_.clear();
        next_ = 0;
        for (std::size_t bytes = 0; batch_.size() < documents_at_once && bytes < bytes_at_once;) {
            const nb::object one = nb::steal(PyIter_Next(iterator_.ptr()));
            if (!one.is_valid()) {
                ended_ = true;
                if (PyErr_Occurred() != nullptr) throw nb::python_error();
                return;
            }
            batch_.push_back(document_of(one));
            bytes += batch_.back().text.size + batch_.back().joined.size() + batch_.back().fields.size;
        }
    }

    taken document_of(const nb::object& one) {
        taken made;
        if (fields_.any_chosen() && (nb::isinstance<nb::str>(one) || nb::isinstance<nb::tuple>(one)))
            throw usage_error(
                "text_field, id_field, title_field and link_field are for mappings and tables, and "
                "document " +
                std::to_string(rows_ + batch_.size() + 1) + " has no fields");
        if (nb::isinstance<nb::str>(one)) {
            made.text = text_from(one, "text");
        } else if (nb::isinstance<nb::tuple>(one) && nb::len(one) == 2) {
            made.id = id_from(one[0]);
            made.text = text_from(one[1], "text");
        } else if (PyMapping_Check(one.ptr()) && nb::hasattr(one, "keys")) {
            set_from_mapping(made, one);
        } else {
            throw usage_error(
                "document " + std::to_string(rows_ + batch_.size() + 1) + " is of type " + type_name(one) +
                " (expected str, a pair (id, text), or a mapping such as {\"id\": …, \"text\": …})");
        }
        return made;
    }
    field_names fields_of_document() const {
        try {
            return fields_of(fields_, keys_);
        } catch (const usage_error& why) {
            const std::uint64_t number = rows_ + batch_.size() + 1;
            if (number == 1) throw;
            throw usage_error("document " + std::to_string(number) + ": " + why.what());
        }
    }
    void set_from_mapping(taken& made, const nb::object& one) {
        if (nb::len(one) != keys_.size() || !has_keys(one)) {
            keys_.clear();
            for (const nb::handle key : nb::list(one.attr("keys")()))
                keys_.push_back(nb::cast<std::string>(nb::str(key)));
            has_vector_ = fields_.text.empty() && std::ranges::find(keys_, "vector") != keys_.end() &&
                          PyDict_Check(nb::object(one["vector"]).ptr()) != 0;
            found_ = has_vector_ ? fields_of_weights() : fields_of_document();
        }
        const std::uint64_t number = rows_ + batch_.size() + 1;
        if (number == 1) has_weights_ = has_vector_;
        if (has_weights_ != has_vector_)
            throw usage_error(
                "document " + std::to_string(number) + " has " +
                (has_vector_ ? "weights, but the first has a text" : "no weights, as the first has"));
        if (has_vector_) take_weights(made, nb::object(one["vector"]));
        made.is_joined = has_vector_ || found_.text.size() > 1;
        for (const std::string& name : found_.text) {
            made.text = text_from(one[name.c_str()], name);
            if (made.is_joined) append_text(made.joined, made.text.view());
        }
        if (!found_.id.empty()) made.id = id_from(one[found_.id.c_str()]);
        if (!found_.title.empty()) made.title = text_from(one[found_.title.c_str()], found_.title);
        if (!fields_.kept.empty()) {
            nb::list used;
            for (const std::string& name : found_.text) used.append(name);
            if (has_vector_) used.append("vector");
            for (const std::string& name : {found_.id, found_.title, found_.links}) used.append(name);
            made.fields = text_from(json_of_(one, used), "fields");
        }
        if (!found_.links.empty() && (fields_.text.empty() || !fields_.links.empty())) {
            const nb::object links = one[found_.links.c_str()];
            if (nb::isinstance<nb::list>(links) || nb::isinstance<nb::tuple>(links)) {
                for (const nb::handle link : links)
                    made.links.push_back(nb::cast<std::string>(nb::str(link)));
            } else if (!fields_.links.empty() && !links.is_none()) {
                throw usage_error("document " + std::to_string(rows_ + batch_.size() + 1) + ": the field '" +
                                  found_.links + "' is of type " + type_name(links) + " (expected list)");
            }
        }
    }
    field_names fields_of_weights() const {
        field_names found;
        found.id = field_of("id_field", fields_.id, id_names, keys_);
        found.title = field_of("title_field", fields_.title, title_names, keys_);
        return found;
    }
    /// A line for each word, as word_listing::weights describes.
    static void take_weights(taken& made, const nb::object& vector) {
        const auto weights = nb::borrow<nb::dict>(vector);
        for (const auto& [word, weight] : weights) {
            const std::string text = text_argument("a word of a vector", word);
            if (text.find('\n') != std::string::npos) throw usage_error("a word of a vector has a line end");
            const double number = PyFloat_AsDouble(weight.ptr());
            if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
            std::array<char, 32> digits{};
            const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
            made.joined.append(text).append("\t").append(digits.data(), end).append("\n");
        }
    }
    bool has_keys(const nb::object& one) const {
        return std::ranges::all_of(keys_, [&](const std::string& key) {
            return PyMapping_HasKeyString(one.ptr(), key.c_str()) != 0;
        });
    }

    static std::string type_name(const nb::handle given) { return nb::type_name(given.type()).c_str(); }
    text_object id_from(const nb::object& given) {
        if (nb::isinstance<nb::str>(given) || given.is_none()) return text_from(given, "id");
        // An integer, also one of NumPy.
        const nb::object integer = nb::steal(PyNumber_Index(given.ptr()));
        if (integer.is_valid()) return text_from(nb::str(integer), "id");
        PyErr_Clear();
        throw usage_error("document " + std::to_string(rows_ + batch_.size() + 1) + ": the id is of type " +
                          type_name(given) + " (expected str or int)");
    }
    text_object text_from(const nb::object& given, const std::string& name) {
        if (given.is_none()) return {};
        if (!nb::isinstance<nb::str>(given)) {
            throw usage_error("document " + std::to_string(rows_ + batch_.size() + 1) + ": the field '" +
                              name + "' is of type " + type_name(given) + " (expected str)");
        }
        text_object made;
        Py_ssize_t size = 0;
        made.bytes = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
        made.kept = given;
        if (made.bytes == nullptr) {  // lone surrogates: U+FFFD, as in JSON lines
            PyErr_Clear();
            made.kept = without_lone_surrogates(given);
            made.bytes = PyUnicode_AsUTF8AndSize(made.kept.ptr(), &size);
            if (made.bytes == nullptr) throw nb::python_error();
        }
        made.size = static_cast<std::size_t>(size);
        return made;
    }

    nb::object iterator_;
    document_fields fields_;
    field_names found_;
    nb::object json_of_;
    std::vector<std::string> keys_;
    calling_thread* caller_ = nullptr;
    std::vector<taken> batch_;  ///< destroyed with the interpreter's lock, on the calling thread
    std::size_t next_ = 0;
    bool ended_ = false, has_vector_ = false, has_weights_ = false;
};

}  // namespace

error_limit error_limit_of(nb::handle given) {
    if (nb::isinstance<nb::str>(given)) {
        try {
            return parse_error_limit(text_argument("max_errors", given));
        } catch (const usage_error& why) {
            throw usage_error(std::string("max_errors: ") + why.what());
        }
    }
    error_limit limit;
    limit.is_share = false;
    limit.forgives_incomplete = true;
    limit.count = whole_of("max_errors", given);
    return limit;
}

std::vector<std::string> field_list_of(std::string_view name, nb::handle given) {
    std::vector<std::string> names;
    if (!nb::isinstance<nb::str>(given)) {
        for (const nb::handle one : nb::borrow<nb::object>(given)) names.push_back(text_of(name, one));
        return names;
    }
    const std::string text = text_of(name, given);
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find(',', begin);
        names.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return names;
}

id_rule id_rule_of(nb::handle given) {
    const std::string name = text_of("ids", given);
    const auto at = std::ranges::find(id_rule_names, name);
    if (at == std::end(id_rule_names))
        refuse("ids: invalid value '" + name + "' (expected scoped, global or generate)");
    return static_cast<id_rule>(at - std::begin(id_rule_names));
}

document_argument::document_argument(nb::handle given, const corpus_call& call) : call_(call) {
    const nb::object form = nb::module_::import_("quern._documents").attr("recognise")(given);
    const auto kind = nb::cast<std::string>(form[0]);
    const nb::object value = form[1];
    if (kind == "files") {
        files_ = expand_inputs(paths_of("documents", value));
        return;
    }
    if (!call.format.empty() || call.max_errors || call.follow_links)
        refuse("format, max_errors and follow_links are for files, and these documents are in memory");
    if (!call.fields.kept.empty() && kind.starts_with("arrow")) {
        source_ = std::make_unique<iterator_source>(
            nb::iter(nb::module_::import_("quern._documents").attr("rows_of_arrow")(value)), call.fields);
    } else if (kind == "arrow_stream") {
        source_ = std::make_unique<arrow_source>(value.attr("__arrow_c_stream__")(), call.fields);
    } else if (kind == "arrow_array") {
        const nb::object capsules = value.attr("__arrow_c_array__")();
        auto* const schema =
            static_cast<ArrowSchema*>(PyCapsule_GetPointer(nb::object(capsules[0]).ptr(), "arrow_schema"));
        auto* const array =
            static_cast<ArrowArray*>(PyCapsule_GetPointer(nb::object(capsules[1]).ptr(), "arrow_array"));
        if (schema == nullptr || array == nullptr) throw nb::python_error();
        const ArrowSchema taken_schema =
            std::exchange(*schema, {});  // moved: the capsule has nothing to release
        const ArrowArray taken_array = std::exchange(*array, {});
        source_ = std::make_unique<arrow_source>(taken_schema, taken_array, call.fields);
    } else {
        source_ = std::make_unique<iterator_source>(nb::iter(value), call.fields);
    }
}

document_argument::~document_argument() = default;

void document_argument::read_into(corpus_input& input, calling_thread& caller) {
    input.inputs = files_;
    input.input_format = call_.format;
    input.ids = call_.ids;
    input.follow_links = call_.follow_links;
    input.fields = call_.fields;
    if (call_.max_errors) input.max_errors = *call_.max_errors;
    if (source_) {
        source_->begin(caller);
        input.source = source_.get();
        // Results are by position, so no document may be left out.
        input.max_errors = {.share = 0, .count = 0, .is_share = false};
    }
}

const char* document_argument::text_address(std::uint64_t row) {
    source_document document;
    for (std::uint64_t i = 0; source_ && i <= row; ++i) {
        if (!source_->next(document)) throw nb::index_error("row out of range");
    }
    return document.text.data();
}

std::optional<std::uint64_t> document_argument::rows() const {
    if (!source_) return {};
    return source_->rows();
}

nb::object without_lone_surrogates(nb::handle text) {
    return text.attr("encode")("utf-16", "surrogatepass").attr("decode")("utf-16", "replace");
}

std::string document_text(std::string_view what, nb::handle given) {
    if (nb::isinstance<nb::str>(given) && PyUnicode_AsUTF8AndSize(given.ptr(), nullptr) == nullptr) {
        PyErr_Clear();
        return text_argument(what, without_lone_surrogates(given));
    }
    return text_argument(what, given);
}

}  // namespace quern::python

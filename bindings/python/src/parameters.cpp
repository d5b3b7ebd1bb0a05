// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include <nanobind/stl/string.h>

#include <cmath>
#include <deque>
#include <regex>

#include "errors.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// Texts that nanobind keeps pointers to.
const char* kept(std::string text) {
    static std::deque<std::string> texts;
    return texts.emplace_back(std::move(text)).c_str();
}

std::string literal(std::span<const std::string_view> names) {
    std::string text = "Literal[";
    for (const std::string_view name : names)
        text.append(text.ends_with('[') ? "" : ", ").append("'").append(name).append("'");
    return text + "]";
}

/// What the command line takes as one text and Python also as a list or dict: names of fields with commas between,
/// numbers with blanks between, numbers for fields.
bool is_fields(const option_description& option) {
    return option.value == "FIELDS";
}
bool is_numbers(const option_description& option) {
    return option.value == "X...";
}
bool is_counts(const option_description& option) {
    return option.value == "COUNTS";
}
bool is_numbers_of_fields(const option_description& option) {
    return option.value == "FIELD=X,...";
}

std::string type_of(const option_description& option) {
    switch (option.kind) {
        case option_kind::flag:
            return option.names.empty() ? "bool" : "bool | " + literal(option.names);
        case option_kind::choice:
        case option_kind::name:
            return literal(option.names);
        case option_kind::whole:
            return none_is_all(option) ? "int | Literal['all'] | None"
                   : option.whole.all  ? "int | Literal['all']"
                                       : "int";
        case option_kind::integer:
            return "int";
        case option_kind::number:
            return "float";
        case option_kind::exact:
            return "float | str";
        default:
            return is_fields(option)              ? "str | Sequence[str]"
                   : is_numbers(option)           ? "str | Sequence[float]"
                   : is_counts(option)            ? "str | Sequence[int]"
                   : is_numbers_of_fields(option) ? "str | Mapping[str, float]"
                                                  : "str";
    }
}

std::string value_code(const option_description& option, const option_value& value) {
    if (std::holds_alternative<std::monostate>(value)) return "None";
    if (const auto* const yes = std::get_if<bool>(&value)) return *yes ? "True" : "False";
    std::string text = value_text(option, value);
    const bool is_number = option.kind == option_kind::integer || option.kind == option_kind::number ||
                           option.kind == option_kind::exact ||
                           (option.kind == option_kind::whole && text != "all");
    if (is_number) return text;
    if (text.empty()) return "None";
    return "'" + text + "'";
}

/// The name of an option in Python: `max_errors` for max-errors, and other words for those that Python reserves.
std::string python_name(std::string_view option) {
    if (option == "lambda") return "lambda_";
    if (option == "force") return "overwrite";
    std::string name(option);
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string shown(nb::handle given) {
    return quern::shown(nb::cast<std::string>(nb::repr(given)));
}

[[noreturn]] void refuse_value(std::string_view name, nb::handle given, std::string_view expected) {
    refuse(std::string(name) + ": invalid value " + shown(given) + " (expected " + std::string(expected) +
           ")");
}

bool is_bool(nb::handle given) {
    if (PyBool_Check(given.ptr())) return true;
    const nb::handle type = given.type();
    return nb::cast<std::string>(type.attr("__module__")) == "numpy" &&
           nb::cast<std::string>(type.attr("__name__")).starts_with("bool");
}

/// Something that is a whole number: an int, a NumPy integer; not a bool, not a float.
bool is_whole(nb::handle given) {
    return !is_bool(given) && PyIndex_Check(given.ptr()) != 0;
}

std::optional<double> to_number(nb::handle given) {
    if (is_bool(given) || nb::isinstance<nb::str>(given)) return {};
    const double value = PyFloat_AsDouble(given.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return {};
    }
    return value;
}

/// The text of the command line.
std::string whole_text_of(const option_description& option, nb::handle given) {
    std::string text;
    const auto append = [&](std::string_view separator, const std::string& item) {
        text.append(text.empty() ? "" : separator).append(item);
    };
    const auto number = [&](nb::handle one) {
        return nb::cast<std::string>(nb::repr(nb::float_(number_of(option.name, one))));
    };
    // Also arrays and columns, such as the weights of quern.perplexity(…, tune=True); no sets, which have no order.
    const bool is_list = !nb::isinstance<nb::str>(given) && !nb::isinstance<nb::bytes>(given) &&
                         !nb::isinstance<nb::dict>(given) && PyAnySet_Check(given.ptr()) == 0 &&
                         nb::hasattr(given, "__len__") && nb::hasattr(given, "__iter__");
    if (is_fields(option) && is_list) {
        for (const nb::handle one : nb::borrow<nb::object>(given)) append(",", text_of(option.name, one));
    } else if (is_numbers(option) && is_list) {
        for (const nb::handle one : nb::borrow<nb::object>(given)) append(" ", number(one));
    } else if (is_counts(option) && is_list) {
        for (const nb::handle one : nb::borrow<nb::object>(given))
            append(" ", std::to_string(whole_of(option.name, one)));
    } else if (is_numbers_of_fields(option) && nb::isinstance<nb::dict>(given)) {
        for (const auto& [name, one] : nb::borrow<nb::dict>(given))
            append(",", text_of(option.name, name) + "=" + number(one));
    } else if (nb::isinstance<nb::str>(given) || nb::hasattr(given, "__fspath__")) {
        return text_of(option.name, given);
    } else {
        refuse_value(option.name, given,
                     is_fields(option)              ? "a text, or a list of texts"
                     : is_numbers(option)           ? "a text, or a list of numbers"
                     : is_numbers_of_fields(option) ? "a text, or a dict of fields and numbers"
                     : option.value == "FILE"       ? "a text or a path"
                                                    : "a text");
    }
    return text;
}

std::string whole_text(nb::handle given) {
    const nb::object whole = nb::steal(PyNumber_Index(given.ptr()));
    if (!whole.is_valid()) throw nb::python_error();
    return nb::cast<std::string>(nb::str(whole));
}

}  // namespace

parameter_text text_of(const option_description& option, const option_value& value) {
    parameter_text text{python_name(option.name), type_of(option), value_code(option, value),
                        as_python(option.help)};
    if (text.value == "None") text.type += " | None";
    const std::string range = range_text(option);
    if (!range.empty()) text.help += " Range: " + range + ".";
    if (!option.note.empty()) text.help += " Default: " + std::string(option.note) + ".";
    return text;
}

bool none_is_all(const option_description& option) {
    // For words, top = "all" writes a file of all pairs and 0 is a value too, so None is the default there.
    return (option.name == "k" || (option.name == "top" && option.whole.min > 0)) && option.whole.all;
}

option_value value_of(const option_description& option, nb::handle given) {
    if (given.is_none() && none_is_all(option)) return parse_value(option, "all");
    const auto fail = [&] { refuse_value(option.name, given, expected_value(option)); };
    option_value value;
    const auto parsed = [&](std::string_view text) {
        try {
            return parse_value(option, text);
        } catch (const usage_error& why) {
            throw usage_error(std::string(option.name) + ": " + why.what());
        }
    };
    switch (option.kind) {
        case option_kind::flag:
            if (!is_bool(given) && !option.names.empty() && nb::isinstance<nb::str>(given))
                return parsed(text_argument(option.name, given));
            return bool_of(option.name, given);
        case option_kind::choice:
        case option_kind::name:
            if (!nb::isinstance<nb::str>(given)) fail();
            return parsed(text_argument(option.name, given));
        case option_kind::whole:
        case option_kind::integer:
            if (nb::isinstance<nb::str>(given)) {
                if (text_argument(option.name, given) != "all") fail();
                return parsed("all");
            }
            if (!is_whole(given)) fail();
            return parsed(whole_text(given));
        case option_kind::number: {
            const auto number = to_number(given);
            if (!number) fail();
            value = *number;
            break;
        }
        case option_kind::exact:
            // The shortest decimal of a float is what its user typed.
            if (is_bool(given)) fail();
            return parsed(text_argument(option.name, nb::str(given)));
        default:
            value = whole_text_of(option, given);
    }
    check_value(option, value);
    return value;
}

std::string as_python(std::string_view text) {
    static const std::regex option("(^|[^A-Za-z0-9_./-])--([a-z][a-z-]*[a-z])");  // not in names of files
    std::string made;
    std::size_t at = 0;
    std::string given(text);
    constexpr std::string_view rules = "quern filter --list-rules";
    if (const auto found = given.find(rules); found != std::string::npos)
        given.replace(found, rules.size(), "quern.filter_rules()");
    for (std::sregex_iterator next(given.begin(), given.end(), option), end; next != end; ++next) {
        const std::string name = python_name(next->str(2));
        made.append(given, at, static_cast<std::size_t>(next->position()) - at)
            .append(next->str(1))
            .append("`")
            .append(name)
            .append("`");
        at = static_cast<std::size_t>(next->position() + next->length());
    }
    return made.append(given, at);
}

bool bool_of(std::string_view name, nb::handle given) {
    if (!is_bool(given)) refuse_value(name, given, "True or False");
    const int yes = PyObject_IsTrue(given.ptr());
    if (yes < 0) throw nb::python_error();
    return yes != 0;
}

std::string text_of(std::string_view name, nb::handle given) {
    const auto checked = [&](nb::handle text) {
        std::string made = text_argument(name, text);
        if (made.find('\0') != std::string::npos) refuse_value(name, given, "a text without null characters");
        return made;
    };
    if (nb::isinstance<nb::str>(given)) return checked(given);
    const nb::object path = nb::steal(PyOS_FSPath(given.ptr()));
    if (!path.is_valid()) {
        PyErr_Clear();
        refuse_value(name, given, "a text or a path");
    }
    if (!nb::isinstance<nb::str>(path)) refuse_value(name, given, "a text or a path of text, not of bytes");
    return checked(path);
}

std::vector<std::filesystem::path> paths_of(std::string_view name, nb::handle given) {
    std::vector<std::filesystem::path> paths;
    if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        for (const nb::handle one : nb::borrow<nb::object>(given)) paths.emplace_back(text_of(name, one));
    } else {
        paths.emplace_back(text_of(name, given));
    }
    for (const auto& path : paths) {
        if (path.empty())
            refuse(std::string(name) + ": the name is empty (expected the name of a file or folder)");
    }
    return paths;
}

std::uint64_t size_of(std::string_view name, nb::handle given) {
    if (nb::isinstance<nb::str>(given)) {
        try {
            return parse_size(text_argument(name, given));
        } catch (const usage_error& why) {
            throw usage_error(std::string(name) + ": " + why.what());
        }
    }
    return whole_of(name, given, 1);
}

double number_of(std::string_view name, nb::handle given) {
    const auto number = to_number(given);
    if (!number || !std::isfinite(*number)) refuse_value(name, given, "a number");
    return *number;
}

std::uint64_t whole_of(std::string_view name, nb::handle given, std::uint64_t min, std::uint64_t max) {
    if (!is_whole(given)) refuse_value(name, given, "a whole number");
    try {
        return parse_integer(whole_text(given), min, max);
    } catch (const usage_error& why) {
        throw usage_error(std::string(name) + ": " + why.what());
    }
}

const char* parameter_texts::signature(std::string_view name, std::string_view leading,
                                       std::string_view returns) const {
    std::string text = "def " + std::string(name) + "(" + std::string(leading);
    if (!texts_.empty()) text += leading.empty() ? "*" : ", *";
    for (const parameter_text& p : texts_) text += ", " + p.name + ": " + p.type + " = " + p.value;
    return kept(text + ") -> " + std::string(returns));
}

const char* parameter_texts::doc(std::string_view introduction) const {
    std::string text(introduction);
    if (!texts_.empty()) text += "\n\nParameters\n----------\n";
    for (const parameter_text& p : texts_)
        text += p.name + " : " + p.type + ", default " + p.value + "\n    " + p.help + "\n";
    return kept(std::move(text));
}

void parameter_texts::check_names(const nb::dict& given, std::string_view function) const {
    for (const auto& [key, value] : given) {
        const auto name = nb::cast<std::string>(key);
        if (std::ranges::any_of(texts_, [&](const parameter_text& p) { return p.name == name; })) continue;
        nb::list names;
        for (const parameter_text& p : texts_) names.append(p.name);
        const nb::object near = nb::module_::import_("difflib").attr("get_close_matches")(name, names, 1);
        const bool is_top = name == "k" && nb::cast<bool>(names.attr("__contains__")("top"));  // -k there
        std::string message = std::string(function) + "() got an unexpected keyword argument '" + name + "'";
        if (is_top || nb::len(near) != 0)
            message += "; did you mean " + (is_top ? "top" : nb::cast<std::string>(near[0])) + "?";
        throw nb::type_error(message.c_str());
    }
}

void set_common(run_options& run, std::string_view name, nb::handle given) {
    context& ctx = run.ctx;
    if (name == "threads") ctx.threads = static_cast<unsigned>(whole_of(name, given, 0, 1 << 16));
    if (name == "memory") ctx.memory_bytes = size_of(name, given);
    if (name == "gpu_memory") ctx.gpu_memory_bytes = size_of(name, given);
    if (name == "device") ctx.device = parse_device(text_of(name, given));
    if (name == "seed") ctx.seed = whole_of(name, given);
    if (name == "progress") run.progress = nb::borrow<nb::object>(given);
    if (name == "tmp") {
        ctx.scratch = text_of(name, given);
        std::error_code failure;
        if (!std::filesystem::is_directory(ctx.scratch, failure))
            refuse("tmp: " + ctx.scratch.string() + " is not a folder");
    }
}

std::vector<parameter_text> common_texts(bool has_seed) {
    std::vector<parameter_text> texts{
        {"threads", "int", "0",
         "Threads; 0: all cores that this process may use. Fewer where `memory` is less than 8 MiB for "
         "each. The result is the same for any number."},
        {"memory", "int | str | None", "None",
         "Memory budget of the process, in bytes or as \"8G\". Default: three quarters of the limit."},
        {"gpu_memory", "int | str | None", "None",
         "Budget on each GPU. Default: nine tenths of its free memory."},
        {"device", "str", "'auto'",
         "auto (a working GPU if there is one), cpu, cuda, cuda:N, cuda:N,M or cuda:all. The result is the "
         "same on all."},
        {"tmp", "str | os.PathLike[str] | None", "None", "Folder for temporary files. Default: /tmp."},
        {"progress", "bool | Callable[[str, int, int, str], object] | None", "None",
         "True: a progress bar (tqdm if it is installed); False: none; a function of (stage, done, total, "
         "unit), where "
         "total is 0 if it is unknown. Default: a bar on a terminal and in a notebook."}};
    if (has_seed) texts.push_back({"seed", "int", "0", "Seed of random numbers."});
    return texts;
}

nb::dict configured() {
    return nb::cast<nb::dict>(nb::module_::import_("quern._config").attr("current")());
}

}  // namespace quern::python

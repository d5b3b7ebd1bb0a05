// SPDX-License-Identifier: Apache-2.0
// The keyword arguments of a function, declared once: they read a call, and make the signature and the docstring that
// help(), editors and type checkers see. Options of the library come from its tables (quern/base/option.hpp), so names,
// ranges, defaults and help are those of the command line.
//
//     struct rank_call : call {
//         rank_options options;
//     };
//     const parameters<rank_call> rank_parameters = parameters<rank_call>().table<&rank_call::options>();
//
//     module.def("rank", [](nb::object graph, const nb::kwargs& given) {
//         rank_call requested = rank_parameters.read(given);
//         …
//     }, nb::sig(text_of_signature), text_of_docstring);        // rank_parameters.signature(…), .doc(…)
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quern/base/option.hpp"
#include "run.hpp"

namespace quern::python {

/// A parameter as Python shows it.
struct parameter_text {
    std::string name;
    std::string type;   ///< "int", "Literal['a', 'b']"
    std::string value;  ///< the default as Python code
    std::string help;   ///< sentences
};

/// The type, default and help of an option of the library.
parameter_text text_of(const option_description& option, const option_value& value);
/// Throws usage_error if the value is not of the option's kind or out of its range.
option_value value_of(const option_description& option, nanobind::handle given);
/// Whether None is not the default of an option, but all: of k, as in all functions that have one.
bool none_is_all(const option_description& option);

/// The text with options written as in Python: `max_errors` for --max-errors.
std::string as_python(std::string_view text);

// ---- Values of other parameters; `name` is for messages. They throw usage_error. ----

bool bool_of(std::string_view name, nanobind::handle given);
/// A str, or a path object.
std::string text_of(std::string_view name, nanobind::handle given);
/// One path, or a list of them.
std::vector<std::filesystem::path> paths_of(std::string_view name, nanobind::handle given);
/// A number of bytes, or a text such as "8G".
std::uint64_t size_of(std::string_view name, nanobind::handle given);
double number_of(std::string_view name, nanobind::handle given);
std::uint64_t whole_of(std::string_view name, nanobind::handle given, std::uint64_t min = 0,
                       std::uint64_t max = ~std::uint64_t{0});

/// What every call has.
struct call {
    run_options run;
};

/// The texts of parameters: everything but the types of requests.
class parameter_texts {
  public:
    void add(parameter_text text) { texts_.push_back(std::move(text)); }
    /// "def dedup(documents: object, *, threshold: float = 0.05) -> DedupResult". `leading`: "documents: object", with
    /// "self" first for a method. The text lives as long as the process, as nanobind needs it.
    const char* signature(std::string_view name, std::string_view leading, std::string_view returns) const;
    /// The introduction and a list of the parameters. Lives as long as the process.
    const char* doc(std::string_view introduction) const;
    /// Throws TypeError "dedup() got an unexpected keyword argument 'treshold'; did you mean threshold?".
    void check_names(const nanobind::dict& given, std::string_view function) const;

  private:
    std::vector<parameter_text> texts_;
};

/// Sets a common parameter (threads, memory, gpu_memory, device, tmp, seed, progress).
void set_common(run_options& run, std::string_view name, nanobind::handle given);
/// Their texts. `seed` only for functions that draw random numbers.
std::vector<parameter_text> common_texts(bool has_seed);
/// The values of quern.config(…) in force; an empty dict without one.
nanobind::dict configured();

template <class Request>
class parameters {
    static_assert(std::is_base_of_v<call, Request>);

  public:
    using setter = std::function<void(Request&, nanobind::handle)>;

    explicit parameters(std::string_view function) : function_(function) {}

    /// All options of the table of a member, or of a member of that member, except those named.
    template <auto... Members>
    parameters& table(std::initializer_list<std::string_view> except = {}) {
        using options = std::remove_cvref_t<decltype(member<Members...>(std::declval<Request&>()))>;
        static const Request defaults = Request();
        for (const option<options>& row : options_of<options>) {
            if (std::ranges::find(except, row.name) != except.end()) continue;
            add(text_of(row, row.get(member<Members...>(defaults))),
                [&row](Request& requested, nanobind::handle given) {
                    row.set(member<Members...>(requested), value_of(row, given));
                });
            setters_.back().takes_none = none_is_all(row);
        }
        return *this;
    }
    parameters& add(parameter_text text, setter set) {
        setters_.push_back({text.name, std::move(set)});
        texts_.add(std::move(text));
        return *this;
    }
    /// The parameters of every function, last: threads, memory, device …
    parameters& common(bool has_seed = false) {
        for (parameter_text& text : common_texts(has_seed)) {
            const std::string name = text.name;
            add(std::move(text), [name](Request& requested, nanobind::handle given) {
                set_common(requested.run, name, given);
            });
        }
        return *this;
    }

    /// None leaves the default, except where it means all. Throws TypeError for an unknown name, usage_error for a value.
    Request read(const nanobind::kwargs& given) const {
        texts_.check_names(given, function_);
        Request requested;
        const nanobind::dict elsewhere = configured();
        for (const auto& [name, set, takes_none] : setters_) {
            const nanobind::str key(name.c_str());
            if (given.contains(key)) {
                if (takes_none || !given[key].is_none()) set(requested, given[key]);
            } else if (elsewhere.contains(key)) {
                set(requested, elsewhere[key]);
            }
        }
        return requested;
    }

    /// The same without quern.config(…), for look-ups of microseconds, which have no common parameters. Cost: that of the
    /// arguments given.
    Request read_given(const nanobind::kwargs& given) const {
        Request requested;
        if (given.empty()) return requested;
        texts_.check_names(given, function_);
        for (const auto& [name, set, takes_none] : setters_) {
            const nanobind::str key(name.c_str());
            if (given.contains(key) && (takes_none || !given[key].is_none())) set(requested, given[key]);
        }
        return requested;
    }

    const char* signature(std::string_view leading, std::string_view returns) const {
        return texts_.signature(function_, leading, returns);
    }
    /// Of a class with this name: "def __init__(self, …) -> None". `leading` without "self".
    const char* constructor_signature(std::string_view leading = {}) const {
        return texts_.signature("__init__", leading.empty() ? "self" : "self, " + std::string(leading),
                                "None");
    }
    const char* doc(std::string_view introduction) const { return texts_.doc(introduction); }

  private:
    template <auto First, auto... Rest, class Object>
    static auto& member(Object& object) {
        return ((object.*First).*....*Rest);
    }

    std::string function_;
    parameter_texts texts_;
    struct parameter {
        std::string name;
        setter set;
        bool takes_none = false;
    };
    std::vector<parameter> setters_;
};

}  // namespace quern::python

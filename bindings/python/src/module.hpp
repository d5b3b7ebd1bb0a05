// SPDX-License-Identifier: Apache-2.0
// The parts of the module quern._quern: each declares its classes and functions.
#pragma once

#include <nanobind/nanobind.h>

namespace quern::python {

/// Calling the class, which functions make, raises TypeError with this sentence.
template <class Class>
void refuse_constructor(nanobind::class_<Class>& of, const char* instead) {
    of.def(
        "__init__",
        [instead](nanobind::handle, const nanobind::args&, const nanobind::kwargs&) {
            throw nanobind::type_error(instead);
        },
        nanobind::sig("def __init__(self, *args: object, **options: object) -> None"));
}

void declare_decontaminate(nanobind::module_& module);
void declare_dedup(nanobind::module_& module);
void declare_duplicate_stream(nanobind::module_& module);
void declare_dedup_parts(nanobind::module_& module);
void declare_signatures(nanobind::module_& module);
void declare_filter(nanobind::module_& module);
void declare_doctor(nanobind::module_& module);
void declare_vectors(nanobind::module_& module);
void declare_graph(nanobind::module_& module);
void declare_sparse(nanobind::module_& module);
void declare_aggregation(nanobind::module_& module);

void declare_build(nanobind::module_& module);
void declare_export(nanobind::module_& module);
void declare_evaluation(nanobind::module_& module);
void declare_fusion(nanobind::module_& module);
void declare_run(nanobind::module_& module);
void declare_source_folder(nanobind::module_& module);
void declare_store(nanobind::module_& module);

void declare_collocations(nanobind::module_& module);
void declare_dictionary(nanobind::module_& module);
void declare_language_model(nanobind::module_& module);
void declare_ngram_model(nanobind::module_& module);
void declare_ngrams(nanobind::module_& module);
void declare_perplexity(nanobind::module_& module);
void declare_thesaurus(nanobind::module_& module);

}  // namespace quern::python

// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <cstdlib>

#include "constructor.hpp"
#include "errors.hpp"
#include "quern/base/pdf_program.hpp"
#include "table.hpp"
#include "unknown_word.hpp"

NB_MODULE(_quern, module) {
    using namespace quern::python;
    module.doc() = "Quern: search, near-duplicates, n-grams and ranks, with the same bits everywhere.";
    module.attr("__version__") = QUERN_VERSION;
    nanobind::set_leak_warnings(false);  // the classes of errors live as long as the interpreter
    if (const char* const path = std::getenv("PATH"); path != nullptr)
        quern::use_pdf_program(quern::find_program("pdftotext", path));
    declare_errors(module);
    declare_table(module);
    declare_decontaminate(module);
    declare_filter(module);
    declare_dedup(module);
    declare_duplicate_stream(module);
    declare_dedup_parts(module);
    declare_signatures(module);
    declare_doctor(module);
    declare_vectors(module);
    declare_graph(module);
    declare_sparse(module);
    declare_aggregation(module);

    declare_run(module);
    declare_store(module);
    declare_build(module);
    declare_source_folder(module);
    declare_export(module);
    declare_evaluation(module);
    declare_fusion(module);

    declare_unknown_word(module);
    declare_dictionary(module);
    declare_ngrams(module);
    declare_ngram_model(module);
    declare_perplexity(module);
    declare_language_model(module);
    declare_thesaurus(module);
    declare_collocations(module);
    refuse_constructors_of_results(module);
}

// SPDX-License-Identifier: Apache-2.0
// PDF files are read by a program of the system, pdftotext of poppler-utils. The library starts no process unless the
// program that uses it says which: the command line and the Python module look for it on PATH.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace quern {

/// For all runs of this process from now on, from any thread. `program`: an absolute path; empty: PDF files are skipped,
/// and the summary gives `why_none` as the reason.
void use_pdf_program(std::filesystem::path program,
                     std::string why_none = "install poppler-utils to read them");

struct pdf_program {
    std::filesystem::path path;  ///< empty: none
    std::string why_none;
};
pdf_program used_pdf_program();

/// The first file `name` that can be executed in the folders of `search_path` (the value of PATH); folders that are not
/// absolute do not count. Empty if there is none.
std::filesystem::path find_program(std::string_view name, std::string_view search_path);

}  // namespace quern

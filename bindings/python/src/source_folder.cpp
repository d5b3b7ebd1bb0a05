// SPDX-License-Identifier: Apache-2.0
// quern.SourceFolder: the files of a folder that a store was built from, for pages that show them.
#include "quern/tasks/source_folder.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "constructor.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct folder_call : call {
    std::uint64_t max_bytes = std::uint64_t{16} << 20;
};

/// As quern.SourceFolder.
struct python_folder {
    source_folder folder;
    std::string path;
};

const parameters<folder_call>& file_parameters(const char* function) {
    static const auto made = [](const char* name) {
        parameters<folder_call> all(name);
        all.add({"max_bytes", "int | str", "'16M'", "Larger files are not read."},
                [](folder_call& requested, nb::handle given) {
                    requested.max_bytes = size_of("max_bytes", given);
                })
            .common();
        return all;
    };
    static const parameters<folder_call> document = made("document"), image = made("image"),
                                         bytes = made("read");
    return std::string_view(function) == "document" ? document
           : std::string_view(function) == "image"  ? image
                                                    : bytes;
}

nb::object bytes_object(std::string_view bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

table links_of(const folder_document& document) {
    table rows("links");
    text_column addresses, paths;
    for (const folder_link& link : document.links) {
        addresses.add(link.address);
        paths.add(link.path);
    }
    rows.add("address", std::move(addresses)).add("path", std::move(paths));
    return rows;
}

nb::object document_of(const python_folder& of, nb::handle id, const nb::kwargs& given) {
    const folder_call requested = file_parameters("document").read(given);
    const std::string wanted = text_argument("id", id);
    auto found = run_for(requested.run, [&](const context& ctx) {
        return of.folder.document(wanted, requested.max_bytes, ctx);
    });
    if (!found) return nb::none();
    return nb::module_::import_("quern._store")
        .attr("SourceDocument")(text_object(document_form_names[static_cast<std::size_t>(found->form)]),
                                text_object(found->text), nb::cast(links_of(*found)));
}

nb::object image_of(const python_folder& of, nb::handle path, const nb::kwargs& given) {
    const folder_call requested = file_parameters("image").read(given);
    const std::string wanted = text_argument("path", path);
    const auto found =
        run_for(requested.run, [&](const context&) { return of.folder.image(wanted, requested.max_bytes); });
    if (!found) return nb::none();
    return nb::module_::import_("quern._store")
        .attr("SourceImage")(text_object(found->media_type), bytes_object(found->bytes));
}

nb::object bytes_of(const python_folder& of, nb::handle path, const nb::kwargs& given) {
    const folder_call requested = file_parameters("read").read(given);
    const std::string wanted = text_argument("path", path);
    const auto found =
        run_for(requested.run, [&](const context&) { return of.folder.bytes(wanted, requested.max_bytes); });
    return found ? bytes_object(*found) : nb::none();
}

}  // namespace

void declare_source_folder(nb::module_& module) {
    nb::class_<python_folder>(module, "SourceFolder", R"(The folder that a store was built from, as it is now.

`quern.build` reads a folder file by file, and the id of a document is its path from the folder. This reads those files again,
for pages that show a document as it is: with its markup, links and images. Paths have '/' between their parts. Nothing outside
of the folder can be read: a path with a part that is empty or begins with a dot, or is a symbolic link, names nothing.

>>> import quern
>>> store = quern.build("mill", "mill.store", force=True).store
>>> folder = quern.SourceFolder("mill")
>>> hit = store.search("stones turned by hand")[0]
>>> document = folder.document(hit.id)
>>> document.form, document.text.startswith("<")
('html', True)
>>> folder.document("../links.tsv") is None
True)")
        .def(
            "__init__",
            [](python_folder* self, const nb::args& given, const nb::kwargs& options) {
                const std::string name =
                    text_of("path", only_argument("path", "SourceFolder", given, options));
                new (self) python_folder{source_folder::open(name), name};
            },
            nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"),
            "Opens the folder. Raises UsageError if `path` is not a folder.")
        .def("document", document_of, nb::arg("id"), nb::arg("options"),
             nb::sig(file_parameters("document").signature("self, id: str", "SourceDocument | None")),
             file_parameters("document").doc(R"(The document of this id, or None.

Its `form` is 'html' (a page of the web, or Markdown as HTML: as unsafe as its source), 'text' (paragraphs) or 'verbatim' (source
code: every line and blank counts). `text` is a str; `links` is a table of address and path: where a link or an image leads
within the folder. None for a file that is not there, or of a kind that cannot be shown so (office, PDF, compressed). Raises
StorageError.)"))
        .def("image", image_of, nb::arg("path"), nb::arg("options"),
             nb::sig(file_parameters("image").signature("self, path: str", "SourceImage | None")),
             file_parameters("image").doc(
                 "`media_type` and `data` of an image, or None unless its first bytes show that it is a PNG, "
                 "JPEG, GIF, WebP or SVG. Raises StorageError."))
        .def("read", bytes_of, nb::arg("path"), nb::arg("options"),
             nb::sig(file_parameters("read").signature("self, path: str", "bytes | None")),
             file_parameters("read").doc("The bytes of a file, or None. Raises StorageError."))
        .def_prop_ro(
            "path", [](const python_folder& of) { return text_object(of.path); },
            nb::sig("def path(self) -> str"), "As it was given.")
        .def(
            "__reduce__",
            [](nb::handle self) {
                return nb::make_tuple(self.type(),
                                      nb::make_tuple(text_object(nb::cast<const python_folder&>(self).path)));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__repr__",
            [](const python_folder& of) {
                return "SourceFolder(" + nb::cast<std::string>(nb::repr(text_object(of.path))) + ")";
            },
            nb::sig("def __repr__(self) -> str"));
}

}  // namespace quern::python

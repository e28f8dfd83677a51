"""Scripts as one module each: a report is a single file, and a page needs fewer requests."""

import re
from collections.abc import Mapping

IMPORT = re.compile(r'^import (?:({[^}]+}) from )?"\./([a-z_]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const|class) (\w+))", re.MULTILINE)


def bundle(script: str, files: Mapping[str, str]) -> str:
    r"""Return a script as one module, with all modules that it imports in the order of imports.

    Args:
        script: Name of the script.
        files: The scripts by name. They import by name from the same folder, without circles.

    Returns:
        The module. Each imported module is a constant that holds what it exports.

    Example:
        >>> files = {"a.js": 'import { b as c } from "./b.js";\nc();\n'}
        >>> files["b.js"] = "export function b() {}\n"
        >>> print(bundle("a.js", files), end="")
        const $b = (() => {
        function b() {}
        return { b };
        })();
        const { b: c } = $b;
        c();
    """
    modules: dict[str, str] = {}
    _add(script, files, modules)
    body = modules.pop(script)
    return "".join(_constant(*module) for module in modules.items()) + body


def _add(script: str, files: Mapping[str, str], modules: dict[str, str]) -> None:
    """Add the modules that a script needs, then the script itself."""
    text = files[script]
    for _, imported in IMPORT.findall(text):
        if imported not in modules:
            _add(imported, files, modules)
    modules[script] = IMPORT.sub(_bound, text)


def _bound(imported: re.Match[str]) -> str:
    """Return the declaration that takes the place of an import."""
    names, module = imported.groups()
    return f"const {names.replace(' as ', ': ')} = {_name(module)};\n" if names else ""


def _constant(module: str, body: str) -> str:
    exports = ", ".join(EXPORT.findall(body))
    body = EXPORT.sub("", body)
    return f"const {_name(module)} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _name(module: str) -> str:
    return "$" + module.removesuffix(".js")

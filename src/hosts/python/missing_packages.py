"""
Prints, as JSON, which packages the Python files of folders import and this interpreter does not have:

    python3 missing_packages.py <folder of modules that a host provides> <folder> ...

Files are parsed, and nothing of them runs. An import that the file itself expects to fail, inside of `try`, is optional.
"""
import ast
import json
import sys
from importlib.util import find_spec
from pathlib import Path

MAX_FILES = 500


class Imports(ast.NodeVisitor):
    """The first parts of the absolute names that a module imports."""

    def __init__(self):
        self.names = set()

    def visit_Try(self, node):
        if not node.handlers:
            self.generic_visit(node)

    def visit_If(self, node):
        # `if TYPE_CHECKING:` is for editors.
        test = node.test
        if getattr(test, "id", getattr(test, "attr", "")) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Import(self, node):
        self.names.update(alias.name.split(".")[0] for alias in node.names)

    def visit_ImportFrom(self, node):
        if node.level == 0 and node.module:
            self.names.add(node.module.split(".")[0])


def is_installed(name):
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        # A module that cannot be found in a usual way, such as `__main__`.
        return True


def missing_in(folder, provided):
    files = sorted(Path(folder).rglob("*.py"))[:MAX_FILES]
    own = {folder.name} | {path.stem for path in files} | {path.parent.name for path in files}
    imports = Imports()
    for path in files:
        try:
            imports.visit(ast.parse(path.read_bytes()))
        except (SyntaxError, ValueError, OSError):
            # The error is reported when the plugin is loaded.
            continue
    return sorted(name for name in imports.names - own - provided if not is_installed(name))


def main():
    # Otherwise the files beside this one would count as installed.
    sys.path.pop(0)
    provided = {path.stem for path in Path(sys.argv[1]).iterdir()}
    print(json.dumps({folder: missing_in(Path(folder), provided) for folder in sys.argv[2:]}))


main()

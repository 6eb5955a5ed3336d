"""
Substitutes for the modules of Hermes that plugins import most often. They are found only if no installed module and no file
of the plugin has their name.
"""
import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location

FOLDER = os.path.dirname(os.path.abspath(__file__))


class SubstituteFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or "." in name:
            return None
        package, file = os.path.join(FOLDER, name, "__init__.py"), os.path.join(FOLDER, f"{name}.py")
        if os.path.isfile(package):
            loader = SourceFileLoader(name, package)
            return spec_from_file_location(name, package, loader=loader, submodule_search_locations=[os.path.dirname(package)])
        return spec_from_file_location(name, file) if os.path.isfile(file) else None


def install():
    if SubstituteFinder not in sys.meta_path:
        sys.meta_path.append(SubstituteFinder)

"""The class of ``ctx``, for annotations."""
from hermes_host.plugins.context import PluginContext

"""Paths and variables of the configuration. The settings of a plugin are in `ctx.config`."""
import os

from hermes_constants import get_config_path, get_env_path, get_hermes_home, get_skills_dir


def get_env_value(name, default=None):
    return os.environ.get(name, default)

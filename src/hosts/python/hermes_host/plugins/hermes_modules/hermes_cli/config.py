"""Paths, variables and config.yaml. The settings of a plugin are in `ctx.config`."""
import os
from pathlib import Path

from hermes_constants import get_config_path, get_env_path, get_hermes_home, get_skills_dir


def get_env_value(name, default=None):
    return os.environ.get(name, default)


def read_user_config_raw(path=None):
    """config.yaml as it is written; empty without the file, and without the package `yaml`."""
    try:
        import yaml

        value = yaml.safe_load(Path(path or get_config_path()).read_text(encoding="utf-8"))
    except (ImportError, OSError, ValueError):
        return {}
    except yaml.YAMLError:
        return {}
    return value if isinstance(value, dict) else {}


def load_config():
    return read_user_config_raw()


load_config_readonly = load_config


def cfg_get(config, *keys, default=None):
    """The value at a path of keys; the default if one of them is missing."""
    value = config
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value

"""The paths of the home, as in Hermes."""
import os
from pathlib import Path

OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1"


def get_hermes_home():
    home = os.environ.get("HERMES_HOME", "").strip()
    return Path(home) if home else Path.home() / ".hermes"


def get_default_hermes_root():
    return get_hermes_home()


def display_hermes_home():
    """The home for texts that people read, with `~` for the home of the user."""
    home, user = get_hermes_home(), Path.home()
    return f"~/{home.relative_to(user)}" if user in home.parents else str(home)


def get_hermes_dir(new_subpath, old_name):
    """The folder of an older version if it exists, else the new one."""
    old = get_hermes_home() / old_name
    return old if old.exists() else get_hermes_home() / new_subpath


def get_config_path():
    return get_hermes_home() / "config.yaml"


def get_env_path():
    return get_hermes_home() / ".env"


def get_skills_dir():
    return get_hermes_home() / "skills"

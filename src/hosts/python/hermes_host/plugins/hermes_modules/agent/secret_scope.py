"""Secrets of the environment. A process of the gateway serves one profile."""
import os


class UnscopedSecretError(RuntimeError):
    pass


def get_secret(name, default=None):
    return os.environ.get(name, default)


def is_multiplex_active():
    return False

"""Substitute for the package of Hermes; see `hermes_modules`."""

"""The package of bundled plugins in Hermes. A provider has the name that it has there."""

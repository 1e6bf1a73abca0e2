"""The implementations, a module per family; decorators collect them when their module is imported."""

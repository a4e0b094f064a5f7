"""The formats of a version, each with its writer and the runtime that reads it."""

"""The protocol: translation.proto, and the modules that `make proto` generates from it."""

"""The wire's contract, and what is generated from it: docs/how-to/serve.md has the command."""

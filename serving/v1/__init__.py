"""The wire's contract, and what is generated from it: docs/serving.md has the command."""

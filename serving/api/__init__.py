"""The part of the server that gRPC and HTTP share: service, jobs, errors and limits."""

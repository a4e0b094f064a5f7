"""The gRPC protocol of the service."""

"""What gRPC and HTTP share: the service, jobs, errors and limits."""

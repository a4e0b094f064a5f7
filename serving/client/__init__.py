"""Clients of the server, blocking and asynchronous."""

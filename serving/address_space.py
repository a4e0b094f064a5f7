"""Address space that a server needs before it loads anything."""

import resource

MIN_BYTES = 2**30  # for libraries, and threads with their stacks; models need more


def check_address_space() -> None:
    """Check the limit of address space: the libraries crash without a message if it is too small.

    Raises:
        OSError: If the limit is too small to serve any model.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_BYTES:
        raise OSError(
            f"the address space of this process is limited to {limit / 2**20:,.0f} MiB; a server needs "
            f"{MIN_BYTES / 2**20:,.0f} MiB and its models. Raise the limit with ulimit -v"
        )

"""Translation of a corpus of many files by several workers, in shards that are written whole or not at all.

`job` says what belongs to one translation, `formats` cut a file into shards, a `worker` translates a shard,
and an engine (`processes`, `ray_data`) gives shards to workers. This room knows no model: it gets a function
that opens one.
"""


class BulkError(Exception):
    """Error of a corpus that cannot be translated, with the remedy."""

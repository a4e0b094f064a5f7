"""The service asked as a caller asks it, and what a refusal says."""

from collections.abc import Awaitable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from grpc import StatusCode
from grpc_status.rpc_status import from_call

from serving.v1 import translation_pb2 as wire


def ask(text: str, **options: Any) -> wire.TranslateRequest:
    return wire.TranslateRequest(text=text, options=wire.Options(**options))


async def refused(call: Awaitable[Any], code: StatusCode) -> tuple[str, list[Any]]:
    """-> what was said, and the details."""
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    assert told.value.code() is code
    found = from_call(told.value)
    kinds = {kind.DESCRIPTOR.full_name: kind for kind in (BadRequest, RetryInfo)}
    details = []
    for each in found.details if found else ():
        details.append(kinds[each.TypeName()]())
        each.Unpack(details[-1])
    return told.value.details(), details


async def refused_for(call: Awaitable[Any], field: str) -> str:
    """A rule is broken, and `field` named as what breaks it. -> what was said."""
    message, (detail,) = await refused(call, StatusCode.INVALID_ARGUMENT)
    assert [each.field for each in detail.field_violations] == [field]
    return message

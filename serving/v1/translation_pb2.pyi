from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_LOW: _ClassVar[Priority]
    PRIORITY_NORMAL: _ClassVar[Priority]
    PRIORITY_HIGH: _ClassVar[Priority]

class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINISH_REASON_UNSPECIFIED: _ClassVar[FinishReason]
    FINISH_REASON_STOP: _ClassVar[FinishReason]
    FINISH_REASON_LENGTH: _ClassVar[FinishReason]
    FINISH_REASON_LOOP: _ClassVar[FinishReason]

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_UNSPECIFIED: _ClassVar[State]
    STATE_SERVING: _ClassVar[State]
    STATE_UNAVAILABLE: _ClassVar[State]
PRIORITY_UNSPECIFIED: Priority
PRIORITY_LOW: Priority
PRIORITY_NORMAL: Priority
PRIORITY_HIGH: Priority
FINISH_REASON_UNSPECIFIED: FinishReason
FINISH_REASON_STOP: FinishReason
FINISH_REASON_LENGTH: FinishReason
FINISH_REASON_LOOP: FinishReason
STATE_UNSPECIFIED: State
STATE_SERVING: State
STATE_UNAVAILABLE: State

class TranslateRequest(_message.Message):
    __slots__ = ("text", "options")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    text: str
    options: Options
    def __init__(self, text: _Optional[str] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class TranslateResponse(_message.Message):
    __slots__ = ("translation",)
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    translation: Translation
    def __init__(self, translation: _Optional[_Union[Translation, _Mapping]] = ...) -> None: ...

class BatchTranslateRequest(_message.Message):
    __slots__ = ("texts", "options")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    options: Options
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class BatchTranslateResponse(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[Segment]
    def __init__(self, segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("translation", "error")
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    translation: Translation
    error: SegmentError
    def __init__(self, translation: _Optional[_Union[Translation, _Mapping]] = ..., error: _Optional[_Union[SegmentError, _Mapping]] = ...) -> None: ...

class SegmentError(_message.Message):
    __slots__ = ("code", "message", "field", "retry_after")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    field: str
    retry_after: float
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., retry_after: _Optional[float] = ...) -> None: ...

class StreamTranslateRequest(_message.Message):
    __slots__ = ("text", "options")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    text: str
    options: Options
    def __init__(self, text: _Optional[str] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class StreamTranslateResponse(_message.Message):
    __slots__ = ("text", "translation")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    text: str
    translation: Translation
    def __init__(self, text: _Optional[str] = ..., translation: _Optional[_Union[Translation, _Mapping]] = ...) -> None: ...

class AttendRequest(_message.Message):
    __slots__ = ("text", "options")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    text: str
    options: Options
    def __init__(self, text: _Optional[str] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class AttendResponse(_message.Message):
    __slots__ = ("translation", "parts")
    TRANSLATION_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    translation: Translation
    parts: _containers.RepeatedCompositeFieldContainer[AttendedPart]
    def __init__(self, translation: _Optional[_Union[Translation, _Mapping]] = ..., parts: _Optional[_Iterable[_Union[AttendedPart, _Mapping]]] = ...) -> None: ...

class AttendedPart(_message.Message):
    __slots__ = ("source", "target", "encoder", "decoder", "cross")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ENCODER_FIELD_NUMBER: _ClassVar[int]
    DECODER_FIELD_NUMBER: _ClassVar[int]
    CROSS_FIELD_NUMBER: _ClassVar[int]
    source: _containers.RepeatedCompositeFieldContainer[Token]
    target: _containers.RepeatedCompositeFieldContainer[Token]
    encoder: Weights
    decoder: Weights
    cross: Weights
    def __init__(self, source: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., target: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., encoder: _Optional[_Union[Weights, _Mapping]] = ..., decoder: _Optional[_Union[Weights, _Mapping]] = ..., cross: _Optional[_Union[Weights, _Mapping]] = ...) -> None: ...

class Weights(_message.Message):
    __slots__ = ("shape", "values")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class Options(_message.Message):
    __slots__ = ("model", "version", "max_output_tokens", "priority", "scores", "alignment", "beam", "alternatives", "length_penalty", "prefix", "no_repeat_ngram", "target_language", "alternatives_at_prefix", "loop_guard")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    BEAM_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_PENALTY_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    NO_REPEAT_NGRAM_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_AT_PREFIX_FIELD_NUMBER: _ClassVar[int]
    LOOP_GUARD_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: int
    max_output_tokens: int
    priority: Priority
    scores: bool
    alignment: bool
    beam: int
    alternatives: int
    length_penalty: float
    prefix: str
    no_repeat_ngram: int
    target_language: str
    alternatives_at_prefix: bool
    loop_guard: bool
    def __init__(self, model: _Optional[str] = ..., version: _Optional[int] = ..., max_output_tokens: _Optional[int] = ..., priority: _Optional[_Union[Priority, str]] = ..., scores: _Optional[bool] = ..., alignment: _Optional[bool] = ..., beam: _Optional[int] = ..., alternatives: _Optional[int] = ..., length_penalty: _Optional[float] = ..., prefix: _Optional[str] = ..., no_repeat_ngram: _Optional[int] = ..., target_language: _Optional[str] = ..., alternatives_at_prefix: _Optional[bool] = ..., loop_guard: _Optional[bool] = ...) -> None: ...

class Translation(_message.Message):
    __slots__ = ("text", "finish_reason", "tokens", "score", "alignment", "model", "version", "usage", "source_tokens", "alternatives")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    text: str
    finish_reason: FinishReason
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    score: float
    alignment: _containers.RepeatedCompositeFieldContainer[Link]
    model: str
    version: int
    usage: Usage
    source_tokens: _containers.RepeatedCompositeFieldContainer[Token]
    alternatives: _containers.RepeatedCompositeFieldContainer[Alternative]
    def __init__(self, text: _Optional[str] = ..., finish_reason: _Optional[_Union[FinishReason, str]] = ..., tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., score: _Optional[float] = ..., alignment: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., model: _Optional[str] = ..., version: _Optional[int] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., source_tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., alternatives: _Optional[_Iterable[_Union[Alternative, _Mapping]]] = ...) -> None: ...

class Alternative(_message.Message):
    __slots__ = ("text", "finish_reason", "tokens", "score")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    text: str
    finish_reason: FinishReason
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    score: float
    def __init__(self, text: _Optional[str] = ..., finish_reason: _Optional[_Union[FinishReason, str]] = ..., tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., score: _Optional[float] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("id", "piece", "log_prob")
    ID_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    LOG_PROB_FIELD_NUMBER: _ClassVar[int]
    id: int
    piece: str
    log_prob: float
    def __init__(self, id: _Optional[int] = ..., piece: _Optional[str] = ..., log_prob: _Optional[float] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("target", "source")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    target: int
    source: int
    def __init__(self, target: _Optional[int] = ..., source: _Optional[int] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("source_tokens", "target_tokens", "parts")
    SOURCE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TARGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    source_tokens: int
    target_tokens: int
    parts: int
    def __init__(self, source_tokens: _Optional[int] = ..., target_tokens: _Optional[int] = ..., parts: _Optional[int] = ...) -> None: ...

class ListModelsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListModelsResponse(_message.Message):
    __slots__ = ("models", "limits")
    MODELS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[Model]
    limits: Limits
    def __init__(self, models: _Optional[_Iterable[_Union[Model, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ("name", "versions", "default_version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    versions: _containers.RepeatedCompositeFieldContainer[ModelVersion]
    default_version: int
    def __init__(self, name: _Optional[str] = ..., versions: _Optional[_Iterable[_Union[ModelVersion, _Mapping]]] = ..., default_version: _Optional[int] = ...) -> None: ...

class ModelVersion(_message.Message):
    __slots__ = ("version", "state", "reason", "source_language", "target_language", "precision", "part_tokens", "target_languages", "max_beam")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    PART_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TARGET_LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_BEAM_FIELD_NUMBER: _ClassVar[int]
    version: int
    state: State
    reason: str
    source_language: str
    target_language: str
    precision: str
    part_tokens: int
    target_languages: _containers.RepeatedScalarFieldContainer[str]
    max_beam: int
    def __init__(self, version: _Optional[int] = ..., state: _Optional[_Union[State, str]] = ..., reason: _Optional[str] = ..., source_language: _Optional[str] = ..., target_language: _Optional[str] = ..., precision: _Optional[str] = ..., part_tokens: _Optional[int] = ..., target_languages: _Optional[_Iterable[str]] = ..., max_beam: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("characters", "tokens", "segments", "message_bytes")
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    characters: int
    tokens: int
    segments: int
    message_bytes: int
    def __init__(self, characters: _Optional[int] = ..., tokens: _Optional[int] = ..., segments: _Optional[int] = ..., message_bytes: _Optional[int] = ...) -> None: ...

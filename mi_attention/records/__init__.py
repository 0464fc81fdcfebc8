"""Making records of attention, saving them, and opening them memory-mapped."""

from mi_attention.records.classifier import record_from_classifier
from mi_attention.records.storage import open_record, save_record

__all__ = ["open_record", "record_from_classifier", "save_record"]

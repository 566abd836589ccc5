"""The other end of the grader's socket: implements the port `Grader`."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from harnesspro.core.errors import HarnessProError, IntegrityError
from harnesspro.core.ports import GradeReply, GradeRequest, Opening
from harnesspro.vault.wire import GRADE_CODES, read_frame, write_frame

_GRADES = {code: grade for grade, code in GRADE_CODES.items()}


class GraderClient:
    """Speaks to one grader process over an inherited socket; owns the socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    @classmethod
    def from_fd(cls, fd: int) -> GraderClient:
        """A client on an inherited descriptor, which it then owns."""
        return cls(socket.socket(fileno=fd))

    def close(self) -> None:
        """Close the socket; the grader then ends."""
        self._sock.close()

    def open_sealed(self, requests: Sequence[GradeRequest]) -> Opening:
        """See the port. One `GradeReply` a request, in the same order.

        Raises:
            IntegrityError: the vault does not match its root, or could not be opened.
            HarnessProError: the grader is gone.
        """
        answers = [
            (request.digest, request.task_id, json.dumps(request.answer)) for request in requests
        ]
        try:
            write_frame(self._sock, {"op": "open_sealed", "answers": answers})
            reply = read_frame(self._sock)
        except (OSError, ValueError) as error:
            raise HarnessProError("grader", f"the socket failed: {error}") from error
        if reply is None:
            raise HarnessProError(
                "grader", "ended without an answer", fix="grade again: eval --gold"
            )
        return _opening(reply, requests)


def _opening(reply: Any, requests: Sequence[GradeRequest]) -> Opening:
    if "error" in reply:
        raise IntegrityError(
            "grader",
            str(reply["error"]),
            expected="a vault that matches the root in the run header",
            fix="the reason is in errors.log in the vault",
        )
    opening = Opening(
        replies=tuple(
            GradeReply(digest=digest, grade=_GRADES[code]) for digest, code in reply["grades"]
        ),
        n_openings=int(reply["n_openings"]),
        canary_hits=int(reply["canary_hits"]),
        merkle_root=reply["merkle_root"],
    )
    if [r.digest for r in opening.replies] != [request.digest for request in requests]:
        raise IntegrityError("grader", "replies for other answers than were sent")
    return opening

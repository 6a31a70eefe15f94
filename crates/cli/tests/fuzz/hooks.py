"""What Schemathesis is told besides its own checks; loaded by `SCHEMATHESIS_HOOKS`."""

import os
import re

import schemathesis

# Tokens that the run itself needs are not to be revoked.
KEPT_TOKENS = int(os.environ.get("FUZZ_KEPT_TOKENS", "0"))
SECRET = re.compile(r"tw_[a-z2-9]{40}")
WORDS = re.compile(r"panicked|RUST_BACKTRACE|/src/|\.rs:\d", re.IGNORECASE)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Keeps the run going: no request waits for a minute, and the tokens in use stay."""
    operation = case.operation.definition.raw.get("operationId")
    if operation in ("revoke_token", "rotate_token"):
        number = str(case.path_parameters.get("id", ""))
        if number.isdigit() and 1 <= int(number) <= KEPT_TOKENS:
            case.path_parameters["id"] = int(number) + 1_000
    if operation == "wait_for_job" and isinstance(case.query, dict):
        seconds = str(case.query.get("seconds", "30"))
        if seconds.isdigit() and int(seconds) <= 60:
            case.query["seconds"] = 0


@schemathesis.check
def no_secrets(ctx, response, case):
    """Only the maker of a token sees its secret."""
    made = case.operation.definition.raw.get("operationId") in ("issue_token", "rotate_token")
    if not (made and response.status_code in (200, 201)):
        assert not SECRET.search(response.text), "a secret in an answer"


@schemathesis.check
def no_insides(ctx, response, case):
    """No answer tells of the program's own files."""
    if response.status_code >= 400:
        assert not WORDS.search(response.text), "the program's insides in an answer"


@schemathesis.check
def refusals_say_what_to_do(ctx, response, case):
    """Whatever is refused is refused in words, in JSON."""
    if response.status_code >= 400 and case.method != "HEAD":
        error = response.json()["error"]
        assert error["kind"] and error["message"], "a refusal without words"

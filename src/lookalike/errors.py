"""The errors a user may meet: each is one sentence that says what is wrong, where, and what to do."""


class LookalikeError(Exception):
    """Something the user can put right; commands print it as one line and exit with status 1.

    Examples
    --------
    >>> raise LookalikeError("there is no collection here: run 'lookalike index FOLDER' first.")
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: there is no collection here: run 'lookalike index FOLDER' first.
    """


class LookalikeWarning(UserWarning):
    """Something was done in another way than asked, and the message says how and why."""

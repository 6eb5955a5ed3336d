"""The two examples of sessions, each in its own file as it is written, with one cache between them."""
from . import end, start

end._session_caches = start._session_caches


def register(ctx):
    start.register(ctx)
    end.register(ctx)

"""Describes errors for the gateway."""
import os
import sys

HOST_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_CHARS = 10_000


def message_of(error):
    """`ValueError: no such chat`. Never raises."""
    if isinstance(error, SystemExit):
        return _text_of(error)
    name, text = type(error).__name__, _text_of(error)
    return (f"{name}: {text}" if text else name)[:MAX_CHARS]


def error_info(error):
    """The class of an error and its text. Never raises."""
    return {"name": type(error).__name__[:100], "message": _text_of(error)}


def _text_of(error):
    try:
        if isinstance(error, SystemExit):
            return f"sys.exit({error.code!r}) was called"[:MAX_CHARS]
        return str(error)[:MAX_CHARS]
    except BaseException:  # a custom message may raise any exception
        return "(its message cannot be read)"


def stack_of(error):
    """The traceback without the frames of the host. Never raises."""
    import traceback

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(HOST_DIRECTORY):
        trace = trace.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, trace))[-MAX_CHARS:]
    except BaseException:
        return ""


def location_of(error, path):
    """`<file>:<line>` of the error because of which a module cannot be loaded."""
    locations = _locations(error, os.path.dirname(path))
    return f"{locations[-1][0]}:{locations[-1][1]}" if locations else path


def files_in(error, folder):
    """The files of a folder in the traceback. A file that failed to load is not among the loaded modules."""
    return [file for file, _ in _locations(error, folder)]


def _locations(error, folder):
    locations = []
    trace = error.__traceback__
    while trace is not None:
        locations.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        locations.append((error.filename, error.lineno or 1))
    return [(file, line) for file, line in locations if file.startswith(folder + os.sep)]


def current_stack(thread, coroutine):
    """The current stack of a handler: of its waiting coroutine or of its thread. Never raises."""
    try:
        import traceback

        frames = []
        while getattr(coroutine, "cr_frame", None) is not None and not coroutine.cr_running:
            frames += traceback.extract_stack(coroutine.cr_frame, limit=1)
            coroutine = coroutine.cr_await
        if not frames:
            frames = traceback.extract_stack(sys._current_frames().get(thread.ident))
            own = [index for index, frame in enumerate(frames) if frame.filename.startswith(HOST_DIRECTORY)]
            frames = frames[own[-1] + 1:] if own else []
        return "".join(traceback.format_list(frames))[-MAX_CHARS:]
    except Exception:
        return ""

"""What holds for all tests."""

import signal

# A shell that starts tests in the background has them ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)

"""A network of known latency and bandwidth: ``gpucast-slow-network`` before a server."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from remote_servers import built
from waiting import next_line


@contextmanager
def slow_network(to: str, bandwidth: float, delay: float) -> Iterator[str]:
    """Its address. Bytes/second and seconds one way; on a busy machine it is slower than that,
    never faster."""
    program = built("probe", "gpucast-slow-network")
    words = [to.rpartition(":")[2], str(delay), str(8 * bandwidth)]
    with subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield next_line(process).split()[-1]
        finally:
            process.kill()

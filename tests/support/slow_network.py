"""A network of known latency and bandwidth: a proxy that delays what passes through it."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator


class Link:
    """One direction, shared by all connections: bytes/second, and seconds that each byte takes."""

    def __init__(self, bandwidth: float, delay: float) -> None:
        self.bandwidth, self.delay = bandwidth, delay
        self._free = 0.0
        self._lock = threading.Lock()

    def arrival(self, size: int) -> float:
        """When `size` bytes that are sent now are there."""
        with self._lock:
            self._free = max(self._free, time.monotonic()) + size / self.bandwidth
            return self._free + self.delay


class Proxy:
    """Listens at `address` and passes on to `to`, over two links."""

    def __init__(self, to: str, bandwidth: float, delay: float) -> None:
        host, _, port = to.rpartition(":")
        self._to = (host, int(port))
        self._there, self._back = (Link(bandwidth, delay) for _ in range(2))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listening]
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Cut all connections."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._to)
                self._sockets += [client, server]
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pass(client, server, self._there)
                self._pass(server, client, self._back)

    def _pass(self, source: socket.socket, to: socket.socket, link: Link) -> None:
        under_way: queue.Queue[tuple[float, bytes]] = queue.Queue(maxsize=4096)

        def read() -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    under_way.put((link.arrival(len(data)), data))
            under_way.put((time.monotonic() + link.delay, b""))

        def write() -> None:
            with contextlib.suppress(OSError):
                while True:
                    when, data = under_way.get()
                    time.sleep(max(0.0, when - time.monotonic()))
                    if not data:
                        to.shutdown(socket.SHUT_WR)
                        return
                    to.sendall(data)

        for each in (read, write):
            threading.Thread(target=each, daemon=True).start()


@contextlib.contextmanager
def slow_network(to: str, bandwidth: float, delay: float) -> Iterator[Proxy]:
    """Bytes/second and seconds one way; on a busy machine it is slower than that, never faster."""
    proxy = Proxy(to, bandwidth, delay)
    try:
        yield proxy
    finally:
        proxy.close()

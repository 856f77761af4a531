"""Speaks TLS in front of a plain server, for the fuzzing server of the suite, which has none.

tls_front.py PORT CERTIFICATE KEY: forwards to 127.0.0.1:PORT, prints the port that it listens on, runs until killed.
"""

import asyncio
import ssl
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
    except (ConnectionError, ssl.SSLError):
        writer.close()


async def main(port, certificate, key):
    async def serve(reader, writer):
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, upstream_writer), copy(upstream_reader, writer))
        upstream_writer.close()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))

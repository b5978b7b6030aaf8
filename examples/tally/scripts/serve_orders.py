"""The orders API on loopback: GET /orders and /orders/{id}, and data/ as plain files. Prints its
port, then its access log."""

import json
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Orders(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        document = json.loads(Path("data/orders.json").read_text())
        if self.path == "/orders":
            return self.answer(200, document)
        if self.path.startswith("/orders/"):
            wanted = self.path.removeprefix("/orders/")
            for order in document["orders"]:
                if order["id"] == wanted:
                    return self.answer(200, order)
            return self.answer(404, {"error": {"code": "order_not_found", "id": wanted}})
        return super().do_GET()

    def answer(self, status: int, body: dict) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Orders)
    print(server.server_port, flush=True)
    server.serve_forever()

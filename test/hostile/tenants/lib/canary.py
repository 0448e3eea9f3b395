"""Runs in the product's namespace: an HTTP server and UDP sockets on all of its addresses, and a tap on its loopback.
Writes one JSON line for each thing that arrives at ports 18080-18099 (UDP, or a TCP SYN)."""
import json, socket, struct, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
log = open(sys.argv[1], 'a', buffering=1); lock = threading.Lock()
def note(kind, dst, port, **k):
    with lock: log.write(json.dumps({'t': time.time(), 'kind': kind, 'dst': dst, 'port': port, **k}) + '\n')
class H(BaseHTTPRequestHandler):
    def any(h):
        note('http', h.connection.getsockname()[0], 18080, path=h.path)
        b = b'{"canary":"CANARY-INSIDE"}'; h.send_response(200); h.send_header('Content-Type', 'application/json'); h.send_header('Content-Length', str(len(b))); h.end_headers(); h.wfile.write(b)
    do_GET = do_POST = do_HEAD = any
    def log_message(h, *a): pass
class S(ThreadingHTTPServer): address_family = socket.AF_INET6; daemon_threads = True
def tap():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind(('lo', 0))
    while True:
        p, a = s.recvfrom(256)
        if a[2] == 4: continue
        t = struct.unpack('!H', p[12:14])[0]; p = p[14:]
        if t == 0x800: proto, dst, l4 = p[9], socket.inet_ntoa(p[16:20]), p[(p[0] & 15) * 4:]
        elif t == 0x86dd: proto, dst, l4 = p[6], socket.inet_ntop(socket.AF_INET6, p[24:40]), p[40:]
        else: continue
        if proto not in (6, 17): continue
        port = struct.unpack('!H', l4[2:4])[0]
        if 18080 <= port <= 18099 and (proto == 17 or (l4[13] & 0x12) == 2): note('lo', dst, port, proto=proto)
def udp(port):
    u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.bind(('::', port))
    while True:
        d, a = u.recvfrom(2048)                    # the tap on lo sees what came from inside; this sees the rest
threading.Thread(target=tap, daemon=True).start()
for p in range(18081, 18100): threading.Thread(target=udp, args=(p,), daemon=True).start()
S(('::', 18080), H).serve_forever()

"""Black-box harness of the cases of issue 26. Runs in the namespace `t26w` ("the rest of the world"): every address on
earth except the product's own is local here, so a case may be anybody, and whatever leaves the product arrives here.
Python 3.8+, standard library only; imports nothing of the product."""
import base64, collections, hashlib, http.client, ipaddress, json, os, random, re, socket, struct, subprocess, sys, tempfile, threading, time, traceback, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

ENV = os.environ.get
URL = ENV('PARLEY_URL', 'http://5.5.4.1:8080')
HOST, HPORT = urlsplit(URL).hostname, urlsplit(URL).port or 80
SIP = (ENV('PARLEY_SIP', '5.5.4.1:5060').rsplit(':', 1)[0], int(ENV('PARLEY_SIP', '5.5.4.1:5060').rsplit(':', 1)[1]))
METRICS = ENV('PARLEY_METRICS', 'http://5.5.4.1:9464 http://5.5.4.1:9465 http://5.5.4.1:9466').split()
DIR = ENV('PARLEY_DIR', os.path.abspath(os.path.join(os.path.dirname(__file__), '../../../..')))
STATE = ENV('CASES_STATE', os.path.join(tempfile.gettempdir(), 'parley-hostile'))
HOME = ENV('PARLEY_HOME', STATE + '/home')
PNS, WNS = ENV('PRODUCT_NS', 't26p'), ENV('WORLD_NS', 't26w')
OWN4, OWN6, OWN_PRIVATE = ENV('OWN4', '77.77.77.77'), ENV('OWN6', '2a0b:77::77'), ENV('OWN_PRIVATE', '10.77.0.1')
CANARY = 18080          # HTTP on all addresses of the product's namespace; 18081-18099 UDP
random.seed(os.urandom(16))

# ---------------------------------------------------------------- cases
CASES = []
def case(id, must, timeout=90):
    def wrap(fn):
        CASES.append((id, must, timeout, fn)); return fn
    return wrap
class Bad(Exception): pass
def ok(cond, facts):
    """Ends the case: PASS or FAIL with facts."""
    return bool(cond), facts
def need(cond, why):
    if not cond: raise Bad(why)

# ---------------------------------------------------------------- addresses and numbers
_used = set()
def ip4(prefix=None):
    while True:
        p = prefix or random.choice(['23', '31', '37', '46', '62', '79', '85', '93'])
        a = p.split('.')
        while len(a) < 4: a.append(str(random.randint(1, 250)))
        a = '.'.join(a)
        net = a if prefix else a.rsplit('.', 1)[0]
        if net not in _used: _used.add(net); return a
def ip6(): return '2a0b:%x:%x::%x' % (random.randint(0x100, 0xffff), random.randint(1, 0xffff), random.randint(1, 0xfff))
def number():
    while True:
        n = '+1%d%d' % (random.choice([202, 212, 312, 415, 617, 713, 503]), random.randint(2000000, 9999999))
        if n[5:8] not in ('555', '911') and n not in _used: _used.add(n); return n
def word(n=8): return ''.join(random.choice('abcdefghijkmnpqrstuvwxyz') for _ in range(n))

# ---------------------------------------------------------------- HTTP client
class Resp:
    def __init__(s, status, headers, data, ms):
        s.status, s.headers, s.data, s.ms = status, headers, data, ms
        try: s.json = json.loads(data)
        except Exception: s.json = None
    def __repr__(s):
        j = s.json if isinstance(s.json, dict) else {}
        return '%s%s' % (s.status, ' ' + j['code'] if 'code' in j else '')
    @property
    def code(s): return (s.json or {}).get('code') if isinstance(s.json, dict) else None
    @property
    def text(s): return s.data.decode('utf8', 'replace') if isinstance(s.data, bytes) else str(s.data)

def http_(method, path, body=None, headers=None, src=None, timeout=30, host=None, port=None):
    v6 = ':' in (host or HOST)
    c = http.client.HTTPConnection(host or HOST, port or HPORT, timeout=timeout, source_address=(src, 0) if src else None)
    h = dict(headers or {})
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body); h.setdefault('Content-Type', 'application/json')
    if isinstance(body, str): body = body.encode()
    t = time.time()
    try:
        c.request(method, path, body, h); r = c.getresponse(); d = r.read()
        return Resp(r.status, r.headers, d, int((time.time() - t) * 1000))
    finally: c.close()

def multipart(name, data, ctype='application/octet-stream', filename='file'):
    b = 'b' + uuid.uuid4().hex
    body = ('--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: %s\r\n\r\n' % (b, name, filename, ctype)).encode() + data + ('\r\n--%s--\r\n' % b).encode()
    return body, {'Content-Type': 'multipart/form-data; boundary=' + b}

class Owner:
    """A fresh account that signed up from an address of its own."""
    def __init__(s, name='owner', src=None):
        s.src = src or ip4()
        s.email, s.password = '%s-%s@example.com' % (name, word(10)), 'pw-' + word(16)
        for _ in range(6):
            r = http_('POST', '/auth/sign-up', {'email': s.email, 'password': s.password, 'name': name}, {'Origin': URL}, s.src)
            if r.status != 429: break
            s.src = ip4() if not src else s.src
            time.sleep(1)
        need(r.status == 201, 'sign-up answered %r %s' % (r, r.text[:200]))
        s.cookie = s._cookie(r); s.session_body = r.json; s.keys = []; s.key()
    def _cookie(s, r):
        return '; '.join(c.split(';')[0] for c in r.headers.get_all('Set-Cookie') or [])
    def key(s, **more):
        r = s.session('POST', '/v1/public/keys', {'name': 'k' + word(4), 'scopes': ['read', 'write'], **more})
        need(r.status == 201, 'key: %r %s' % (r, r.text[:200]))
        k = r.json.get('key') or r.json.get('value') or next(v for v in r.json.values() if isinstance(v, str) and v.startswith('svc_') and len(v) > 20)
        s.keys.append(k); return k
    def session(s, method, path, body=None, headers=None, **kw):
        return http_(method, path, body, {'Cookie': s.cookie, 'Origin': URL, **(headers or {})}, kw.pop('src', s.src), **kw)
    def api(s, method, path, body=None, headers=None, key=None, retry=True, **kw):
        for _ in range(4):
            r = http_(method, '/v1/public' + path, body, {'X-API-Key': key or s.keys[-1], **(headers or {})}, kw.pop('src', s.src), **kw)
            if r.status != 429 or r.code != 'rate_limited' or not retry or key: return r
            s.key()
        return r
    def must(s, method, path, body=None, **kw):
        r = s.api(method, path, body, **kw)
        need(r.status < 300, '%s %s: %r %s' % (method, path, r, r.text[:300]))
        return r.json
    def project(s, **more):
        return s.must('POST', '/projects', {'name': 'P ' + word(5), 'language': 'en', 'greeting': 'Hello.', 'prompt': 'You answer the telephone.', 'voicemail': {'action': 'ignore'}, **more})['id']
    def trunk(s, host, numbers=(), mode='ip', expect=None, **more):
        r = s.api('POST', '/trunks', {'name': 'T ' + word(5), 'mode': mode, 'host': host, 'numbers': list(numbers), **more})
        if expect is None: need(r.status == 201, 'trunk: %r %s' % (r, r.text[:300]))
        return r
    def bind(s, project, num, direction='both'):
        return s.api('POST', '/projects/%s/numbers' % project, {'number': num, 'direction': direction})
    def line(s, host, project=None, mode='ip', num=None, direction='both', **more):
        """A trunk with one number that is bound to a project; waits until the engines know it."""
        num = num or number(); project = project or s.project()
        if mode == 'ip' and 'allowed_ips' not in more: more['allowed_ips'] = [host] if re.fullmatch(r'[\d.]+', host) else []
        t = s.trunk(host, [num], mode, **more).json
        b = s.bind(project, num, direction); need(b.status == 200, 'bind: %r %s' % (b, b.text[:200]))
        time.sleep(2.2)
        return collections.namedtuple('Line', 'number project trunk')(num, project, t['id'])
    def calls(s, **q):
        q = '&'.join('%s=%s' % i for i in q.items())
        return s.must('GET', '/calls?limit=50' + ('&' + q if q else ''))['items']
    def place(s, project, phone, **more): return s.api('POST', '/calls', {'project_id': project, 'phone': phone, **more})
    def wait_call(s, id, until=('completed', 'no_answer', 'busy', 'failed', 'canceled'), secs=20):
        t = time.time()
        while True:
            c = s.must('GET', '/calls/' + id)
            if c['status'] in until or time.time() - t > secs: return c
            time.sleep(0.5)
    def upload(s, project, data, filename, ctype='application/octet-stream'):
        b, h = multipart('file', data, ctype, filename)
        return s.api('POST', '/projects/%s/knowledge/file' % project, b, h, timeout=120)
    def source(s, project, id):
        return next((x for x in s.must('GET', '/projects/%s/knowledge?limit=200' % project)['items'] if x['id'] == id), {'status': 'gone'})
    def ready(s, project, id, secs=30):
        """Seconds until the source is ready or in error; None when it is neither within `secs`."""
        t, x = time.time(), s.source(project, id)
        while time.time() - t < secs:
            x = s.source(project, id)
            if x['status'] in ('ready', 'error', 'gone'): return time.time() - t, x['status']
            time.sleep(0.4)
        return None, x['status']

def owners(n, name='o'):
    out, errs = [None] * n, []
    def one(i):
        try: out[i] = Owner('%s%d' % (name, i))
        except Exception as e: errs.append(e)
    ts = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for i in range(0, n, 4):
        for t in ts[i:i + 4]: t.start()
        for t in ts[i:i + 4]: t.join()
    if errs: raise errs[0]
    return out

def problem_names(r, *patterns):
    """A 400 problem document whose text says what is allowed (all patterns occur in it)."""
    if r.status != 400 or not isinstance(r.json, dict) or 'problem' not in (r.headers.get('Content-Type') or ''): return False
    t = json.dumps(r.json, ensure_ascii=False)
    return all(re.search(p, t, re.I) for p in patterns)

def metrics():
    """All series of all processes, summed by name and labels."""
    out = collections.Counter()
    for m in METRICS:
        u = urlsplit(m)
        try: r = http_('GET', '/metrics', host=u.hostname, port=u.port, timeout=5)
        except OSError: continue
        for l in r.text.splitlines():
            if l.startswith('parley_'):
                k, _, v = l.rpartition(' ')
                try: out[k] += float(v)
                except ValueError: pass
    return out
def grown(before, after, pattern):
    return {k: after[k] - before.get(k, 0) for k in after if re.search(pattern, k) and after[k] > before.get(k, 0)}
REFUSALS = r'(refus|block|denied|deny|forbid|private|reach)'

# ---------------------------------------------------------------- what leaves the product
def shared_with_nobody(a):
    """May Parley not send to this address? Anything that is not globally reachable unicast, or is its own."""
    try: x = ipaddress.ip_address(a)
    except ValueError: return False
    if x.version == 6 and x.ipv4_mapped: x = x.ipv4_mapped
    return (not x.is_global) or x.is_multicast or x.is_reserved or str(x) in (OWN4, OWN6, HOST, SIP[0])
class Sniffer:
    """Counts what arrives from the product at the world's end of the cable, by destination."""
    def __init__(s, dev=ENV('WORLD_DEV', 'w0')):
        s.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.s.bind((dev, 0))
        s.s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
        s.seen = collections.deque(maxlen=400000); threading.Thread(target=s.run, daemon=True).start()
    def run(s):
        while True:
            p, a = s.s.recvfrom(2048)
            if a[2] == 4: continue
            t = struct.unpack('!H', p[12:14])[0]; p = p[14:]
            if t == 0x800:
                proto, dst, l4 = p[9], socket.inet_ntoa(p[16:20]), p[(p[0] & 15) * 4:]
            elif t == 0x86dd:
                proto, dst, l4 = p[6], socket.inet_ntop(socket.AF_INET6, p[24:40]), p[40:]
                if proto in (58, 0) : continue           # neighbour discovery
            else: continue
            if proto not in (6, 17): continue
            s.seen.append((time.time(), dst, proto, struct.unpack('!H', l4[2:4])[0], bytes(l4[8:40]) if proto == 17 else b''))
    def to(s, since, dst=None, private=True):
        out, seen = collections.Counter(), list(s.seen)
        stale = {d for t, d, _, port, _ in seen if since - 40 < t < since and port == 5060}       # retransmissions that an earlier case left
        for t, d, proto, port, _ in seen:
            if t >= since and not (port == 5060 and d in stale) and (d == dst if dst else (not private or shared_with_nobody(d))):
                out['%s:%d/%s' % (d, port, 'tcp' if proto == 6 else 'udp')] += 1
        return dict(out)
def canary(since, kinds=('http', 'udp', 'lo')):
    """What reached the product's own addresses at the canary's ports since a time."""
    out = collections.Counter()
    try:
        for l in open(STATE + '/canary.log'):
            try: e = json.loads(l)
            except ValueError: continue
            if e['t'] >= since and e['kind'] in kinds: out['%s %s:%s' % (e['kind'], e['dst'], e['port'])] += 1
    except OSError: raise Bad('no canary.log: was the installation started by ./up?')
    return dict(out)

# ---------------------------------------------------------------- DNS
class Dns:
    """Answers for the whole world. zone[name][type] is a list or a callable that returns one; TTL 0."""
    def __init__(s, ip='5.5.53.53'):
        s.zone, s.asked = {}, []
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind((ip, 53))
        t = socket.socket(); t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); t.bind((ip, 53)); t.listen(16)
        def udp():
            while True:
                q, a = u.recvfrom(4096)
                try: u.sendto(s.answer(q), a)
                except Exception: traceback.print_exc()
        def tcp():
            while True:
                c, _ = t.accept()
                try:
                    n = struct.unpack('!H', c.recv(2))[0]; r = s.answer(c.recv(n)); c.sendall(struct.pack('!H', len(r)) + r)
                except Exception: pass
                c.close()
        threading.Thread(target=udp, daemon=True).start(); threading.Thread(target=tcp, daemon=True).start()
    @staticmethod
    def name(n): return b''.join(bytes([len(l)]) + l.encode() for l in n.split('.') if l) + b'\0'
    def answer(s, q):
        i, labels = 12, []
        while q[i]: labels.append(q[i + 1:i + 1 + q[i]].decode('latin1')); i += 1 + q[i]
        qt = struct.unpack('!H', q[i + 1:i + 3])[0]; question = q[12:i + 5]
        name = '.'.join(labels).lower(); types = {1: 'A', 28: 'AAAA', 33: 'SRV', 35: 'NAPTR', 5: 'CNAME'}
        s.asked.append((time.time(), name, types.get(qt, qt)))
        z, rr = s.zone.get(name), []
        def add(zone, nm, t):
            v = zone.get(t); v = v() if callable(v) else v
            for x in v or []:
                if t == 'A': d, n = socket.inet_aton(x), 1
                elif t == 'AAAA': d, n = socket.inet_pton(socket.AF_INET6, x), 28
                elif t == 'SRV': d, n = struct.pack('!HHH', x[0], x[1], x[2]) + s.name(x[3]), 33
                elif t == 'CNAME': d, n = s.name(x), 5
                else:
                    st = lambda y: bytes([len(y)]) + y.encode()
                    d, n = struct.pack('!HH', x[0], x[1]) + st(x[2]) + st(x[3]) + st('') + s.name(x[4]), 35
                rr.append(s.name(nm) + struct.pack('!HHIH', n, 1, 0, len(d)) + d)
        if z is not None:
            c = z.get('CNAME')
            if c:
                add(z, name, 'CNAME'); c = c() if callable(c) else c
                if c[0].lower() in s.zone and types.get(qt) in ('A', 'AAAA'): add(s.zone[c[0].lower()], c[0], types[qt])
            elif qt in types: add(z, name, types[qt])
        return q[:2] + struct.pack('!HHHHH', 0x8580 | (0 if z is not None else 3), 1, len(rr), 0, 0) + question + b''.join(rr)

# ---------------------------------------------------------------- HTTP servers of others
class Fields(dict):
    """Header fields, by names in any case (RFC 9110 section 5.1)."""
    def get(s, name, other=None): return next((v for k, v in s.items() if k.lower() == name.lower()), other)
    def __contains__(s, name): return s.get(name) is not None
class Web:
    """A server at any address. handle(request) -> (status, headers, body) or a generator of bytes for raw control."""
    def __init__(s, ip, port=80, handle=None):
        s.ip, s.port, s.got = ip, port, []
        s.handle = handle or (lambda q: (200, {}, b'{"ok":true}'))
        web = s
        class H(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def any(h):
                n = int(h.headers.get('Content-Length') or 0); b = h.rfile.read(n) if n else b''
                q = type('Q', (), {})(); q.method, q.path, q.headers, q.body, q.peer = h.command, h.path, Fields(h.headers.items()), b, h.client_address[0]
                web.got.append(q)
                try:
                    r = web.handle(q)
                    if r is None: h.close_connection = True; return
                    st, hd, body = r
                    h.send_response(st)
                    if isinstance(body, str): body = body.encode()
                    if isinstance(body, bytes):
                        hd = {'Content-Type': 'application/json', **hd, 'Content-Length': str(len(body))}
                        for k, v in hd.items(): h.send_header(k, v)
                        h.end_headers(); h.wfile.write(body)
                    else:
                        for k, v in {**hd, 'Connection': 'close'}.items(): h.send_header(k, v)
                        h.end_headers(); h.close_connection = True
                        for part in body: h.wfile.write(part); h.wfile.flush()
                except (BrokenPipeError, ConnectionResetError): pass
            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = any
            def log_message(h, *a): pass
        class S(ThreadingHTTPServer):
            daemon_threads = True; allow_reuse_address = True; request_queue_size = 64
            address_family = socket.AF_INET6 if ':' in ip else socket.AF_INET
            def handle_error(h, *a): pass
        s.server = S((ip, port), H); threading.Thread(target=s.server.serve_forever, daemon=True).start()
    def close(s): s.server.shutdown(); s.server.server_close()

class Llm:
    """An OpenAI-compatible model. brains[tag](messages, tools) -> text, or a list of (tool, arguments); base_url is http://IP/TAG/v1."""
    def __init__(s, ip='5.5.60.1'):
        s.ip, s.brains, s.asked = ip, {}, collections.defaultdict(list)
        s.web = Web(ip, 80, s.handle)
    def url(s, tag): return 'http://%s/%s/v1' % (s.ip, tag)
    def config(s, tag, brain):
        s.brains[tag] = brain
        return {'provider': 'openai_compatible', 'base_url': s.url(tag), 'model': 'obedient'}
    def handle(s, q):
        tag = q.path.strip('/').split('/')[0]
        if not q.path.endswith('/chat/completions'): return 200, {}, json.dumps({'object': 'list', 'data': [{'id': 'obedient', 'object': 'model'}]})
        body = json.loads(q.body); s.asked[tag].append(body)
        try: out = s.brains[tag](body['messages'], body.get('tools') or [])
        except Exception: traceback.print_exc(); out = 'Yes.'
        calls = None
        if isinstance(out, list):
            calls = [{'index': i, 'id': 'c' + uuid.uuid4().hex[:10], 'type': 'function', 'function': {'name': n, 'arguments': a if isinstance(a, str) else json.dumps(a)}} for i, (n, a) in enumerate(out)]
            out = None
        base = {'id': 'x', 'created': int(time.time()), 'model': 'obedient'}
        if not body.get('stream'):
            m = {'role': 'assistant', 'content': out}
            if calls: m['tool_calls'] = [{k: v for k, v in c.items() if k != 'index'} for c in calls]
            return 200, {}, json.dumps({**base, 'object': 'chat.completion', 'choices': [{'index': 0, 'message': m, 'finish_reason': 'tool_calls' if calls else 'stop'}], 'usage': {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2}})
        def sse():
            d = {'role': 'assistant', 'content': out} if not calls else {'role': 'assistant', 'content': None, 'tool_calls': calls}
            for delta, fin in ((d, None), ({}, 'tool_calls' if calls else 'stop')):
                yield ('data: ' + json.dumps({**base, 'object': 'chat.completion.chunk', 'choices': [{'index': 0, 'delta': delta, 'finish_reason': fin}]}) + '\n\n').encode()
            yield b'data: [DONE]\n\n'
        return 200, {'Content-Type': 'text/event-stream'}, sse()

# ---------------------------------------------------------------- SIP
COMPACT = {'v': 'via', 'f': 'from', 't': 'to', 'i': 'call-id', 'm': 'contact', 'l': 'content-length', 'c': 'content-type'}
class Msg:
    def __init__(s, raw):
        head, _, s.body = raw.partition(b'\r\n\r\n'); lines = re.sub(r'\r\n[ \t]+', ' ', head.decode('utf8', 'replace')).split('\r\n')
        s.start, s.h = lines[0], []
        for l in lines[1:]:
            k, _, v = l.partition(':'); k = k.strip().lower(); s.h.append((COMPACT.get(k, k), v.strip()))
        p = s.start.split(' ', 2); s.status = int(p[1]) if p[0].startswith('SIP/') and len(p) > 1 and p[1].isdigit() else None
        s.method, s.uri = (None, None) if s.status else (p[0], p[1] if len(p) > 1 else '')
    def get(s, k, d=''): return next((v for n, v in s.h if n == k), d)
    def all(s, k): return [v for n, v in s.h if n == k]
    @property
    def cseq(s): return s.get('cseq')
    @property
    def body_text(s): return s.body.decode('utf8', 'replace')
def param(v, name):
    m = re.search(r';\s*%s=([^;>\s]+)' % name, v); return m and m.group(1)
def uri_of(v):
    m = re.search(r'<([^>]*)>', v); return m.group(1) if m else v.split(';')[0].strip()
def user_of(uri):
    m = re.match(r'sips?:([^@;>]*)@', uri); return m.group(1) if m else ''
def digest(chal, user, pw, method, uri, nc=1, opaque=True):
    f = dict((k.lower(), a or b) for k, a, b in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', chal))
    alg = f.get('algorithm', 'MD5').upper(); H = (lambda x: hashlib.sha256(x.encode()).hexdigest()) if alg.startswith('SHA-256') else (lambda x: hashlib.md5(x.encode()).hexdigest())
    a1, a2, cn = H('%s:%s:%s' % (user, f['realm'], pw)), H('%s:%s' % (method, uri)), word(10)
    if 'qop' in f: r = H('%s:%s:%08x:%s:auth:%s' % (a1, f['nonce'], nc, cn, a2)); extra = ', qop=auth, nc=%08x, cnonce="%s"' % (nc, cn)
    else: r = H('%s:%s:%s' % (a1, f['nonce'], a2)); extra = ''
    return 'Digest username="%s", realm="%s", nonce="%s", uri="%s", response="%s", algorithm=%s%s%s' % (user, f['realm'], f['nonce'], uri, r, f.get('algorithm', 'MD5'), extra, ', opaque="%s"' % f['opaque'] if 'opaque' in f else '')
def sdp(ip, port, more='', media_c=None, pt='0 101', proto='RTP/AVP', o=None, fam=None):
    fam = fam or ('IP6' if ':' in ip else 'IP4')
    return ('v=0\r\no=- %d 1 IN IP4 %s\r\ns=-\r\nc=IN %s %s\r\nt=0 0\r\nm=audio %d %s %s\r\n' % (random.randint(1, 1 << 30), o or '5.5.5.5', fam, ip, port, proto, pt)
            + ('c=IN %s\r\n' % media_c if media_c else '') + 'a=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\na=ptime:20\r\n' + more)

class Peer:
    """A SIP endpoint at any address of the world, over UDP, or over a TCP connection to Parley."""
    def __init__(s, ip, port=5060, tcp=False):
        s.ip, s.port, s.tcp, s.log, s.on, s.lock = ip, port, tcp, [], {}, threading.Lock()
        s.waiting = {}
        if tcp:
            s.sock = socket.socket(socket.AF_INET6 if ':' in ip else socket.AF_INET); s.sock.bind((ip, 0)); s.sock.settimeout(5); s.sock.connect(SIP); s.port = s.sock.getsockname()[1]
            s.sock.settimeout(None)
        else:
            s.sock = socket.socket(socket.AF_INET6 if ':' in ip else socket.AF_INET, socket.SOCK_DGRAM); s.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.sock.bind((ip, port)); s.port = s.sock.getsockname()[1]
        s.open = True; threading.Thread(target=s.run_tcp if tcp else s.run, daemon=True).start()
    @property
    def at(s): return ('[%s]' % s.ip if ':' in s.ip else s.ip) + ':%d' % s.port
    def run(s):
        while s.open:
            try: d, a = s.sock.recvfrom(65535)
            except OSError: return
            if len(d.strip()): s.take(d, a)
    def run_tcp(s):
        buf = b''
        while s.open:
            try: d = s.sock.recv(65535)
            except OSError: d = b''
            if not d: s.open = False; return
            buf += d
            while b'\r\n\r\n' in buf:
                buf = buf.lstrip(b'\r\n')
                head, sep, rest = buf.partition(b'\r\n\r\n')
                if not sep: break
                m = re.search(rb'(?im)^(?:content-length|l)\s*:\s*(\d+)', head); n = int(m.group(1)) if m else 0
                if len(rest) < n: break
                s.take(head + sep + rest[:n], SIP); buf = rest[n:]
    def take(s, d, a):
        try: m = Msg(d)
        except Exception: return
        s.log.append((time.time(), m, a))
        if m.status is not None:
            q = s.waiting.get((m.get('call-id'), m.cseq))
            if q is not None: q.append(m)
            return
        fn = s.on.get(m.method)
        if fn: threading.Thread(target=s.safe, args=(fn, m, a), daemon=True).start()
        elif m.method in ('BYE', 'CANCEL', 'INFO', 'OPTIONS', 'NOTIFY', 'UPDATE'): s.reply(m, a, 200, 'OK')
    def safe(s, fn, m, a):
        try: fn(m, a)
        except Exception:
            if s.open: traceback.print_exc()
    def send(s, raw, dst=None):
        if isinstance(raw, str): raw = raw.encode()
        if s.tcp: s.sock.sendall(raw)
        else: s.sock.sendto(raw, dst or SIP)
    def build(s, method, uri, frm, to, headers=(), body='', call_id=None, cseq=1, ftag=None, branch=None, contact=None, ctype='application/sdp', via=None):
        h = ['%s %s SIP/2.0' % (method, uri), 'Via: SIP/2.0/%s %s;branch=%s;rport' % ('TCP' if s.tcp else 'UDP', via or s.at, branch or 'z9hG4bK' + word(12)), 'Max-Forwards: 70',
             'From: %s%s' % (frm, ';tag=' + ftag if ftag else ''), 'To: %s' % to, 'Call-ID: %s' % (call_id or word(16)), 'CSeq: %d %s' % (cseq, method)]
        if contact is not False: h.append('Contact: ' + (contact or '<sip:peer@%s%s>' % (s.at, ';transport=tcp' if s.tcp else '')))
        h += list(headers)
        b = body.encode() if isinstance(body, str) else body
        if b: h.append('Content-Type: ' + ctype)
        h.append('Content-Length: %d' % len(b))
        return ('\r\n'.join(h) + '\r\n\r\n').encode() + b
    def ask(s, method, uri, frm, to, timeout=3, final=True, dst=None, retransmit=True, **kw):
        """Sends a request; returns the responses that came (empty when unanswered)."""
        kw.setdefault('call_id', word(16)); kw.setdefault('ftag', word(8)); kw.setdefault('cseq', 1)
        raw = s.build(method, uri, frm, to, **kw); k = (kw['call_id'], '%d %s' % (kw['cseq'], method))
        got = s.waiting[k] = []; t = time.time(); s.send(raw, dst); nxt = 0.5
        while time.time() - t < timeout:
            if got and (not final or got[-1].status >= 200): break
            if not s.tcp and retransmit and not got and time.time() - t > nxt: s.send(raw, dst); nxt *= 2.2
            time.sleep(0.01)
        return got
    def reply(s, m, a, status, reason='', body='', headers=(), tag=None, contact=None):
        to = m.get('to')
        if ';tag=' not in to and status > 100: to += ';tag=' + (tag or 't' + hashlib.md5((m.get('call-id') + s.at).encode()).hexdigest()[:8])
        h = ['SIP/2.0 %d %s' % (status, reason or 'OK')] + ['Via: ' + v for v in m.all('via')] + ['Record-Route: ' + v for v in m.all('record-route')] + ['From: ' + m.get('from'), 'To: ' + to, 'Call-ID: ' + m.get('call-id'), 'CSeq: ' + m.cseq]
        if contact is not False and m.method in ('INVITE', 'SUBSCRIBE', 'REFER'): h.append('Contact: ' + (contact or '<sip:peer@%s>' % s.at))
        h += list(headers); b = body.encode()
        if b: h.append('Content-Type: application/sdp')
        h.append('Content-Length: %d' % len(b))
        s.send(('\r\n'.join(h) + '\r\n\r\n').encode() + b, a)
    def requests(s, method, since=0): return [m for t, m, _ in list(s.log) if m.method == method and t >= since]
    def close(s):
        s.open = False
        try: s.sock.close()
        except OSError: pass

class Rtp:
    """Sends 20 ms PCMU silence to `to` while open, counts what comes."""
    def __init__(s, ip, port=0):
        s.sock = socket.socket(socket.AF_INET6 if ':' in ip else socket.AF_INET, socket.SOCK_DGRAM); s.sock.bind((ip, port)); s.ip, s.port = ip, s.sock.getsockname()[1]
        s.got, s.open, s.to, s.first = 0, True, None, None
        threading.Thread(target=s.rx, daemon=True).start()
    def rx(s):
        while s.open:
            try: s.sock.recvfrom(2048); s.got += 1; s.first = s.first or time.time()
            except OSError: return
    def start(s, to, payload=b'\xff' * 160):
        s.to = to; threading.Thread(target=s.tx, args=(payload,), daemon=True).start(); return s
    def tx(s, payload):
        seq, ts, ssrc, t = random.randint(0, 60000), random.randint(0, 1 << 30), random.randint(1, 1 << 31), time.time()
        while s.open:
            try: s.sock.sendto(struct.pack('!BBHII', 0x80, 0, seq & 65535, ts & 0xffffffff, ssrc) + payload, s.to)
            except OSError: return
            seq += 1; ts += 160; t += 0.02; time.sleep(max(0, t - time.time()))
    def keys(s, digits, to=None):
        seq, ts, ssrc = random.randint(0, 60000), random.randint(0, 1 << 30), random.randint(1, 1 << 31)
        for d in digits:
            e = '0123456789*#'.index(d)
            for i in range(8):
                s.sock.sendto(struct.pack('!BBHIIBBH', 0x80, 101 | (0x80 if i == 0 else 0), seq & 65535, ts, ssrc, e, 0x80 | 10 if i >= 5 else 10, 160 * (i + 1)), to or s.to); seq += 1; time.sleep(0.02)
            ts += 3200; time.sleep(0.15)
    def close(s):
        s.open = False
        try: s.sock.close()
        except OSError: pass
def media_at(body):
    c = re.findall(r'(?m)^c=IN IP[46] (\S+)', body); m = re.search(r'(?m)^m=audio (\d+)', body)
    return (c[-1] if c else None, int(m.group(1)) if m else 0)

class Dialog: pass
def dial(peer, uri, frm=None, to=None, headers=(), body=None, timeout=8, rtp=True, auth=None, contact=None, dst=None):
    """An INVITE from `peer` to Parley. Sends ACK. `.status` is None when nothing came."""
    d = Dialog(); d.peer, d.uri, d.rtp = peer, uri, Rtp(peer.ip) if rtp and body is None else None
    d.frm = frm or '<sip:+12025550100@%s>' % peer.ip; d.to = to or '<%s>' % uri
    d.call_id, d.ftag, d.cseq = word(18), word(8), 1; d.body = body if body is not None else sdp(peer.ip, d.rtp.port if d.rtp else 4000)
    got = peer.ask('INVITE', uri, d.frm, d.to, timeout, call_id=d.call_id, ftag=d.ftag, cseq=1, headers=headers, body=d.body, contact=contact, dst=dst)
    fin = next((m for m in got if m.status >= 200), None)
    if fin is not None and fin.status in (401, 407) and auth:
        peer.send(peer.build('ACK', uri, d.frm, fin.get('to'), call_id=d.call_id, ftag=d.ftag, cseq=1, contact=False), dst)
        ch = fin.get('www-authenticate') or fin.get('proxy-authenticate'); d.cseq = 2
        hd = list(headers) + [('Authorization: ' if fin.status == 401 else 'Proxy-Authorization: ') + digest(ch, auth[0], auth[1], 'INVITE', uri)]
        got = peer.ask('INVITE', uri, d.frm, d.to, timeout, call_id=d.call_id, ftag=d.ftag, cseq=2, headers=hd, body=d.body, contact=contact, dst=dst)
        fin = next((m for m in got if m.status >= 200), None)
    d.responses, d.final, d.status = got, fin, fin.status if fin is not None else (got[-1].status if got else None)
    if fin is not None:
        d.to_full = fin.get('to'); d.target = uri_of(fin.get('contact')) or uri
        peer.send(peer.build('ACK', d.target if d.status < 300 else uri, d.frm, d.to_full, call_id=d.call_id, ftag=d.ftag, cseq=d.cseq, contact=False), dst)
        if d.status == 200:
            d.media = media_at(fin.body_text)
            if d.rtp and d.media[0] and d.media[1]: d.rtp.start(d.media)
    def bye(wait=1.5):
        if d.status == 200: d.cseq += 1; peer.ask('BYE', d.target, d.frm, d.to_full, wait, call_id=d.call_id, ftag=d.ftag, cseq=d.cseq, contact=False, dst=dst)
        if d.rtp: d.rtp.close()
    def again(body, timeout=5, method='INVITE', headers=()):
        d.cseq += 1
        g = peer.ask(method, d.target, d.frm, d.to_full, timeout, call_id=d.call_id, ftag=d.ftag, cseq=d.cseq, body=body, headers=headers, dst=dst)
        if method == 'INVITE' and g and g[-1].status >= 200: peer.send(peer.build('ACK', d.target, d.frm, d.to_full, call_id=d.call_id, ftag=d.ftag, cseq=d.cseq, contact=False), dst)
        return g
    d.bye, d.again = bye, again
    return d

class Carrier(Peer):
    """A registrar and a far end. `answer(m)` -> dict(status, body, headers, contact, early) ; RTP by default at its own address."""
    def __init__(s, ip, port=5060, users=None, challenge=True):
        super().__init__(ip, port); s.users, s.challenge, s.bindings, s.register_log = users or {}, challenge, {}, []
        s.on['REGISTER'], s.on['INVITE'], s.on['ACK'], s.on['PRACK'] = s.register, s.invite, lambda m, a: None, lambda m, a: s.reply(m, a, 200)
        s.rtp, s.answer, s.legs, s.register_answer = None, None, {}, None
    def register(s, m, a):
        user = user_of(uri_of(m.get('to')))
        s.register_log.append((time.time(), m, a))
        if s.register_answer:
            r = s.register_answer(m)
            if r: return s.reply(m, a, *r)
        if s.challenge and user in s.users:
            au = m.get('authorization')
            if not au: return s.reply(m, a, 401, 'Unauthorized', headers=['WWW-Authenticate: Digest realm="%s", nonce="%s", algorithm=MD5, qop="auth"' % (s.ip, word(12))])
            f = dict((k.lower(), x or y) for k, x, y in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', au)); H = lambda x: hashlib.md5(x.encode()).hexdigest()
            a1, a2 = H('%s:%s:%s' % (f['username'], f['realm'], s.users[user])), H('REGISTER:' + f['uri'])
            w = H('%s:%s:%s:%s:auth:%s' % (a1, f['nonce'], f['nc'], f['cnonce'], a2)) if 'qop' in f else H('%s:%s:%s' % (a1, f['nonce'], a2))
            if w != f['response']: return s.reply(m, a, 403, 'Forbidden')
        elif s.users and user not in s.users: return s.reply(m, a, 403, 'Forbidden')
        c = m.get('contact')
        if c and c != '*': s.bindings[user] = uri_of(c)
        s.reply(m, a, 200, 'OK', headers=['Contact: %s;expires=300' % ('<%s>' % uri_of(c) if c else ''), 'Expires: 300'] if c else [])
    def invite(s, m, a):
        key = (m.get('call-id'), m.cseq)
        if key in s.legs: return
        s.legs[key] = m
        r = (s.answer(m) if s.answer else None) or {}
        if r.get('drop'): return
        s.reply(m, a, 100, 'Trying', contact=False)
        if r.get('early'): s.reply(m, a, 183, 'Session Progress', body=r['early'], headers=r.get('headers', ()), contact=r.get('contact')); time.sleep(r.get('early_secs', 1.5))
        st = r.get('status', 200); body = r.get('body')
        if st == 200 and body is None:
            s.rtp = Rtp(s.ip); body = sdp(s.ip, s.rtp.port)
            to = media_at(m.body_text)
            if to[0] and to[1]: s.rtp.start(to)
        s.reply(m, a, st, r.get('reason', 'OK'), body=body or '', headers=r.get('headers', ()), contact=r.get('contact'))
        s.last = (m, a)
    def next(s): s.n = getattr(s, 'n', 100) + 1; return s.n
    def invite_back(s, user, uri=None, **kw):
        """Calls the contact that `user` has registered, as a carrier does."""
        return dial(s, uri or s.bindings[user], **kw)
    def again_to(s, body, secs=4):
        """A re-INVITE within the outbound call that this carrier answered last."""
        m, a = s.last; tag = 't' + hashlib.md5((m.get('call-id') + s.at).encode()).hexdigest()[:8]
        return s.ask('INVITE', uri_of(m.get('contact')), m.get('to').split(';tag=')[0], m.get('from'), secs, call_id=m.get('call-id'), ftag=tag, cseq=s.next(), body=body)
    def hang_up(s):
        m, a = s.last; tag = 't' + hashlib.md5((m.get('call-id') + s.at).encode()).hexdigest()[:8]
        return s.ask('BYE', uri_of(m.get('contact')), m.get('to').split(';tag=')[0], m.get('from'), 2, call_id=m.get('call-id'), ftag=tag, cseq=s.next(), contact=False)

class Phone:
    """A real softphone: registers and calls with the password that Parley made."""
    def __init__(s, owner, project, ip=None, tcp=False, made=None):
        s.made = made or owner.must('POST', '/softphones', {'name': 'Phone ' + word(4), 'project_id': project})
        s.user, s.password = s.made['username'], s.made['password']; s.owner = owner
        s.peer = Peer(ip or ip4(), 0 if not tcp else 0, tcp)
    def register(s, peer=None, password=None, user=None, expires=60, timeout=4, trace=None):
        return register(peer or s.peer, user or s.user, password or s.password, expires, timeout, trace)
def register(peer, user, password, expires=60, timeout=4, trace=None):
    """A REGISTER with its answer to the challenge: the final status, or None when unanswered."""
    uri = 'sip:%s:%d' % SIP; aor = '<sip:%s@%s>' % (user, SIP[0]); cid, tag = word(16), word(8)
    kw = dict(call_id=cid, ftag=tag, contact='<sip:%s@%s%s>' % (user, peer.at, ';transport=tcp' if peer.tcp else ''))
    g = peer.ask('REGISTER', uri, aor, aor, timeout, cseq=1, headers=['Expires: %d' % expires], **kw)
    if trace is not None: trace.extend(g)
    if not g: return None
    if g[-1].status not in (401, 407): return g[-1].status
    ch = g[-1].get('www-authenticate') or g[-1].get('proxy-authenticate')
    g = peer.ask('REGISTER', uri, aor, aor, timeout, cseq=2, headers=['Expires: %d' % expires, ('Authorization: ' if g[-1].status == 401 else 'Proxy-Authorization: ') + digest(ch, user, password, 'REGISTER', uri)], **kw)
    if trace is not None: trace.extend(g)
    return g[-1].status if g else None
def guess(peer, user, n, timeout=2):
    """n wrong passwords, one after the other; the statuses heard."""
    out = collections.Counter()
    for _ in range(n): out[register(peer, user, 'wrong-' + word(8), timeout=timeout)] += 1
    return dict(out)

# ---------------------------------------------------------------- services that every case may use
class World: pass
W = World(); W.shared = {}
def start_world():
    W.sniff, W.dns, W.llm = Sniffer(), Dns(), Llm()
    for ip in (ip4(), ip6()):                                  # silence proves nothing where the product could not have been heard
        n = len(W.sniff.seen); w = Web(ip, 80)
        try: out = inside(['python3', '-c', 'import socket; s=socket.create_connection((%r,80),4); s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); print(s.recv(20))' % ip], timeout=20)
        except Exception as e: out = str(e)
        if '200' not in out or len(W.sniff.seen) == n: print('# WARNING: %s of the world is not reachable from the product\'s namespace: cases that expect silence over %s prove nothing' % (ip, 'IPv6' if ':' in ip else 'IPv4'), flush=True)
        w.close()
    W.shared = {}
def once(name, make):
    if name not in W.shared: W.shared[name] = make()
    return W.shared[name]
def inside(cmd, ns=None, timeout=60, uid=None):
    """A command in the product's namespace (operator's machine)."""
    pre = ['nsenter', '--net=/run/netns/' + (ns or PNS)] + (['setpriv', '--reuid=%d' % uid, '--regid=%d' % uid, '--clear-groups'] if uid else [])
    return subprocess.run(pre + cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout).stdout.decode('utf8', 'replace')
def product_pid():
    """A process of the product (for its environment, as its operator has it)."""
    for p in subprocess.run(['ip', 'netns', 'pids', PNS], stdout=subprocess.PIPE).stdout.split():
        try:
            if b'PARLEY_HOME=' in open('/proc/%s/environ' % p.decode(), 'rb').read(): return p.decode()
        except OSError: pass
    raise Bad('no process of the product')

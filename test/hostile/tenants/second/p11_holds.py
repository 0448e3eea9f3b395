"""H, second half."""
from h import *
def private_targets():
    c = CANARY; return ['http://127.0.0.2:%d/' % c, 'http://127.000.000.001:%d/' % c, 'http://017700000001:%d/' % c, 'http://0x7F.0x00.0x00.0x01:%d/' % c, 'http://127.0.1:%d/' % c, 'http://3232235777/', 'http://0xc0a80101/', 'http://0300.0250.1.1/', 'http://192.168.257/', 'http://[0:0:0:0:0:ffff:127.0.0.1]:%d/' % c, 'http://[::127.0.0.1]:%d/' % c, 'http://[64:ff9b::a00:1]/', 'http://[2001:0:a00:1::]/', 'http://[fec0::1]/', 'http://[ff02::1]/', 'http://[fd00:ec2::254]/', 'http://[::]:%d/' % c, 'http://\uff11\uff12\uff17\uff0e\uff10\uff0e\uff10\uff0e\uff11:%d/' % c, 'http://127\u30020\u30020\u30021:%d/' % c, 'http://LOCALHOST:%d/' % c, 'http://localhost.:%d/' % c, 'http://foo.localhost:%d/' % c, 'http://ip6-localhost:%d/' % c, 'http://127.0.0.1%%2f@example.com:%d/' % c, 'http://example.com@127.0.0.1:%d/' % c, 'http://example.com#@127.0.0.1:%d/' % c, 'http://127.0.0.1:%d\\@example.com/' % c, 'http:\\\\127.0.0.1:%d\\' % c, 'http:127.0.0.1:%d/' % c, 'http:///127.0.0.1:%d/' % c, 'ftp://127.0.0.1/', 'file:///etc/passwd', 'gopher://127.0.0.1:%d/' % c, 'http://192.0.0.170/', 'http://203.0.113.1/', 'http://100.127.255.255/', 'http://10.0.0.1:80%2f/', 'http://metadata.google.internal/', 'http://%s:%d/' % (OWN_PRIVATE, c)]
def no_touch(fn):
    t0 = time.time(); out = fn(); time.sleep(1); leak, own = W.sniff.to(t0), canary(t0); return ok(not leak and not own, 'answers %s; private %s; own %s' % (dict(collections.Counter(map(str, out))), leak or 0, own or 0))
def tools(urls, **t):
    o = Owner(); p = o.project()
    def go():
        out = []
        for u in urls:
            r = o.api('PATCH', '/projects/' + p, {'tools': [{'name': 'x', 'description': 'x', 'method': 'POST', 'url': u, **t}]}); out.append(r.status)
            if r.status == 200: o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40)
        return out
    return no_touch(go)
W_ = lambda: [W.dns.zone.__setitem__(n, z) for n, z in (('foo.localhost', {'A': ['127.0.0.1']}), ('metadata.google.internal', {'A': ['169.254.169.254']}), ('ip6-localhost', {'AAAA': ['::1']}))]
@case('H.01', 'tools (POST): forty further hostile addresses, not one connection', 300)
def _(): W_(); return tools(private_targets())
@case('H.02', "models' base URLs: hostile addresses, in a call, not one connection", 180)
def _():
    W_(); o = Owner(); c = ip4(); l = o.line(c); p = Peer(c, 5060)
    def go():
        out = []
        for u in private_targets()[:24:2]:
            r = o.api('PATCH', '/projects/' + l.project, {'greeting': None, 'llm': {'provider': 'openai_compatible', 'base_url': u, 'model': 'm'}}); out.append(r.status)
            if r.status == 200: d = dial(p, 'sip:%s@%s:%d' % (l.number, *SIP)); time.sleep(2); d.bye()
        return out
    return no_touch(go)
@case('H.03', 'crawls: redirects, canonical links, sitemaps and frames of a public site to private hosts', 90)
def _():
    ts = ['http://10.0.0.%d/' % i for i in range(1, 6)] + ['http://127.0.0.1:%d/z' % CANARY]; w = Web(ip4(), 80)
    def h_(q):
        if 'robots' in q.path: return 200, {'Content-Type': 'text/plain'}, 'Sitemap: http://10.0.0.9/s.xml\nSitemap: http://%s/s.xml\n' % w.ip
        if q.path == '/s.xml': return 200, {'Content-Type': 'application/xml'}, '<urlset>%s</urlset>' % ''.join('<url><loc>%s</loc></url>' % t for t in ts)
        if q.path == '/r': return 301, {'Location': ts[0]}, b''
        return 200, {'Content-Type': 'text/html'}, '<html><head><base href="http://10.0.0.7/"><link rel=canonical href="%s"></head><body>Text of the page. %s<iframe src="%s"></iframe><a href="http://%s/r">r</a></body></html>' % (ts[1], ''.join('<a href="%s">l</a>' % t for t in ts), ts[2], w.ip)
    w.handle = h_; o = Owner(); p = o.project(); r = no_touch(lambda: [o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/' % w.ip, 'crawl': True}).status, time.sleep(12)][:1]); w.close(); return r
@case('H.04', 'rebinding on every other answer, with mixed answers of ten addresses, for webhooks and tools', 120)
def _():
    n = word(); k = [0]; pub = '5.5.83.1'; w = Web(pub, CANARY)
    def a(): k[0] += 1; return [[pub], ['10.0.0.1'], ['127.0.0.1'], [pub, '127.0.0.1'], ['127.0.0.1', pub]][k[0] % 5]
    W.dns.zone['m.%s.example.net' % n] = {'A': a}; o = Owner(); p = o.project(tools=[{'name': 'x', 'description': 'x', 'method': 'GET', 'url': 'http://m.%s.example.net:%d/' % (n, CANARY)}])
    def go():
        out = [o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40).status for _ in range(8)]; r = o.api('POST', '/webhooks', {'url': 'http://m.%s.example.net:%d/' % (n, CANARY), 'events': ['call.completed']})
        if r.status == 201: [o.api('POST', '/webhooks/%s/test' % r.json['id'], {}) for _ in range(5)]; time.sleep(2)
        return out + [r.status]
    x = no_touch(go); w.close(); return x
@case('H.05', 'redirect chains (301, 307, 308, relative, protocol-relative, refresh) that end inside', 60)
def _():
    w = Web(ip4(), 80); loc = {'/1': '/2', '/2': '//127.0.0.1:%d/' % CANARY, '/3': 'http://[::1]:%d/' % CANARY, '/4': 'http://2130706433:%d/' % CANARY, '/5': 'http:127.0.0.1:%d' % CANARY}; w.handle = lambda q: ({'/1': 301, '/2': 307, '/3': 308, '/4': 303, '/5': 302}.get(q.path, 200), {'Location': loc.get(q.path, '/'), 'Refresh': '0; url=http://10.0.0.1/'}, b''); r = tools(['http://%s/%d' % (w.ip, i) for i in range(1, 6)]); w.close(); return r
@case('H.06', 'scanners over TCP, with SIP torture, HTTP, TLS hello, and slow bytes are not answered', 90)
def _():
    heard = 0
    for d in (b'OPTIONS sip:100@%s SIP/2.0\r\nVia: SIP/2.0/TCP 1.2.3.4;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:a@b>\r\nCall-ID: q\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n' % SIP[0].encode(), b'GET / HTTP/1.0\r\n\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + os.urandom(60), b'INVITE sip:agent@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bK2\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:agent@b>\r\nCall-ID: r\r\nCSeq: 1 INVITE\r\nContact: <sip:x@y>\r\nContent-Length: 0\r\n\r\n', b'\r\n\r\n\r\n\r\n', b'REGISTER sip:x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bK3\r\nFrom: <sip:1000@b>;tag=1\r\nTo: <sip:1000@b>\r\nCall-ID: s\r\nCSeq: 1 REGISTER\r\nContent-Length: 0\r\n\r\n'):
        s = socket.socket(); s.bind((ip4(), 0)); s.settimeout(1.5)
        try: s.connect(SIP); s.sendall(d); x = s.recv(2000); heard += bool(x.strip())
        except OSError: pass
        s.close()
    return ok(heard == 0, '%d answers' % heard)
@case('H.07', 'strangers over UDP from two hundred addresses with numbers of real owners in the request hear nothing', 90)
def _():
    o = Owner(); l = o.line(ip4()); ps = []
    for i in range(200): p = Peer(ip4(), 0); ps.append(p); p.send(p.build('INVITE', 'sip:%s@%s:%d' % (l.number, *SIP), '<sip:%s@%s>' % (l.number, SIP[0]), '<sip:%s@%s>' % (l.number, SIP[0]), ftag='a', body=sdp(p.ip, 4000))); time.sleep(.006)
    time.sleep(2); h_ = sum(len(p.log) for p in ps); [p.close() for p in ps]; return ok(h_ == 0 and not o.calls(), '%d heard' % h_)
@case('H.08', "B changes nothing of A's: PATCH, POST and MCP with A's ids", 120)
def _():
    a, b = Owner('a'), Owner('b'); l = a.line(ip4()); ph = a.must('POST', '/softphones', {'name': 'x', 'project_id': l.project}); wh = a.must('POST', '/webhooks', {'url': 'http://5.5.72.9/', 'events': ['call.completed']}); pb = b.project(); out = {u: b.api(m, u, x).status for m, u, x in (('PATCH', '/projects/' + l.project, {'name': 'x'}), ('PATCH', '/trunks/' + l.trunk, {'name': 'x'}), ('POST', '/trunks/%s/check' % l.trunk, {}), ('PATCH', '/softphones/' + ph['id'], {'name': 'x'}), ('POST', '/softphones/%s/password' % ph['id'], {}), ('PATCH', '/webhooks/' + wh['id'], {'enabled': False}), ('POST', '/webhooks/%s/rotate' % wh['id'], {}), ('POST', '/projects/%s/knowledge/search' % l.project, {'query': 'x'}), ('POST', '/calls', {'project_id': l.project, 'phone': number()}), ('POST', '/softphones', {'name': 'x', 'project_id': l.project}), ('POST', '/campaigns', {'name': 'c', 'project_id': l.project, 'task': 't', 'params': {'timezone': 'UTC'}}), ('POST', '/realtime/session', {'project_id': l.project}))}
    m = [http_('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': n, 'arguments': x}}, {'Authorization': 'Bearer ' + b.keys[0], 'Accept': 'application/json, text/event-stream'}, b.src).text.replace(' ', '') for n, x in (('get_project', {'project_id': l.project}), ('place_call', {'project_id': l.project, 'phone': number()}))]; return ok(all(v == 404 for v in out.values()) and all('"isError":true' in x or '"error"' in x for x in m), out)
@case('H.09', 'trunk fields beside host: hosts, outbound_proxy, from_domain, fallback lead to no private address', 90)
def _():
    o = Owner(); t0 = time.time(); n = word(); W.dns.zone['p.%s.example.net' % n] = {'A': ['10.0.0.1']}; out = []
    for x in ({'hosts': [{'host': '10.0.0.1', 'port': 5060, 'transport': 'udp'}]}, {'hosts': [{'host': 'p.%s.example.net' % n}]}, {'outbound_proxy': '10.0.0.1:5060'}, {'outbound_proxy': 'sip:127.0.0.1:18095;lr'}, {'outbound_proxy': 'p.%s.example.net' % n}, {'from_domain': '10.0.0.1'}, {'realm': '10.0.0.1'}): r = o.trunk('dead-%s.example.net' % word(), [], 'register', False, username='u', password='p', options_interval_seconds=10, **x); out.append(r.status); r.status == 201 and o.api('POST', '/trunks/%s/check' % r.json['id'], timeout=40)
    time.sleep(3); leak, own = W.sniff.to(t0), canary(t0); return ok(not leak and not own, '%s; packets %s %s' % (out, leak or 0, own or 0))
@case('H.10', 'no money is lost: calls whose carrier vanishes, answers twice, sends BYE at once, or is killed mid-call', 90)
def _():
    o = Owner(); c = Carrier(ip4(), 5060); l = o.line(c.ip); i = [0]
    def a(m):
        i[0] += 1
        if i[0] % 3 == 0: threading.Timer(.15, c.hang_up).start()
        return {'drop': True} if i[0] % 4 == 1 else {}
    c.answer = a; ids = [o.place(l.project, number()).json.get('id') for _ in range(12)]; time.sleep(6)
    for x in ids: x and o.api('POST', '/calls/%s/hangup' % x)
    for x in ids: x and o.wait_call(x, secs=15)
    time.sleep(2); b = o.must('GET', '/balance'); cost = sum(float((o.must('GET', '/calls/' + x).get('cost') or {}).get('amount') or 0) for x in ids if x); c.close(); bal, held = float(b['balance']['amount']), float(b['held']['amount']); return ok(abs(5000 - cost - bal) < .001 and held == 0, 'balance %.4f cost %.4f held %.4f' % (bal, cost, held))

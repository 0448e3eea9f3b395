"""5, second half: other documents, other orders."""
from h import *
import docs
def unload(l):
    for o, p in l:
        try: o.api('DELETE', '/projects/%s' % p)
        except Exception: pass
def load(n, make):
    os_ = owners(n, 'hv'); ps = [o.project() for o in os_]
    ts = [threading.Thread(target=lambda o=o, p=p: make(o, p)) for o, p in zip(os_, ps)]
    for i in range(0, n, 5): [t.start() for t in ts[i:i + 5]]; [t.join() for t in ts[i:i + 5]]
    return list(zip(os_, ps))
def first_text(n, secs):
    out = []
    for i in range(n):
        o = Owner('fresh'); p = o.project(); r = o.api('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 'hours', 'content': 'Open from nine to five. %d' % random.randint(0, 1 << 40)}); need(r.status == 201, repr(r)); t, st = o.ready(p, r.json['id'], secs); out.append(round(t, 1) if t is not None and st == 'ready' else '>%d (%s)' % (secs, st))
        if t is None: break
    return out
def p95(v): v = sorted(1e9 if isinstance(x, str) else x for x in v); return v[min(len(v) - 1, int(len(v) * .95))]
def under(n, make, k, secs=20, settle=2):
    l = load(n, make); time.sleep(settle); out = first_text(k, secs); unload(l); return ok(p95(out) <= 10 and len(out) == k, out)
def paragraphs(n): return docs.docx(docs.DOC % ('<w:p><w:r><w:t>a b c</w:t></w:r></w:p>' * n))
def nested(n): return docs.docx(docs.DOC % ('<w:tbl><w:tr><w:tc>' * n + '<w:p><w:r><w:t>x%d</w:t></w:r></w:p>' % random.randint(0, 1 << 30) + '</w:tc></w:tr></w:tbl>' * n))
def page_ops(n):
    t = b'BT /F1 1 Tf ' + b'(a) Tj 1 0 0 1 0 0 Tm ' * n + b' ET'; z = docs.zlib.compress(t, 9)
    return docs.pdf([b'<< /Type /Catalog /Pages 2 0 R >>', b'<< /Type /Pages /Count 40 /Kids [' + b'3 0 R ' * 40 + b'] >>', b'<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>', docs.stream(z, b'/Filter /FlateDecode '), b'<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>', b'(%d)' % random.randint(0, 1 << 50)])
def tree(depth, fan):
    """A page tree whose nodes all have the same children: fan^depth pages from a few objects."""
    o = [b'<< /Type /Catalog /Pages 2 0 R >>']
    for i in range(depth): o.append(b'<< /Type /Pages /Count %d /Kids [%s] %s >>' % (fan ** (depth - i), b'%d 0 R ' % (i + 3) * fan, b'' if i == 0 else b'/Parent %d 0 R' % (i + 1)))
    return docs.pdf(o + [b'<< /Type /Page /Parent %d 0 R /MediaBox [0 0 9 9] /Contents %d 0 R >>' % (depth + 1, depth + 3), docs.stream(b'BT (x%d) Tj ET' % random.randint(0, 1 << 50))])
def html(n): return ('<html><body>' + '<div class="sidebar"><p>%d ' % random.randint(0, 1 << 40) + '<b><i><u>' * n + 'x' + '</u></i></b>' * n + '</body></html>').encode()
def spans(): return ('<html><body>' + '<p><a href="#">%d</a><span>word, word</span></p>' * 60000 % tuple(range(60000)) + '</body></html>').encode()[:5 << 20]
def wide_csv(): return ('a,' * 20000 + 'z\n' + ('1,' * 20000 + '%d\n' % random.randint(0, 1 << 40)) * 50).encode()[:5 * 1000 * 1000]
def deep_json(): return (b'[' * 20000 + b'%d' % random.randint(0, 1 << 40) + b']' * 20000)
def flat_json(): return json.dumps([{'k%d' % j: random.randint(0, 99) for j in range(8)} for i in range(40000)]).encode()[:4900000]
def drain(secs=220):
    """Waits until what earlier cases left (a parser that still runs for a deleted source) is gone, so that a control stands alone."""
    t = time.time()
    while time.time() - t < secs:
        o = Owner('drain'); p = o.project(); r = o.upload(p, b'a,b\n%d,1\n' % random.randint(0, 1 << 40), 'd.csv'); s = o.ready(p, r.json['id'], 15); o.api('DELETE', '/projects/' + p)
        if s[0] is not None and s[0] < 5: return
@case('5.01', 'DOCX files of 300,000 paragraphs from three owners; a fourth is ready within 10 s', 240)
def _(): return under(3, lambda o, p: [o.upload(p, paragraphs(300000 + i), 'd%d.docx' % i) for i in range(2)], 3)
@case('5.02', 'PDFs of 40 pages with 100,000 text operators each (small when packed) from four owners', 240)
def _(): return under(4, lambda o, p: [o.upload(p, page_ops(100000), 'd%d.pdf' % i) for i in range(2)], 3)
@case('5.03', 'page trees of 8^6 pages from a dozen objects, six owners', 240)
def _(): return under(6, lambda o, p: [o.upload(p, tree(6, 8), 'd%d.pdf' % i) for i in range(2)], 3)
@case('5.04', 'a mixture at the limits (HTML of 60,000 links, deep HTML, wide CSV, flat and deep JSON, nested tables) from twenty owners, p95 of twelve', 420)
def _():
    mk = [lambda: (spans(), 'a.html'), lambda: (html(30000), 'b.html'), lambda: (wide_csv(), 'c.csv'), lambda: (flat_json(), 'd.json'), lambda: (deep_json(), 'e.json'), lambda: (nested(3000), 'f.docx'), lambda: (docs.page_bomb(250000), 'g.pdf')]
    return under(20, lambda o, p: [o.upload(p, *random.choice(mk)()) for _ in range(2)], 12, 25)
@case('5.05', 'sites of endless links and redirects from eight owners', 240)
def _():
    def site(q):
        if 'robots' in q.path: time.sleep(4); return 404, {}, b''
        time.sleep(random.choice([0, 1, 6])); 
        if random.random() < .3: return 302, {'Location': '/r%d' % random.randint(0, 1 << 30)}, b''
        return 200, {'Content-Type': 'text/html'}, '<html><body>%s %s</body></html>' % (docs.prose(3000), ''.join('<a href="/%d">x</a>' % random.randint(0, 1 << 30) for _ in range(200)))
    def crawl(o, p):
        for _ in range(3): w = Web(ip4(), 80, site); o.must('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/' % w.ip, 'crawl': True, 'max_pages': 50})
    return under(8, crawl, 3, settle=4)
@case('5.06', "deleting and adding again, and re-adding what failed, buys a greedy owner no further turns", 240)
def _():
    stop = [0]; l = load(2, lambda o, p: o.upload(p, docs.page_bomb(), 'x.pdf'))
    def churn(o, p):
        while not stop[0]:
            r = o.upload(p, docs.page_bomb(120000), 'y.pdf'); time.sleep(1)
            if r.status == 201 and random.random() < .5: o.api('DELETE', '/projects/%s/knowledge/%s' % (p, r.json['id']))
    ts = [threading.Thread(target=churn, args=x) for x in l]; [t.start() for t in ts]; time.sleep(4); out = first_text(3, 20); stop[0] = 1; [t.join() for t in ts]; unload(l); return ok(p95(out) <= 10 and len(out) == 3, out)
@case('5.07', 'an owner with five projects and twenty sources in each is one owner: two others with one small source each come first', 240)
def _():
    o = Owner('many'); ps = [o.project() for _ in range(5)]
    for p in ps:
        for i in range(20): o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 't%d' % i, 'content': docs.prose(15000)})
    out = first_text(3, 25); unload([(o, p) for p in ps]); return ok(p95(out) <= 10 and len(out) == 3, out)
@case('5.08', "an erasure, an export of results and a campaign upload of others are not held up (2 s) by bombs", 240)
def _():
    l = load(4, lambda o, p: [o.upload(p, tree(6, 8), 'd.pdf'), o.upload(p, paragraphs(250000), 'd.docx')]); o = Owner(); p = o.project(); time.sleep(1); ms = []
    for i in range(6):
        c = o.api('POST', '/campaigns', {'name': 'c', 'project_id': p, 'task': 't', 'params': {'timezone': 'UTC'}}); ms.append(c.ms); u = o.api('POST', '/campaigns/%s/contacts' % c.json['id'], [{'phone': number()} for _ in range(500)]); ms.append(u.ms); e = o.api('GET', '/campaigns/%s/results.csv' % c.json['id']); ms.append(e.ms); x = o.api('POST', '/erasure', {'phone': number()}); ms.append(x.ms)
    unload(l); v = sorted(ms); return ok(v[int(len(v) * .95)] <= 2000 and u.status == e.status == x.status == 200, 'p95 %d ms, %r %r %r' % (v[int(len(v) * .95)], u, e, x))
@case('5.50', 'control: two honest big books (700 KB each) of different owners finish within 240 s and neither waits for all of the other', 520)
def _():
    drain(); a, b = Owner(), Owner(); x = [(o, o.project()) for o in (a, b)]; i = [o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 'b', 'content': docs.prose(100000)}, timeout=60)['id'] for o, p in x]; t0 = time.time(); out = []
    for (o, p), k in zip(x, i): t, s = o.ready(p, k, 240 - (time.time() - t0)); out.append((s, t is not None and round(time.time() - t0)))
    return ok(all(s == 'ready' for s, _ in out), out)
@case('5.51', 'control: search of an honest project answers within 2 s while documents of others are parsed', 480)
def _():
    drain(); o = Owner(); p = o.project(); k = o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 'h', 'content': 'Dogs are welcome and cost ten euros.'})['id']; t, s = o.ready(p, k, 60); need(s == 'ready', 'own source %s' % s); l = load(4, lambda o, p: [o.upload(p, docs.page_bomb(), 'd.pdf'), o.upload(p, spans(), 'd.html')]); time.sleep(1); r = [o.api('POST', '/projects/%s/knowledge/search' % p, {'query': 'dog'}) for _ in range(10)]; unload(l); v = sorted(x.ms for x in r); return ok(all(x.status == 200 and 'Dogs' in x.text for x in r) and v[8] <= 2000, '%s ms' % v)

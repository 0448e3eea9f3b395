"""5. Heavy work is fair."""
from h import *
import docs
SMALL = b'item,price\nsoup,4\nbread,2\n'

def load(name, n, make):
    """n owners, each with what make(owner, project) uploads; kept until the point is over."""
    def go():
        os_ = owners(n, 'heavy'); ps = [o.project() for o in os_]
        for o, p in zip(os_, ps): make(o, p)
        return list(zip(os_, ps))
    return go()
def unload(l):
    for o, p in l:
        try: o.api('DELETE', '/projects/%s' % p)
        except Exception: pass
def fresh(n, secs, data=SMALL, name='small.csv'):
    """n new owners one after the other, each with a first small source: seconds until ready."""
    out = []
    for i in range(n):
        o = Owner('fresh'); p = o.project(); r = o.upload(p, data + b'%d,1\n' % random.randint(0, 1 << 40), name); need(r.status == 201, 'upload: %r' % r)
        t, st = o.ready(p, r.json['id'], secs); out.append(round(t, 1) if t is not None and st == 'ready' else '>%d (%s)' % (secs, st))
        if t is None: break                                               # the p95 is lost
    return out
def p95(out): v = sorted(1e9 if isinstance(x, str) else x for x in out); return v[min(len(v) - 1, int(len(v) * 0.95))]

def drain(secs=220):
    """Waits until what earlier cases left (a parser that still runs for a deleted source) is gone, so that a control stands alone."""
    t = time.time()
    while time.time() - t < secs:
        o = Owner('drain'); p = o.project(); r = o.upload(p, b'a,b\n%d,1\n' % random.randint(0, 1 << 40), 'd.csv'); s = o.ready(p, r.json['id'], 15); o.api('DELETE', '/projects/' + p)
        if s[0] is not None and s[0] < 5: return
@case('5.01', "two sign-ups with three 200,000-page PDFs each: a third owner's 30-byte file is ready within 10 s", 240)
def _():
    l = load('two', 2, lambda o, p: [o.upload(p, docs.page_bomb(), 'b%d.pdf' % i) for i in range(3)]); time.sleep(2); out = fresh(3, 20); unload(l); return ok(p95(out) <= 10 and len(out) == 3, out)
@case('5.02', 'twenty owners with page bombs: the first small source of new owners is ready within 10 s (p95)', 420)
def _():
    l = load('twenty', 20, lambda o, p: [o.upload(p, docs.page_bomb(150000), 'b%d.pdf' % i) for i in range(2)]); time.sleep(2); out = fresh(12, 25); unload(l); return ok(p95(out) <= 10 and len(out) == 12, out)
def tarpit():
    """A site of 50 pages, each of which comes in 9 s, a byte at a time."""
    def drip(q):
        if q.path == '/robots.txt': return 404, {}, b'no'
        def body():
            page = ('<html><body><h1>Page %s</h1><p>%s</p>%s</body></html>' % (q.path, docs.prose(60), ''.join('<a href="/p%d">n</a>' % i for i in range(50)))).encode()
            for i in range(9): yield page[i * len(page) // 9:(i + 1) * len(page) // 9]; time.sleep(1)
        return 200, {'Content-Type': 'text/html'}, body()
    return drip
@case('5.03', 'six owners crawl sites that drip a byte a second: a new owner is not behind them', 240)
def _():
    def crawl(o, p): w = Web(ip4(), 80, tarpit()); o.must('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/' % w.ip, 'crawl': True, 'max_pages': 50})
    l = load('crawl', 6, crawl); time.sleep(3); out = fresh(3, 20); unload(l); return ok(p95(out) <= 10 and len(out) == 3, out)
@case('5.04', "eight owners with 1 MB texts of many passages (embedding work): a new owner's source is ready within 10 s", 240)
def _():
    l = load('embed', 8, lambda o, p: o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 'big', 'content': docs.prose(140000)}, timeout=60)); time.sleep(2); out = fresh(4, 25); unload(l); return ok(p95(out) <= 10 and len(out) == 4, out)
@case('5.05', "a greedy owner's fifty small sources do not stand before a new owner's first", 240)
def _():
    l = load('many', 3, lambda o, p: [o.upload(p, ('a,b\n' + '\n'.join(docs.prose(3) for _ in range(3000))).encode(), 'c%d.csv' % i) for i in range(25)]); out = fresh(4, 25); unload(l); return ok(p95(out) <= 10 and len(out) == 4, out)
def places(): return [('Company %d' % i, '+1415%07d' % random.randint(2000000, 9999999)) for i in range(40)]
@case('5.06', 'lead searches whose sites drip for ever do not keep a new owner from his first lead within 15 s', 240)
def _():
    def search(o, sites, n):
        rows = 'company,phone,website,city,category\n' + '\n'.join('Clinic %d,+1510%07d,%s,Oakland,dental clinic' % (i, random.randint(2000000, 9999999), s) for i, s in enumerate(sites))
        b, hd = multipart('file', rows.encode(), 'text/csv', 'd.csv'); d = o.api('POST', '/lead-search/directories', b, hd); need(d.status == 201, 'directory %r %s' % (d, d.text[:200]))
        br = {'niche': 'dental clinic', 'geo': 'Oakland', 'signals': [], 'exclusions': [], 'target_leads': n, 'queries': []}
        r = o.api('POST', '/lead-search', {'brief_raw': '%d dental clinics in Oakland' % n, 'brief_parsed': br, 'accept_terms': True}); need(r.status == 201, 'search %r %s' % (r, r.text[:300])); return r.json['id']
    hv = owners(6, 'leads'); w = Web('5.5.73.1', 80, tarpit())
    for i in range(60): W.dns.zone['c%d.tarpit.example.net' % i] = {'A': ['5.5.73.1']}
    for o in hv: search(o, ['http://c%d.tarpit.example.net/' % i for i in range(60)], 60)
    time.sleep(3); o = Owner('new'); f = Web('5.5.74.1', 80, lambda q: (200, {'Content-Type': 'text/html'}, '<html><body>Dental clinic Oakland, call +1 510 555 2671</body></html>')); t = time.time(); j = search(o, ['http://5.5.74.1/'], 1)
    while time.time() - t < 40:
        x = o.must('GET', '/lead-search/' + j)
        if x['status'] in ('completed', 'failed'): break
        time.sleep(.5)
    s = time.time() - t
    for h_ in hv:
        for q in h_.must('GET', '/lead-search')['items']: h_.api('POST', '/lead-search/%s/cancel' % q['id'])
    w.close(); f.close(); return ok(x['status'] == 'completed' and s <= 15, '%s after %.1f s' % (x['status'], s))
@case('5.07', 'while bombs are parsed, the API of others answers within 1 s (p95) and an incoming call within 2 s', 240)
def _():
    o = Owner('bystander'); c = ip4(); ln = o.line(c); l = load('bg', 6, lambda o, p: [o.upload(p, docs.page_bomb(200000), 'b%d.pdf' % i) for i in range(2)]); time.sleep(1); ms = []
    for _ in range(40): ms.append(o.api('GET', '/calls?limit=1').ms); time.sleep(.1)
    p, st = Peer(c, 5060), []
    for _ in range(3): t = time.time(); d = dial(p, 'sip:%s@%s:%d' % (ln.number, *SIP)); st.append((d.status, round(time.time() - t, 2))); d.bye()
    unload(l); v = sorted(ms)[37]; return ok(v <= 1000 and all(s == 200 and t < 2.5 for s, t in st), 'API p95 %d ms; calls %s' % (v, st))
@case('5.50', "control: an honest tenant's ordinary documents (text, PDF, CSV, page) all become ready while bombs are parsed", 300)
def _():
    l = load('bg', 4, lambda o, p: [o.upload(p, docs.page_bomb(200000), 'b%d.pdf' % i) for i in range(2)]); o = Owner('honest'); p = o.project(); w = Web(ip4(), 80, lambda q: (200, {'Content-Type': 'text/html'}, '<html><body><h1>Menu</h1><p>' + docs.prose(300) + '</p></body></html>') if q.path != '/robots.txt' else (404, {}, b''))
    ids = [o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 't', 'content': docs.prose(3000)})['id'], o.upload(p, docs.honest_pdf([docs.prose(10) for _ in range(45)]), 'a.pdf').json['id'], o.upload(p, SMALL, 'a.csv').json['id'], o.must('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/' % w.ip})['id']]
    out = [o.ready(p, i, 60) for i in ids]; unload(l); return ok(all(s == 'ready' for _, s in out), [('%.1f' % t if t is not None else None, s) for t, s in out])
@case('5.51', 'control: a big honest document (900 KB of prose) is still finished, in its turn, within 180 s', 480)
def _():
    drain(); o = Owner(); p = o.project(); i = o.must('POST', '/projects/%s/knowledge' % p, {'type': 'text', 'title': 'book', 'content': docs.prose(130000)}, timeout=60)['id']; t, s = o.ready(p, i, 180); return ok(s == 'ready', '%s after %s s' % (s, t and round(t)))
@case('5.52', 'control: a page bomb itself ends (ready or error with a documented code) and blocks its owner for 200 s at most', 480)
def _():
    drain(); o = Owner(); p = o.project(); i = o.upload(p, docs.page_bomb(200000), 'b.pdf').json['id']; t, s = o.ready(p, i, 200); x = o.source(p, i); o.api('DELETE', '/projects/' + p); return ok(t is not None, '%s after %s s %s' % (s, t and round(t), x.get('error')))

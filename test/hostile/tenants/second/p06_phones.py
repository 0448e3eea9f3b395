"""6, second half."""
from h import *
def home(): return once('phones2', lambda: (lambda o: (o, o.project()))(Owner('phones')))
def ph(): return Phone(*home())
def new(v, **k): p = Peer(ip4(), 0); s = v.register(p, **k); p.close(); return s
@case('6.01', 'twenty neighbours of one /24 guess three times each; the telephone comes from elsewhere', 120)
def _():
    v = ph(); net = ip4().rsplit('.', 1)[0]; n = collections.Counter()
    for i in range(20):
        p = Peer('%s.%d' % (net, i + 1), 5060); n.update(guess(p, v.user, 3, .7)); p.close()
    s = [new(v), new(v)]; return ok(s == [200, 200], '%s; %s' % (dict(n), s))
@case('6.02', 'guesses with the right user name and a broken digest: stale nonce, foreign realm, empty response, other URI', 120)
def _():
    v = ph(); p = Peer(ip4(), 5060); aor = '<sip:%s@%s>' % (v.user, SIP[0]); st = []
    for i in range(16):
        for a in ('Digest username="%s", realm="x", nonce="00", uri="sip:%s", response="%s"' % (v.user, SIP[0], 'a' * 32), 'Digest username="%s"' % v.user)[i % 2:][:1]:
            g = p.ask('REGISTER', 'sip:%s:%d' % SIP, aor, aor, 1, headers=['Expires: 60', 'Authorization: ' + a]); st.append(g[-1].status if g else None)
    s = [new(v) for _ in range(2)]; return ok(s == [200, 200], '%s; %s' % (collections.Counter(st), s))
@case('6.03', 'guesses in bursts with pauses over 40 s, ten a burst: never locked for a new network in between', 150)
def _():
    v = ph(); p = [Peer(ip4(), 5060) for _ in range(4)]; s = []
    for q in p: guess(q, v.user, 10, .7); s.append(new(v)); time.sleep(5)
    return ok(s == [200] * 4, s)
@case('6.04', 'the phone calls (INVITE with digest) from a new network while its name is being guessed by REGISTER, INVITE, SUBSCRIBE', 90)
def _():
    v = ph(); g = Peer(ip4(), 5060); guess(g, v.user, 6, .7)
    for _ in range(6): dial(g, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (v.user, SIP[0]), auth=(v.user, 'no'), timeout=1)
    q = Peer(ip4(), 0); d = dial(q, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (v.user, SIP[0]), auth=(v.user, v.password)); d.bye(); return ok(d.status == 200, 'INVITE %s' % d.status)
@case('6.05', 'a softphone that moved networks five times in a minute (a mobile) while one place guesses all the time', 120)
def _():
    v = ph(); g = Peer(ip4(), 5060); stop, n = [0], [0]
    def run():
        while not stop[0]: register(g, v.user, word(6), timeout=.5); n[0] += 1; time.sleep(.05)
    t = threading.Thread(target=run); t.start(); s = []
    for _ in range(5): time.sleep(4); s.append(new(v))
    stop[0] = 1; t.join(); return ok(s == [200] * 5, '%d guesses; %s' % (n[0], s))
@case('6.06', 'the telephone on TCP from a new network after guesses over UDP and TCP', 90)
def _():
    v = ph(); guess(Peer(ip4(), 5060), v.user, 10, .7); g = Peer(ip4(), tcp=True); guess(g, v.user, 10, 1.5); q = Peer(ip4(), tcp=True); s = v.register(q); return ok(s == 200, s)
@case('6.07', 'the owner makes a new password under attack: the new one works at once from anywhere', 90)
def _():
    o, p = home(); v = ph(); guess(Peer(ip4(), 5060), v.user, 14, .7); n = o.must('POST', '/softphones/%s/password' % v.made['id'], {})['password']; time.sleep(2.2); q = Peer(ip4(), 0); s = v.register(q, n); return ok(s == 200, s)
@case('6.08', 'guesses on fifty names of one account from one place lock none of three real ones', 120)
def _():
    vs = [ph() for _ in range(3)]; g = Peer(ip4(), 5060); c = collections.Counter()
    for i in range(50): c[register(g, 'phone-' + ''.join(random.choice('abcdefghjkmnpqrstvwxyz23456789') for _ in range(8)) if i % 4 else vs[i % 3].user, 'x', timeout=.6)] += 1
    s = [new(v) for v in vs]; return ok(s == [200] * 3, '%s; %s' % (dict(c), s))
@case('6.09', 'a telephone in the network of the guesser (an office) that was registered before stays registered and refreshes', 90)
def _():
    v = ph(); net = ip4().rsplit('.', 1)[0]; p = Peer(net + '.10', 0); a = v.register(p); g = Peer(net + '.20', 5060); guess(g, v.user, 8, .7); b = v.register(p); return ok(a == b == 200, '%s %s' % (a, b))
@case('6.10', 'what still protects: no more than 60 wrong passwords for one name are judged in 10 s, however many places guess', 90)
def _():
    v = ph(); heard = collections.Counter(); t0 = time.time()
    def one():
        while time.time() - t0 < 10: p = Peer(ip4(), 0); heard[register(p, v.user, word(8), timeout=1.5)] += 1; p.close()
    ts = [threading.Thread(target=one) for _ in range(8)]; [t.start() for t in ts]; [t.join() for t in ts]; s = new(v); return ok(heard[401] + heard[403] <= 60 and s == 200, '%s; telephone %s' % (dict(heard), s))
@case('6.50', 'control: SHA-256 digest registers, and MD5 too')
def _():
    v = ph(); tr = []; s = new(v, trace=tr); algs = [re.search(r'algorithm=([\w-]+)', c).group(1) for c in (tr[0].all('www-authenticate') if tr else []) if 'algorithm' in c]; return ok(s == 200 and algs, '%s offered %s' % (s, algs))
@case('6.51', 'control: five mistyped passwords at home, then right, at home')
def _(): v = ph(); p = Peer(ip4(), 0); a = guess(p, v.user, 5); b = v.register(p); return ok(b == 200, '%s %s' % (a, b))
@case('6.52', 'control: the right password of a deleted softphone is nothing')
def _(): o, p = home(); v = ph(); a = new(v); o.must('DELETE', '/softphones/' + v.made['id']); time.sleep(2.4); b = new(v); return ok(a == 200 and b != 200, '%s %s' % (a, b))

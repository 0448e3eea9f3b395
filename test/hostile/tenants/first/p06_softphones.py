"""6. Softphone names cannot be locked by guessing."""
from h import *
def home():
    def make(): o = Owner('phones'); return o, o.project()
    return once('phones', make)
def fresh_phone(): return Phone(*home())
def new_net(v): p = Peer(ip4(), 0); s = v.register(p); p.close(); return s

@case('6.01', 'twelve wrong passwords from one place; the real telephone registers from a new network at once')
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); n = guess(g, v.user, 12); s = new_net(v); return ok(s == 200, 'guesser heard %s; the telephone %s' % (n, s))
@case('6.02', 'nineteen wrong passwords (just below the ban) from one place, then three new networks in turn')
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); n = guess(g, v.user, 19); s = [new_net(v) for _ in range(3)]; return ok(s == [200] * 3, 'guesser %s; telephone %s' % (n, s))
@case('6.03', 'sixty wrong passwords from one place, past its ban', 120)
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); n = guess(g, v.user, 60, 0.6); s = new_net(v); return ok(s == 200, 'guesser %s; telephone %s' % (n, s))
@case('6.04', 'the guesser keeps guessing while the telephone registers and refreshes', 90)
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); stop, n = [0], [0]
    def run():
        while not stop[0]: register(g, v.user, 'no', timeout=.6); n[0] += 1
    t = threading.Thread(target=run); t.start(); time.sleep(3); s = [new_net(v)]
    for _ in range(4): time.sleep(1); s.append(v.register())
    stop[0] = 1; t.join(); return ok(s == [200] * 5, '%d guesses; telephone %s' % (n[0], s))
@case('6.05', 'three places guess ten each', 120)
def _():
    v = fresh_phone(); n = [guess(Peer(ip4(), 5060), v.user, 10, 1) for _ in range(3)]; s = new_net(v); return ok(s == 200, '%s; telephone %s' % (n, s))
@case('6.06', 'guesses over TCP from one place', 90)
def _():
    v = fresh_phone(); g = Peer(ip4(), tcp=True); n = guess(g, v.user, 12); s = new_net(v); return ok(s == 200, '%s; telephone %s' % (n, s))
@case('6.07', 'wrong digests in INVITE (a call, not a registration) lock nothing either', 90)
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); st = [dial(g, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (v.user, SIP[0]), auth=(v.user, 'wrong'), timeout=2).status for _ in range(12)]
    s = new_net(v); q = Peer(ip4(), 0); d = dial(q, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (v.user, SIP[0]), auth=(v.user, v.password)); d.bye(); return ok(s == 200 and d.status == 200, 'guesses %s; REGISTER %s, call %s' % (st, s, d.status))
@case('6.08', "the guesser's own new password of another account does not make him the telephone's neighbour: guesses after an honest registration", 90)
def _():
    b = Owner('b'); own = Phone(b, b.project(), ip4()); v = fresh_phone(); need(own.register() == 200, 'own phone'); n = guess(own.peer, v.user, 15); s = new_net(v); return ok(s == 200, 'after his own 200 he heard %s; telephone %s' % (n, s))
@case('6.09', 'what protected before still does: the guessing network is banned for everything after at most 40 wrong passwords', 120)
def _():
    v = fresh_phone(); g = Peer(ip4(), 5060); n = guess(g, v.user, 40, .8); last = guess(g, v.user, 4, .8); return ok(not any(k in (401, 200) for k in last) and n.get(200, 0) == 0, '40: %s, then %s' % (n, last))
@case('6.10', 'guessing is still slow for the world: 200 guesses from 40 places in one go do not all hear whether they are right', 150)
def _():
    v = fresh_phone(); heard = collections.Counter(); ts = []
    def one(): 
        for k, c in guess(Peer(ip4(), 5060), v.user, 5, 1.5).items(): heard[k] += c
    for i in range(40): ts.append(threading.Thread(target=one)); ts[-1].start()
    [t.join() for t in ts]; s = new_net(v); return ok(s == 200, 'guesses %s; telephone %s' % (dict(heard), s))
@case('6.50', 'control: right password at once, refresh, two phones of one name at two places, and un-register')
def _():
    v = fresh_phone(); a, b = Peer(ip4(), 0), Peer(ip4(), 0); s = [v.register(a), v.register(a), v.register(b), v.register(b, expires=0)]; return ok(s == [200] * 4, s)
@case('6.51', 'control: one mistyped password, then the right one from the same place')
def _():
    v = fresh_phone(); p = Peer(ip4(), 0); s = [v.register(p, 'mistyped'), v.register(p)]; return ok(s[1] == 200 and s[0] in (401, 403), s)
@case('6.52', 'control: an unknown name and a wrong password hear the same')
def _():
    v = fresh_phone(); a, b = Peer(ip4(), 0), Peer(ip4(), 0); x, y = [], []; register(a, v.user, 'wrong', trace=x); register(b, 'phone-' + ''.join(random.choice('abcdefghjkmnpqrstvwxyz23456789') for _ in range(8)), 'wrong', trace=y)
    f = lambda t: [(m.status, m.start, sorted(k for k, _ in m.h)) for m in t]; return ok(f(x) == f(y) and len(x) == 2, '%s / %s' % ([m.start for m in x], [m.start for m in y]))
@case('6.53', 'control: the old password is dead after a new one was made')
def _():
    o, p = home(); v = fresh_phone(); n = o.must('POST', '/softphones/%s/password' % v.made['id'], {})['password']; time.sleep(2.2); a = Peer(ip4(), 0); b = Peer(ip4(), 0); s = [v.register(a), v.register(b, n)]; return ok(s[0] != 200 and s[1] == 200, s)

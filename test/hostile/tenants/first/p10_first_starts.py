"""10. Concurrent first starts."""
from h import *
from firsts import *
def three():
    def make():
        s = Scene()
        for _ in range(3): s.start()
        s.wait(lambda: s.worked('go', 1), 120); time.sleep(14); r = (s.overlap(), s.events(), s.binaries(), s.left(), [s.up(i) for i in range(3)], [s.out(i) for i in range(3)]); s.end(); return r
    return once('three', make)
@case('10.01', 'three first starts at once build LiveKit once', 240)
def _(): o, ev, b, *_ = three(); n = [e for e in ev if e[0] == 'go']; return ok(len(n) == 1 and o[0] == 1, '%d builds, at most %d at once' % (len(n), o[0]))
@case('10.02', 'all three come up')
def _(): *_, up, out = three(); return ok(all(up), '%s %s' % (up, [o[-80:] for o in out]))
@case('10.03', 'what was built is whole, and no lock or draft is left')
def _(): o, ev, b, left, *_ = three(); return ok(b and b[0][1] == REAL() and not left, '%s, left %s' % ([x[1] for x in b], left))
@case('10.04', 'the start that waits says for whom or for what')
def _(): *_, out = three(); return ok(sum(bool(re.search(r'wait|another|other (start|process)|\bprocess \d+', o, re.I)) for o in out) >= 1, [re.findall(r'.*(?:wait|other|process \d+|LiveKit).*', o, re.I)[:2] for o in out])
@case('10.05', 'the first is killed in the middle of the build: another takes over within 20 s and finishes', 240)
def _():
    s = Scene(go_secs=15); s.start(); a = s.wait(lambda: any(e[0] == 'go' for e in s.events()), 120); s.start(); time.sleep(4); s.kill(0); t = time.time(); b = s.wait(lambda: len([e for e in s.events() if e[0] == 'go']) >= 2, 70); dt = time.time() - t; c = s.wait(lambda: bool(s.binaries()), 40); x = s.binaries(), s.up(1); s.end(); return ok(a and b and c and dt <= 40 and x[0][0][1] == REAL(), 'taken over after %.0f s, built %s' % (dt, x))
@case('10.06', 'a build that fails is not taken for done, and does not keep the start from coming up', 240)
def _():
    s = Scene(go_secs=2, go_mode='fail'); s.start(); s.start(); s.wait(lambda: s.worked('go', 1) and s.up(0) and s.up(1), 120); x = [s.up(0), s.up(1)], s.binaries(), s.overlap(); s.end(); return ok(all(x[0]) and not x[1] and x[2][0] <= 1, x)
@case('10.07', 'a stale lock of a process that does not exist is taken over', 180)
def _():
    def pre(s):
        for f in glob.glob(CACHE + '/livekit-v*'): open(s.cache + '/' + os.path.basename(f) + '.lock', 'w').write('999999')
    s = Scene(go_secs=2, pre=pre); s.start(); a = s.wait(lambda: bool(s.binaries()), 90); s.end(); return ok(a, 'built: %s' % a)
@case('10.08', 'two starts that lack the same downloads never fetch the same package at the same time', 240)
def _():
    s = Scene(remove=('embedding*',)); s.start(); s.start(); s.wait(lambda: s.up(0) and s.up(1), 120); time.sleep(4); x = s.overlap(), [e[0] for e in s.events()]; s.end(); return ok(x[0][0] <= 1 and any(w.startswith('pip') for w in x[1]), x)
@case('10.50', 'control: a start with a whole cache downloads and builds nothing', 120)
def _():
    s = Scene(remove=()); s.start(); a = s.wait(lambda: s.up(0), 100); time.sleep(3); e = s.events(); s.end(); return ok(a and not e, 'up %s, work %s' % (a, e))

"""10, second half."""
from h import *
from firsts import *
def five():
    def make():
        other = '%s/checkout-%s' % (STATE, word(4)); subprocess.run(['cp', '-al', DIR, other], check=True); s = Scene(go_secs=10)
        for i in range(5): s.start(other if i % 2 else None); time.sleep(.7 * i)
        s.wait(lambda: s.worked('go', 1), 200); s.wait(lambda: all(s.up(i) for i in range(5)), 150); time.sleep(5); r = (s.overlap(), s.events(), s.binaries(), s.left(), [s.up(i) for i in range(5)]); s.end(); shutil.rmtree(other); return r
    return once('five', make)
@case('10.01', 'five starts of two checkouts, staggered: one build', 400)
def _(): o, ev, *_ = five(); n = len([e for e in ev if e[0] == 'go']); return ok(n == 1 and o[0] == 1, '%d builds, at most %d at once' % (n, o[0]))
@case('10.02', 'all five come up, the result is whole, nothing is left over')
def _(): o, ev, b, left, up = five(); return ok(all(up) and b and b[0][1] == REAL() and not left, '%s %s %s' % (up, [x[1] for x in b], left))
@case('10.03', 'the builder is frozen (SIGSTOP) and then killed: the waiting one does not hang for ever and does not use a half-written file', 240)
def _():
    s = Scene(go_secs=25, go_mode='partial'); s.start(); a = s.wait(lambda: any(e[0] == 'go' for e in s.events()), 120); s.start(); time.sleep(5); half = s.binaries(); s.kill(0, signal.SIGSTOP); time.sleep(4); half2 = s.binaries(); s.kill(0); b = s.wait(lambda: len([e for e in s.events() if e[0] == 'go']) >= 2, 60); c = s.wait(lambda: bool(s.binaries()) and s.binaries()[0][1] == REAL(), 60); s.end(); return ok(a and b and c and not half and not half2, 'took over %s, whole %s, seen half-written %s' % (b, c, half or half2))
def locked(content, mtime=None, what='file'):
    def pre(s):
        for f in glob.glob(CACHE + '/livekit-v*'):
            p = s.cache + '/' + os.path.basename(f) + '.lock'
            if what == 'dir': os.makedirs(p)
            else: open(p, 'w').write(content)
            if mtime: os.utime(p, (mtime, mtime))
    s = Scene(go_secs=2, pre=pre); s.start(); a = s.wait(lambda: bool(s.binaries()), 100); u = s.wait(lambda: s.up(0), 30); s.end(); return ok(a and u, 'built %s, up %s' % (a, u))
@case('10.04', 'a lock with rubbish in it is no lock for ever', 160)
def _(): return locked('\x00\xffnot a number\n')
@case('10.05', 'an empty lock that is a day old is no lock for ever', 160)
def _(): return locked('', time.time() - 86400)
@case('10.06', 'a lock that names a living process which is not Parley (number used again) does not keep the start from coming up', 160)
def _():
    def pre(s):
        for f in glob.glob(CACHE + '/livekit-v*'): p = s.cache + '/' + os.path.basename(f) + '.lock'; open(p, 'w').write(str(os.getpid())); os.utime(p, (time.time() - 7200, time.time() - 7200))
    s = Scene(go_secs=2, pre=pre); s.start(); u = s.wait(lambda: s.up(0), 100); o = s.out(0); s.end(); return ok(u, 'up %s %s' % (u, re.findall(r'.*wait.*', o, re.I)[:1]))
@case('10.07', 'two starts of the same lacks (models and embeddings): no package twice at the same time, and both come up', 240)
def _():
    s = Scene(remove=('models*', 'embedding*')); s.start(); time.sleep(.3); s.start(); s.wait(lambda: s.up(0) and s.up(1), 150); x = s.overlap(), [s.up(0), s.up(1)], collections.Counter(e[0] for e in s.events()); s.end(); return ok(x[0][0] <= 1 and all(x[1]) and any(k.startswith('pip') for k in x[2]), x)
@case('10.50', 'control: a cache that cannot be written says so and the start comes up with what is there', 160)
def _():
    s = Scene(remove=('livekit-v*',), go_secs=1); subprocess.run(['chmod', '-R', 'a-w', s.cache]); os.chown(s.cache, 0, 0); s.start(); u = s.wait(lambda: s.up(0), 100); o = s.out(0)[-300:]; s.end(); return ok(u, '%s %s' % (u, o[-120:]))
@case('10.51', 'control: two starts with whole caches of their own run side by side and build nothing', 160)
def _():
    s = Scene(remove=()); s.start(); s.start(); u = s.wait(lambda: s.up(0) and s.up(1), 120); e = s.events(); s.end(); return ok(u and not e, '%s %s' % (u, e))

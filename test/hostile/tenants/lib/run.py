"""run.py HALF [ID-PREFIX …]: runs the cases of a half, one line each, then totals. Exit 0 when all pass."""
import importlib.util, os, signal, sys, time, traceback, glob, collections
here = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, here)
import h, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (min(16384, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2) if resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 4096 else None
def main():
    half, only = sys.argv[1], sys.argv[2:]
    d = os.path.join(os.path.dirname(here), half); sys.path.insert(0, d)
    for f in sorted(glob.glob(d + '/p*.py')):
        spec = importlib.util.spec_from_file_location(os.path.basename(f)[:-3], f); m = importlib.util.module_from_spec(spec); sys.modules[spec.name] = m; spec.loader.exec_module(m)
    cases = [c for c in h.CASES if not only or any(c[0] == o or c[0].startswith(o + '.') or (o.endswith('*') and c[0].startswith(o[:-1])) for o in only)]
    if os.environ.get('LIST'):
        for c in cases: print(c[0], c[1])
        return 0
    if not all(c[0].startswith('10.') for c in cases): h.start_world()
    points = collections.OrderedDict(); bad = 0; t0 = time.time()
    def alarm(*a): raise TimeoutError('the case took too long')
    signal.signal(signal.SIGALRM, alarm)
    for id, must, timeout, fn in cases:
        t = time.time(); signal.alarm(timeout)
        try: good, facts = fn()
        except h.Bad as e: good, facts = False, 'not shown: %s' % e
        except Exception as e:
            good, facts = False, 'harness error: %s %s' % (type(e).__name__, e)
            if os.environ.get('DEBUG'): traceback.print_exc()
        finally: signal.alarm(0)
        bad += not good; p = points.setdefault(id.split('.')[0], [0, 0]); p[0] += good; p[1] += 1
        print('%s %s | %s | %s | %.1f s' % ('PASS' if good else 'FAIL', id, must, ' '.join(str(facts).split())[:420], time.time() - t), flush=True)
    print(); print('point: ' + ', '.join('%s %d/%d' % (k, a, b) for k, (a, b) in points.items()))
    print('%d passed, %d failed' % (len(cases) - bad, bad)); print('# half %s, %.0f s' % (half, time.time() - t0))
    return 1 if bad else 0
code = main(); sys.stdout.flush(); os._exit(code)

/** Files that several processes make once: the lock between them, and the rename that publishes them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isRunning, startOf, takeLock, type Wait } from '../../../infra/setup/lock.mjs'
import { makeOnce } from '../../../infra/setup/shared-folder.ts'
import { until } from '../../support/world.ts'

let folder: string
let target: string
const children: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-shared-'))
  target = join(folder, 'made')
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
})

const shared = join(import.meta.dirname, '../../../infra/setup/shared-folder.ts')

/** Another process that makes the target, with its pid in it, and takes so long. */
function otherMaker(ms: number): ChildProcess {
  const script = `
    import { mkdirSync, writeFileSync } from 'node:fs'
    import { makeOnce } from ${JSON.stringify(shared)}
    await makeOnce(${JSON.stringify(target)}, { name: 'the thing', async make(draft) {
      mkdirSync(draft)
      writeFileSync(draft + '/begun', '')
      await new Promise(resolve => setTimeout(resolve, ${ms}))
      writeFileSync(draft + '/maker', String(process.pid))
    } })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  children.push(child)
  return child
}
const hasBegun = (child: ChildProcess) => () => existsSync(join(`${target}.${child.pid}.draft`, 'begun'))

const make = (text: string) => (draft: string) => {
  mkdirSync(draft)
  writeFileSync(join(draft, 'maker'), text)
}
const maker = () => readFileSync(join(target, 'maker'), 'utf8')

function recordingTeller() {
  const told: string[] = []
  const say = (text: string) => void told.push(text)
  const step = (text: string) => {
    say(text)
    return () => say('done')
  }
  return { told, reporter: { say, step } }
}

describe('makeOnce', () => {
  it('creates a missing target, keeps an existing one, and leaves nothing else', async () => {
    await makeOnce(target, { name: 'it', make: make('first') })
    await makeOnce(target, { name: 'it', make: make('second') })
    expect([maker(), readdirSync(folder)]).toEqual(['first', ['made']])
  })

  it('runs once for concurrent callers', async () => {
    const others = [otherMaker(300), otherMaker(300), otherMaker(300)]
    const codes = await Promise.all(others.map(other => once(other, 'exit').then(([code]) => code as number)))
    expect(codes).toEqual([0, 0, 0])
    expect(others.map(other => String(other.pid))).toContain(maker())
    expect(readdirSync(folder)).toEqual(['made'])
  })

  it('waits for a slow owner and reports whom', async () => {
    const other = otherMaker(1500)
    await until(hasBegun(other), 'the other maker')
    const { told, reporter } = recordingTeller()
    await makeOnce(target, { name: 'the thing', reporter, make: make('we') })
    expect(maker()).toBe(String(other.pid))
    expect(told).toEqual([
      expect.stringMatching(`^Waiting for the thing, in progress in process ${other.pid} for \\d+ s$`),
      'done',
    ])
  })

  it('takes over from a killed owner and removes its draft', async () => {
    const other = otherMaker(60_000)
    await until(hasBegun(other), 'the other maker')
    other.kill('SIGKILL')
    await once(other, 'exit')
    await makeOnce(target, { name: 'it', make: make('we') })
    expect([maker(), readdirSync(folder)]).toEqual(['we', ['made']])
  })

  it('takes over from a killed owner that was not reaped', async () => {
    const script = `import { spawn } from 'node:child_process'
      spawn('sh', ['-c', 'echo $$; exec sleep 100'], { stdio: ['ignore', 'inherit', 'ignore'] })
      await new Promise(resolve => setTimeout(resolve, 500))
      for (;;);` // never comes to wait for its child
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(parent)
    const [line] = (await once(parent.stdout!, 'data')) as [Buffer]
    const pid = Number(String(line).trim())
    const started = startOf(pid)
    await new Promise(resolve => setTimeout(resolve, 700))
    process.kill(pid, 'SIGKILL')
    await until(() => !isRunning({ pid, started }), 'its end')
  })

  it('removes its draft after a failure, and the next caller retries', async () => {
    const failing = (draft: string) => {
      make('half')(draft)
      throw new Error('no space')
    }
    await expect(makeOnce(target, { name: 'it', make: failing })).rejects.toThrow('no space')
    expect(readdirSync(folder)).toEqual([])
    await makeOnce(target, { name: 'it', make: make('second') })
    expect(maker()).toBe('second')
  })

  it('lets a waiter build after a failure', async () => {
    const { promise, reject: fail } = Promise.withResolvers<void>()
    const first = makeOnce(target, { name: 'it', make: () => promise })
    const second = makeOnce(target, { name: 'it', make: make('second') })
    fail(new Error('no network'))
    await expect(first).rejects.toThrow('no network')
    await second
    expect(maker()).toBe('second')
  })

  it('keeps a target that appears meanwhile', async () => {
    await makeOnce(target, {
      name: 'it',
      make(draft) {
        make('we')(draft)
        make('somebody else')(target) // without the lock, as an earlier version did
      },
    })
    expect([maker(), readdirSync(folder)]).toEqual(['somebody else', ['made']])
  })

  it('replaces an unusable target', async () => {
    mkdirSync(target)
    writeFileSync(join(target, 'half'), '')
    await makeOnce(target, { name: 'it', isReady: () => existsSync(join(target, 'maker')), make: make('whole') })
    expect([maker(), readdirSync(target), readdirSync(folder)]).toEqual(['whole', ['maker'], ['made']])
  })

  it('creates single files', async () => {
    await makeOnce(target, { name: 'it', make: draft => writeFileSync(draft, 'a file') })
    expect(readFileSync(target, 'utf8')).toBe('a file')
  })

  it('needs no lock and no write permission for a finished target', async () => {
    make('before')(target)
    await makeOnce(join(target, 'maker'), { name: 'it', make: () => expect.unreachable() })
    expect(readdirSync(target)).toEqual(['maker'])
  })

  it('stops waiting when aborted', async () => {
    const other = otherMaker(60_000)
    await until(hasBegun(other), 'the other maker')
    const stopping = new AbortController()
    const waiting = makeOnce(target, { name: 'it', signal: stopping.signal, make: make('we') })
    stopping.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    expect(existsSync(`${target}.lock`)).toBe(true)
  })
})

describe('takeLock', () => {
  const lock = () => join(folder, 'lock')

  it('grants the lock in order, within one process, too', async () => {
    const order: string[] = []
    const hold = async (name: string) => {
      const release = await takeLock(lock())
      order.push(`${name} has it`)
      await new Promise(resolve => setTimeout(resolve, 20))
      order.push(`${name} gives it back`)
      release()
    }
    await Promise.all(['one', 'two', 'three'].map(hold))
    for (let at = 0; at < order.length; at += 2)
      expect(order[at]!.replace('has it', 'gives it back')).toBe(order[at + 1])
    expect(readdirSync(folder)).toEqual([])
  })

  it('reports owner, age and waiting time', async () => {
    const release = await takeLock(lock())
    const waits: Wait[] = []
    const second = takeLock(lock(), { onWait: wait => void waits.push(wait) })
    await until(() => waits.length >= 3, 'three looks')
    release()
    ;(await second)()
    expect(waits.every(({ pid }) => pid === process.pid)).toBe(true)
    expect(waits[2]!.waitedMs).toBeGreaterThan(waits[0]!.waitedMs)
    expect(waits[2]!.heldMs).toBeGreaterThanOrEqual(waits[2]!.waitedMs)
  })

  it('detects a reused process ID', async () => {
    writeFileSync(lock(), JSON.stringify({ pid: process.pid, started: 'long ago', sinceMs: 0 }))
    ;(await takeLock(lock()))()
  })

  it('of another container is kept while it is renewed, and replaced when it is not', async () => {
    const theirs = JSON.stringify({ pid: 1, started: 'there', sinceMs: 0, place: 'another container' })
    writeFileSync(lock(), theirs)
    const stopping = new AbortController()
    const waiting = takeLock(lock(), { signal: stopping.signal, onWait: () => stopping.abort(new Error('it is held')) })
    await expect(waiting).rejects.toThrow('it is held')
    expect(readFileSync(lock(), 'utf8')).toBe(theirs)
    const old = new Date(Date.now() - 31_000)
    utimesSync(lock(), old, old)
    ;(await takeLock(lock()))()
    expect(readdirSync(folder)).toEqual([])
  })

  it('names its container, and is renewed while it is held', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const release = await takeLock(lock())
      expect(JSON.parse(readFileSync(lock(), 'utf8')).place).toMatch(process.platform === 'linux' ? /pid:\[\d+\]$/ : '')
      const old = new Date(Date.now() - 60_000)
      utimesSync(lock(), old, old)
      vi.advanceTimersByTime(5000)
      expect(statSync(lock()).mtimeMs).toBeGreaterThan(Date.now() - 10_000)
      release()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it.each(['', '{"pid":', 'null'])('replaces a damaged lock: %j', async text => {
    writeFileSync(lock(), text)
    ;(await takeLock(lock()))()
    expect(readdirSync(folder)).toEqual([])
  })

  it('does not release a lock it lost', async () => {
    const release = await takeLock(lock())
    const theirs = JSON.stringify({ pid: process.pid, started: startOf(process.pid), sinceMs: 0 })
    writeFileSync(lock(), theirs)
    release()
    expect(readFileSync(lock(), 'utf8')).toBe(theirs)
  })

  it('has one owner at a time when many find a dead one', async () => {
    writeFileSync(lock(), JSON.stringify({ pid: 2 ** 22 + 1, started: '1', sinceMs: 0 }))
    const script = `
      import { appendFileSync } from 'node:fs'
      import { takeLock } from ${JSON.stringify(join(import.meta.dirname, '../../../infra/setup/lock.mjs'))}
      const release = await takeLock(${JSON.stringify(join(folder, 'lock'))})
      appendFileSync(${JSON.stringify(join(folder, 'log'))}, 'in\\n')
      await new Promise(resolve => setTimeout(resolve, 30))
      appendFileSync(${JSON.stringify(join(folder, 'log'))}, 'out\\n')
      release()`
    const all = Array.from({ length: 6 }, () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
      children.push(child)
      return once(child, 'exit')
    })
    await Promise.all(all)
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('in\nout\n'.repeat(6))
    rmSync(join(folder, 'log'))
    expect(readdirSync(folder)).toEqual([])
  })
})

it.skipIf(process.platform !== 'linux')(
  'a tied command ends with the process that started it, killed or not',
  async () => {
    const prepare = join(import.meta.dirname, '../../../infra/setup/prepare.ts')
    const script = `
    import { spawn } from 'node:child_process'
    import { tied } from ${JSON.stringify(prepare)}
    const child = spawn(...tied('sleep', ['1000']), { stdio: 'ignore', detached: true })
    console.log(child.pid)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(parent)
    const [line] = (await once(parent.stdout!, 'data')) as [Buffer]
    const pid = Number(String(line).trim())
    const started = startOf(pid)
    expect(started).not.toBe('')
    // Until then it is setpriv, which may not have tied itself yet.
    await until(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sleep', 'the command')
    parent.kill('SIGKILL')
    await until(() => !isRunning({ pid, started }), 'its end')
  },
)

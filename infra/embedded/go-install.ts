import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { tied } from '../setup/prepare.ts'

interface GoInstall {
  /** Directory of the binaries. */
  target: string
  /** Kills Go and its compilers. */
  signal: AbortSignal
  /** Receives each line of the output. */
  onLine(line: string): void
}

/** Runs `go install` at low priority. Resolves with the exit code; null when Go could not be started or was killed. */
export function goInstall(go: string, args: readonly string[], options: GoInstall): Promise<number | null> {
  const { target, signal, onLine } = options
  return new Promise(resolve => {
    const child = spawn(...tied('nice', ['-n', '15', go, 'install', ...args]), {
      // Some distributions disable the download of the toolchain that the module requires.
      env: { ...process.env, GOBIN: target, GOTOOLCHAIN: 'auto' },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    const stop = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // exited meanwhile
      }
    }
    const done = (code: number | null) => {
      signal.removeEventListener('abort', stop)
      resolve(code)
    }
    createInterface({ input: child.stderr }).on('line', onLine)
    child.once('error', () => done(null))
    child.once('close', done)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}

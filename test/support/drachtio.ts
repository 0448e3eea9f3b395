/**
 * A real drachtio-server, as `infra/docker` runs it, in place of the embedded SIP server: where the run names its program
 * (PARLEY_TEST_DRACHTIO), since no registry has it.
 */
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Child, startChild } from '../../infra/embedded/child.ts'
import type { ProgramOptions, startSipServer } from '../../infra/embedded/programs.ts'

const CONFIG = join(import.meta.dirname, '../../infra/docker/drachtio.conf.xml')

type SipServer = Awaited<ReturnType<typeof startSipServer>>

/** `admin` and `sip`: host and port. */
export async function startDrachtio(
  options: ProgramOptions & { program: string; admin: string; secret: string; sip: string },
): Promise<SipServer> {
  const { program, admin, secret, sip, logFile, tell, note } = options
  const [host, port] = admin.split(':') as [string, string]
  const child: Child = await startChild({
    name: 'SIP server',
    command: program,
    args: [...['--file', CONFIG, '--address', host, '--port', port], ...['--contact', `sip:${sip};transport=udp,tcp`]],
    env: { ...process.env, DRACHTIO_SECRET: secret },
    logFile,
    ready: () => listening(host, Number(port)),
    readyTimeoutMs: 20_000,
    tell,
    note,
  })
  return { child, listen: [`udp:${sip}`, `tcp:${sip}`] }
}

async function listening(host: string, port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, host)
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (open) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

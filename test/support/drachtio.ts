/**
 * A real drachtio-server, run as in `infra/deploy/docker`, in place of the embedded SIP server. PARLEY_TEST_DRACHTIO
 * names the program, because no registry has it.
 */
import { join } from 'node:path'
import { startChild } from '../../infra/embedded/child.ts'
import { listening } from '../../infra/embedded/ports.ts'
import type { ProgramOptions, startSipServer } from '../../infra/embedded/programs.ts'

const CONFIG = join(import.meta.dirname, '../../infra/deploy/docker/drachtio.conf.xml')

const READY_MS = 20_000

type SipServer = Awaited<ReturnType<typeof startSipServer>>

/** `admin` and `sip` are host and port. */
export async function startDrachtio(
  options: ProgramOptions & { program: string; admin: string; secret: string; sip: string },
): Promise<SipServer> {
  const { program, admin, secret, sip, logFile, report, note } = options
  const [host, port] = admin.split(':') as [string, string]
  const child = await startChild({
    name: 'SIP server',
    command: program,
    args: ['--file', CONFIG, '--address', host, '--port', port, '--contact', `sip:${sip};transport=udp,tcp`],
    env: { ...process.env, DRACHTIO_SECRET: secret },
    logFile,
    ready: () => listening(Number(port), host, READY_MS),
    readyTimeoutMs: READY_MS,
    report,
    note,
  })
  return { child, listen: [`udp:${sip}`, `tcp:${sip}`] }
}

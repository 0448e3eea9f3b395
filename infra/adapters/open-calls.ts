/** What this engine has at the SIP server: a file each, in a folder that is gone with the last one. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../media/shared/log.ts'
import type { OpenCall, OpenCalls } from '../../sip/trunk/requests/open-calls.ts'
import { inOrder } from './in-order.ts'

const lineOf = ({ endedBy, id }: OpenCall) => `${endedBy} ${id}\n`

/** Null of a torn file: its process was killed while it wrote. */
function readLine(text: string): OpenCall | null {
  const [, endedBy, id] = /^(BYE|CANCEL) (.+)\n$/.exec(text) ?? []
  return id === undefined ? null : { endedBy: endedBy as OpenCall['endedBy'], id }
}

/** An id holds a Call-ID, which the caller made up. */
const fileOf = (folder: string, line: string) => join(folder, createHash('sha256').update(line).digest('hex'))

/** `folder`: of engines of one name, of which there is one at a time; the next finds what a killed one left. */
export async function keepOpenCalls(folder: string, log: Log): Promise<OpenCalls> {
  const names = await readdir(folder).catch(() => [])
  const read = async (name: string) => {
    const call = readLine(await readFile(join(folder, name), 'utf8').catch(() => ''))
    if (call === null) await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    return call
  }
  const left = (await Promise.all(names.map(read))).filter(call => call !== null)
  const open = new Map(left.map(call => [lineOf(call), call]))
  // What ends at once is not written after it has gone.
  const next = inOrder(log, 'open calls cannot be kept on disk')
  return {
    opened(call) {
      const line = lineOf(call)
      if (open.size === 0) next(() => mkdir(folder, { recursive: true, mode: 0o700 }))
      open.set(line, call)
      next(() => writeFile(fileOf(folder, line), line, { mode: 0o600 }))
    },
    ended(call) {
      const line = lineOf(call)
      if (!open.delete(line)) return
      const gone = open.size === 0 ? folder : fileOf(folder, line)
      next(() => rm(gone, { recursive: true, force: true }))
    },
    all: () => [...open.values()],
  }
}

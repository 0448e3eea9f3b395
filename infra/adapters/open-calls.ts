/** This engine's open calls at the SIP server: one file each, in a directory that is removed with the last one. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../media/shared/log.ts'
import type { OpenCall, OpenCalls } from '../../sip/trunk/requests/open-calls.ts'
import { inOrder } from './in-order.ts'

const lineOf = ({ endedBy, id }: OpenCall) => `${endedBy} ${id}\n`

/** Returns null for an incomplete file, whose process was killed while writing. */
function readLine(text: string): OpenCall | null {
  const [, endedBy, id] = /^(BYE|CANCEL) (.+)\n$/.exec(text) ?? []
  return id === undefined ? null : { endedBy: endedBy as OpenCall['endedBy'], id }
}

/** The name is a hash, because the id contains a Call-ID chosen by the caller. */
const fileOf = (folder: string, line: string) => join(folder, createHash('sha256').update(line).digest('hex'))

/**
 * `folder` belongs to one engine name, which one process uses at a time; the next process finds the calls of a killed
 * one.
 */
export async function keepOpenCalls(folder: string, log: Log): Promise<OpenCalls> {
  const names = await readdir(folder).catch(() => [])
  const read = async (name: string) => {
    const call = readLine(await readFile(join(folder, name), 'utf8').catch(() => ''))
    if (call === null) await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    return call
  }
  const left = (await Promise.all(names.map(read))).filter(call => call !== null)
  const open = new Map(left.map(call => [lineOf(call), call]))
  // Keeps the order, so that a call that ends at once is not written after its removal.
  const next = inOrder(log, 'writing open calls failed')
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

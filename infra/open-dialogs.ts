/** Which dialogs this engine has at the SIP server: a file each, in a folder that is gone with the last one. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../media/ports.ts'
import type { OpenDialogs } from '../sip/trunk/edge-options.ts'
import { inOrder } from './in-order.ts'

/** An id holds a Call-ID, which the caller made up. */
const fileOf = (folder: string, id: string) => join(folder, createHash('sha256').update(id).digest('hex'))

/** `folder`: of engines of one name, of which there is one at a time; the next finds what a killed one left. */
export async function keepOpenDialogs(folder: string, log: Log): Promise<OpenDialogs> {
  const names = await readdir(folder).catch(() => [])
  const read = async (name: string) => {
    const id = await readFile(join(folder, name), 'utf8').catch(() => '')
    // Its process was killed while it wrote.
    if (id === '') await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    return id
  }
  const open = new Set((await Promise.all(names.map(read))).filter(id => id !== ''))
  // What ends at once is not written after it has gone.
  const next = inOrder(log, 'open dialogs cannot be kept on disk')
  return {
    opened(id) {
      if (open.size === 0) next(() => mkdir(folder, { recursive: true, mode: 0o700 }))
      open.add(id)
      next(() => writeFile(fileOf(folder, id), id, { mode: 0o600 }))
    },
    ended(id) {
      if (!open.delete(id)) return
      const left = open.size === 0 ? folder : fileOf(folder, id)
      next(() => rm(left, { recursive: true, force: true }))
    },
    all: () => [...open],
  }
}

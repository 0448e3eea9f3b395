/**
 * A lock between processes: a file that names its owner. Plain JavaScript without dependencies, because set-up uses it
 * before any package is installed, with any version of Node.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'

const POLL_MS = 200
/** A lock of another container or machine, whose processes are not visible here, is renewed so often (ms) … */
const RENEW_MS = 5000
/** … and is stale when it is older than this (ms). */
const STALE_MS = 30_000

/**
 * Waits until the lock is ours and resolves with its release function. The lock of a process that no longer runs is
 * taken over: at once when it ran here, after half a minute when it ran in another container or on another machine that
 * shares the directory. `onWait` is called about five times a second while another process holds it; `signal` ends the wait.
 */
export async function takeLock(file, { onWait = () => {}, signal } = {}) {
  const startedAt = Date.now()
  const text = JSON.stringify({
    pid: process.pid,
    started: startOf(process.pid),
    place: PLACE,
    sinceMs: startedAt,
    nonce: randomBytes(6).toString('hex'),
  })
  for (;;) {
    signal?.throwIfAborted()
    if (create(file, text)) return keep(file, text)
    const found = read(file)
    if (found === null) continue
    const owner = ownerIn(found)
    if (owner === null || !isHeld(file, owner)) {
      removeStale(file, found)
      continue
    }
    onWait({ pid: owner.pid, heldMs: Date.now() - owner.sinceMs, waitedMs: Date.now() - startedAt })
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

/** Names what shares process IDs with us: one boot of one machine, and one PID namespace of it. */
const PLACE = placeOf()
function placeOf() {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

function isHeld(file, owner) {
  if (owner.place === undefined || owner.place === PLACE) return isRunning(owner)
  try {
    return statSync(file).mtimeMs > Date.now() - STALE_MS
  } catch {
    return false
  }
}

/** Renews the lock until it is released. */
function keep(file, text) {
  const renew = () => {
    try {
      if (read(file) === text) utimesSync(file, new Date(), new Date())
    } catch {
      // the directory is gone
    }
  }
  const renewing = setInterval(renew, RENEW_MS)
  renewing.unref()
  return () => {
    clearInterval(renewing)
    release(file, text)
  }
}

/** True when this exact process is running: PIDs are reused, but not together with their start time. */
export const isRunning = ({ pid, started }) => started !== '' && startOf(pid) === started

/**
 * Start time of a process: proc(5), field 22, in ticks since boot; from `ps` where there is no /proc. Empty when it is
 * not running.
 */
export function startOf(pid) {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has exited, however long its parent takes to notice.
    return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '')
  } catch {
    return ''
  }
}

/** Creates the file by a link, so that it is never visible incomplete. */
function create(file, text) {
  const draft = `${file}.${process.pid}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, text)
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Two processes that find the same dead owner must not remove each other's new lock: the file is moved aside first, and
 * put back if it has changed. A third process that takes the lock in that instant leads to two owners. That only
 * duplicates work, because results are still published by a rename.
 */
function removeStale(file, text) {
  const aside = `${file}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  try {
    if (read(aside) !== text) linkSync(aside, file)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function release(file, text) {
  if (read(file) === text) rmSync(file, { force: true })
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}

/** Null when the file is damaged by a full disk or a power cut. */
function ownerIn(text) {
  try {
    const { pid, started, sinceMs, place } = JSON.parse(text)
    return { pid, started, sinceMs, place }
  } catch {
    return null
  }
}

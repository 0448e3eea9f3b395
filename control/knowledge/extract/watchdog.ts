/**
 * Kills its process when it uses too much memory, or when its parent is gone. V8's own limit covers only part of the
 * memory (no buffers, no WebAssembly).
 */
import { workerData } from 'node:worker_threads'

const LOOK_MS = 25
const { memory_bytes, parent_pid } = workerData as { memory_bytes: number; parent_pid: number }

setInterval(() => {
  if (process.memoryUsage.rss() > memory_bytes || process.ppid !== parent_pid) process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)

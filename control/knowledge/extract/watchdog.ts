/**
 * Ends its process when it takes too much memory, of which V8's own limit sees only a part (no buffers, no WebAssembly), or
 * when its parent is gone.
 */
import { workerData } from 'node:worker_threads'

const LOOK_MS = 25
const { memory_bytes, parent_pid } = workerData as { memory_bytes: number; parent_pid: number }

setInterval(() => {
  if (process.memoryUsage.rss() > memory_bytes || process.ppid !== parent_pid) process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)

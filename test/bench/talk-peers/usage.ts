/** CPU and memory of processes, including their children. */
import { readdirSync, readFileSync } from 'node:fs'
import { usageOf } from '../rpc.ts'

export interface Usage {
  cpuMs: number
  residentMb: number
}

export function usageOfTrees(pids: readonly number[]): Usage {
  const total = { cpuMs: 0, residentMb: 0 }
  for (const pid of new Set(pids.flatMap(treeOf))) {
    try {
      const { cpuMs, residentMb } = usageOf(pid)
      total.cpuMs += cpuMs
      total.residentMb += residentMb
    } catch {
      // exited meanwhile
    }
  }
  return total
}

function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = parentOf(name)
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

function parentOf(name: string): number | null {
  if (!/^\d+$/.test(name)) return null
  try {
    // The name in brackets may contain spaces; the parent is the fourth field.
    return Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]!.split(' ')[1])
  } catch {
    return null
  }
}

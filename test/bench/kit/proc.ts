/**
 * What the kernel knows of a process: CPU and memory, read from outside so that measuring costs it nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** CPU that the living threads of a process have used, ms. */
export function cpuMsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  let ns = 0
  for (const task of readdirSync(tasks)) ns += Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0])
  return ns / 1e6
}

/** Resident memory, MB of 2^20. */
export function rssMbOf(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(found?.[1] ?? Number.NaN) / 1024
}

/** CPU of all children of this process that have ended, ms; steps of 10 ms, so measure several at once. */
export function endedChildrenCpuMs(): number {
  const afterName = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(afterName[13]) + Number(afterName[14])
  return ticks * 10
}

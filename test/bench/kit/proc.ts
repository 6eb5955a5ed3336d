/**
 * CPU time and memory of a process, read from the kernel so that the measurement costs the process nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of the living threads of a process, ms. */
export function cpuMsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  let ns = 0
  for (const task of readdirSync(tasks)) ns += Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0])
  return ns / 1e6
}

/** Resident memory, MB of 2^20 bytes. */
export function rssMbOf(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(found?.[1] ?? Number.NaN) / 1024
}

/** CPU time of all exited children of this process, ms, in steps of 10 ms. Measure several at once. */
export function endedChildrenCpuMs(): number {
  const afterName = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(afterName[13]) + Number(afterName[14])
  return ticks * 10
}

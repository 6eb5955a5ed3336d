/**
 * The processor time that this process has used, with the children that it has waited for.
 */
import { readFileSync } from 'node:fs'
import process from 'node:process'

/** Linux reports times to all programs in units of 10 ms. */
const msPerTick = 10

/** Milliseconds. Systems other than Linux do not report the children. */
export function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + (process.platform === 'linux' ? childrenMs() : 0)
}

function childrenMs() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The second field, the name of the program, may contain spaces. `cutime` and `cstime` are the fields 16 and 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * msPerTick
}

/**
 * Decides whether the tool calls of one model response may run in parallel. One call that must not overlap with the others
 * makes the whole batch sequential.
 */
import { isAbsolute, normalize } from 'node:path'
import { decodeArguments } from '../support/parse-arguments.ts'
import type { ToolFacts } from './tool.ts'

export interface BatchCall {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
}

/**
 * A batch of one call is `sequential`. The base of relative paths is the directory of the session, which only its environment
 * knows.
 */
export function planBatch(
  calls: readonly BatchCall[],
  factsOf: (name: string) => Pick<ToolFacts, 'runsInParallel'> | undefined,
): 'parallel' | 'sequential' {
  if (calls.length <= 1) return 'sequential'
  const claims: { path: readonly string[]; writes: boolean; isRelative: boolean }[] = []
  for (const { name, arguments: text } of calls) {
    const { runsInParallel = false } = factsOf(name) ?? {}
    if (runsInParallel === false) return 'sequential'
    const decoded = decodeArguments(name, text)
    if (!decoded.ok) return 'sequential'
    if (runsInParallel === true) continue
    const { writes } = runsInParallel
    const used = runsInParallel.path(decoded.value)
    if (typeof used !== 'string' || used === '') return 'sequential'
    const path = pathComponentsOf(used)
    // A relative path and an absolute one may name the same file.
    const isRelative = !/^[~/]/.test(used)
    const isConflict = (other: (typeof claims)[number]) => other.isRelative !== isRelative || overlaps(path, other.path)
    if (claims.some((other) => (writes || other.writes) && isConflict(other))) return 'sequential'
    claims.push({ path, writes, isRelative })
  }
  return 'parallel'
}

function pathComponentsOf(path: string): readonly string[] {
  // The home directory of the user is not known here, so the path may overlap with any other.
  if (path.startsWith('~')) return []
  const parts = normalize(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  // So may a path that leaves the base of relative paths.
  return !isAbsolute(path) && parts[0] === '..' ? [] : parts
}

/** Whether one path equals the other or is below it. Links are not resolved. */
function overlaps(a: readonly string[], b: readonly string[]): boolean {
  const shorter = a.length <= b.length ? a : b
  return shorter.every((part, index) => a[index] === part && b[index] === part)
}

/**
 * Decides whether the tool calls of one model response may run in parallel. One call that must not overlap with the others
 * makes the whole batch sequential.
 */
import { isAbsolute, normalize } from 'node:path'
import { decodeArguments } from '../support/parse-arguments.ts'

/** Tools that ask the user; two questions at the same time would be confusing. */
const neverParallel: ReadonlySet<string> = new Set(['clarify'])

/** Tools that only read. */
const parallelSafe: ReadonlySet<string> = new Set([
  'ha_get_state',
  'ha_list_entities',
  'ha_list_services',
  'read_file',
  'search_files',
  'session_search',
  'skill_view',
  'skills_list',
  'vision_analyze',
  'web_extract',
  'web_search',
])

/** Tools that are safe unless a writer uses the path of another call. */
const pathScoped: ReadonlySet<string> = new Set(['read_file', 'write_file', 'patch', 'search_files'])
const writers: ReadonlySet<string> = new Set(['write_file', 'patch'])

export interface BatchCall {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
}

/**
 * A batch of one call is `sequential`. The base of relative paths is the directory of the session, which only its environment
 * knows.
 * @param runsInParallel whether a tool beyond the built-in ones says so of itself
 */
export function planBatch(
  calls: readonly BatchCall[],
  runsInParallel: (name: string) => boolean = () => false,
): 'parallel' | 'sequential' {
  if (calls.length <= 1) return 'sequential'
  const claims: { path: readonly string[]; writes: boolean; isRelative: boolean }[] = []
  for (const { name, arguments: text } of calls) {
    if (neverParallel.has(name)) return 'sequential'
    if (!parallelSafe.has(name) && !pathScoped.has(name) && !runsInParallel(name)) return 'sequential'
    const decoded = decodeArguments(name, text)
    if (!decoded.ok) return 'sequential'
    if (!pathScoped.has(name)) continue
    // A patch of several files names them in its text.
    if (name === 'patch' && decoded.value['patch'] !== undefined) return 'sequential'
    const path = pathComponentsOf(name, decoded.value['path'])
    if (path === undefined) return 'sequential'
    const writes = writers.has(name)
    // A relative path and an absolute one may name the same file.
    const isRelative = !/^[~/]/.test(String(decoded.value['path'] ?? ''))
    const isConflict = (other: (typeof claims)[number]) => other.isRelative !== isRelative || overlaps(path, other.path)
    if (claims.some((other) => (writes || other.writes) && isConflict(other))) return 'sequential'
    claims.push({ path, writes, isRelative })
  }
  return 'parallel'
}

function pathComponentsOf(name: string, path: unknown): readonly string[] | undefined {
  // A search without a path covers the working directory.
  const effective = path === undefined && name === 'search_files' ? '.' : path
  if (typeof effective !== 'string' || effective === '') return undefined
  // The home directory of the user is not known here, so the path may overlap with any other.
  if (effective.startsWith('~')) return []
  const parts = normalize(effective)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  // So may a path that leaves the base of relative paths.
  return !isAbsolute(effective) && parts[0] === '..' ? [] : parts
}

/** Whether one path equals the other or is below it. Links are not resolved. */
function overlaps(a: readonly string[], b: readonly string[]): boolean {
  const shorter = a.length <= b.length ? a : b
  return shorter.every((part, index) => a[index] === part && b[index] === part)
}

/** Reports that the turn splits into parallel branches. Each of them calls the returned function once, when it ends. */
export type Fork = (branches: number) => () => void

/**
 * Runs `work` for every item, at most `limit` at a time, and returns the results in the order of the items. After a
 * failure it starts no further item, waits for the running ones and throws the first failure.
 */
export async function mapWithConcurrency<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
  fork?: Fork,
): Promise<Result[]> {
  const branches = Math.max(1, Math.min(limit, items.length))
  const branchEnded = branches === 1 ? undefined : fork?.(branches)
  const results: { readonly index: number; readonly result: Result }[] = []
  const failures: { readonly error: unknown }[] = []
  // The workers share one iterator, so that each takes the next item.
  const queue = items.entries()
  const worker = async () => {
    for (const [index, item] of queue) {
      try {
        results.push({ index, result: await work(item, index) })
      } catch (error) {
        failures.push({ error })
      }
      if (failures.length > 0) break
    }
    branchEnded?.()
  }
  await Promise.all(Array.from({ length: branches }, worker))
  const [failure] = failures
  if (failure !== undefined) throw failure.error
  return results.sort((a, b) => a.index - b.index).map(({ result }) => result)
}

/**
 * Which tool calls of one answer may run at the same time.
 *
 * The rule is all or nothing: one call that must not overlap with others makes the whole batch run in order.
 */
import { isAbsolute, resolve } from 'node:path'
import { decodeArguments } from './support/parse-arguments.ts'

/** Asks a person: two questions at once confuse. */
const neverParallel: ReadonlySet<string> = new Set(['clarify'])

/** Reads only. */
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

/** Safe as long as no writer touches a path of another call. */
const pathScoped: ReadonlySet<string> = new Set(['read_file', 'write_file', 'patch', 'search_files'])
const writers: ReadonlySet<string> = new Set(['write_file', 'patch'])

export interface BatchCall {
  readonly name: string
  /** JSON text as the model wrote it. */
  readonly arguments: string
}

/** `cwd`: where relative paths start. A batch of one is `sequential`: it runs directly. */
export function planBatch(calls: readonly BatchCall[], cwd: string): 'parallel' | 'sequential' {
  if (calls.length <= 1) return 'sequential'
  const claims: { path: readonly string[]; writes: boolean }[] = []
  for (const { name, arguments: text } of calls) {
    if (neverParallel.has(name)) return 'sequential'
    if (!parallelSafe.has(name) && !pathScoped.has(name)) return 'sequential'
    const decoded = decodeArguments(name, text)
    if (!decoded.ok) return 'sequential'
    if (!pathScoped.has(name)) continue
    const path = pathComponentsOf(name, decoded.value['path'], cwd)
    if (path === undefined) return 'sequential'
    const writes = writers.has(name)
    if (claims.some((other) => (writes || other.writes) && overlaps(path, other.path))) return 'sequential'
    claims.push({ path, writes })
  }
  return 'parallel'
}

function pathComponentsOf(name: string, path: unknown, cwd: string): readonly string[] | undefined {
  // A search without a path looks at everything below.
  const given = path === undefined && name === 'search_files' ? '.' : path
  if (typeof given !== 'string' || given === '') return undefined
  // The home of the user is not known here, so such a path may overlap with any.
  if (given.startsWith('~')) return []
  return (isAbsolute(given) ? resolve(given) : resolve(cwd, given)).split('/').filter((part) => part !== '')
}

/** One is the other, or lies below it. Compared by name: links are not followed. */
function overlaps(a: readonly string[], b: readonly string[]): boolean {
  const shorter = a.length <= b.length ? a : b
  return shorter.every((part, index) => a[index] === part && b[index] === part)
}

/**
 * Runs `work` for every item, at most `limit` at a time, and returns the results in the order of the items. After a
 * failure nothing more is begun; what runs is awaited, then the first failure is thrown.
 */
export async function mapWithConcurrency<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: { readonly index: number; readonly result: Result }[] = []
  const failures: { readonly error: unknown }[] = []
  // One iterator for all workers: each takes the next item.
  const queue = items.entries()
  const worker = async () => {
    for (const [index, item] of queue) {
      try {
        results.push({ index, result: await work(item, index) })
      } catch (error) {
        failures.push({ error })
      }
      if (failures.length > 0) return
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, worker))
  const [failure] = failures
  if (failure !== undefined) throw failure.error
  return results.sort((a, b) => a.index - b.index).map(({ result }) => result)
}

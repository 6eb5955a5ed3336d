/**
 * `GET /v1/runs`: the runs, newest first, in pages.
 */
import type { PlatformContext } from '#sdk'
import { invalidParam } from './errors.ts'
import { type Exchange, findExchange } from './exchanges.ts'

type Context = Pick<PlatformContext, 'records'>

const prefix = 'run '
const defaultPageSize = 20
const maxPageSize = 100

/** Keys of runs sort by their time. */
function keyOf({ id, createdAt }: Pick<Exchange, 'id' | 'createdAt'>): string {
  return `${prefix}${String(createdAt).padStart(12, '0')} ${id}`
}

export async function listRun({ records }: Context, run: Exchange): Promise<void> {
  await records.put(keyOf(run), run.id)
}

export async function unlistRun({ records }: Context, run: Exchange): Promise<void> {
  await records.remove(keyOf(run))
}

/**
 * Throws `ApiError` 400.
 *
 * @param describe null for a run that the gateway has no longer
 */
export async function listRuns(
  context: Context,
  query: URLSearchParams,
  describe: (run: Exchange & { readonly seq: number }) => Promise<object | null>,
): Promise<object> {
  const limit = readLimit(query.get('limit'))
  const cursor = query.get('cursor')
  const before = cursor === null ? {} : { before: readCursor(cursor) }
  // One more tells whether there is another page.
  const records = await context.records.list({ prefix, ...before, limit: limit + 1 })
  const page = records.slice(0, limit)
  const data: object[] = []
  for (const { value } of page) {
    const run = typeof value === 'string' ? await findExchange(context, 'run', value) : undefined
    const described = run === undefined ? null : await describe(run)
    if (described !== null) data.push(described)
  }
  const last = records.length > limit ? page.at(-1) : undefined
  const next_cursor = last === undefined ? null : Buffer.from(last.key.slice(prefix.length)).toString('base64url')
  return { object: 'list', data, has_more: next_cursor !== null, next_cursor }
}

function readLimit(text: string | null): number {
  if (text === null) return defaultPageSize
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > maxPageSize) throw invalidParam('limit', `expected a number from 1 to ${maxPageSize}`)
  return limit
}

function readCursor(text: string): string {
  const position = Buffer.from(text, 'base64url').toString()
  if (!/^\d{12} run_[0-9a-f]{32}$/.test(position))
    throw invalidParam('cursor', 'expected the next_cursor of another page')
  return `${prefix}${position}`
}

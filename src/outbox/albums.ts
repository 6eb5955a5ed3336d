/**
 * Decides which files of a reply are sent by one call. Each file keeps its own row; the column `album` names the call that
 * was last made for it, and is stored before the call:
 *
 * - `null`: the file was sent alone, or was not sent yet.
 * - the key of the row: the file is sent alone, although its neighbours could be sent with it.
 * - the delivery id of an album: all rows with this value were claimed together.
 * - `''`: the file is sent alone, and an earlier album with it may have arrived. No lookup can determine this.
 */
import type { AlbumSupport } from '../platforms/adapter.ts'
import type { Transaction } from '../store/query.ts'
import { assignAlbum, claimRow, listFollowingRows, type OutboxRow } from './queries.ts'
import { parseAttachment } from './stored-attachment.ts'

/** The value of `album` for a file whose earlier album may have arrived. */
export const afterLostAlbum = ''

/** The rows of one call, oldest first. */
export type Claim = readonly [OutboxRow, ...OutboxRow[]]

/** Returns how many of the rows can be sent together, counted from the first. */
export type CountGroup = (rows: Claim) => number

const maxRows = 100

/** Claims a file, which is the oldest open row of a chat, and the files that are sent by the same call. */
export function* claimWithAlbum(head: OutboxRow, countGroup: CountGroup, now: number): Transaction<Claim> {
  if (isAlone(head)) {
    yield* claimRow(head.id, now)
    return [head]
  }
  const following = yield* listFollowingRows(head, maxRows - 1)
  const rows = head.album === null ? newGroup(head, following, countGroup) : storedAlbum(head, following)
  const album = head.album ?? `${head.key}+${rows.length - 1}`
  if (rows.length === 1 && head.album === null) {
    yield* claimRow(head.id, now)
    return [head]
  }
  // The other files of its album are delivered or dead letters, and it was certainly not sent with them.
  if (rows.length === 1 && head.doubt === 0) {
    yield* assignAlbum(head.id, head.key)
    yield* claimRow(head.id, now)
    return [{ ...head, album: head.key }]
  }
  for (const { id } of rows) {
    yield* claimRow(id, now)
    if (head.album === null) yield* assignAlbum(id, album)
  }
  const [first, ...others] = rows
  return [{ ...first, album }, ...others.map((row) => ({ ...row, album }))]
}

/** Whether the claimed rows belong to an album. A single row may be the rest of one. */
export function isAlbum([head]: Claim): boolean {
  return head.album !== null && !isAlone(head)
}

/** Counts the files of one group, as the platform defines it. */
export function countAlbumFiles({ maxFiles, groupOf }: AlbumSupport, rows: Claim): number {
  const groups = rows.slice(0, Math.max(1, Math.min(maxFiles, maxRows))).map(({ attachment }) => {
    return attachment === null ? undefined : groupOf(parseAttachment(attachment))
  })
  const [group] = groups
  if (group === undefined) return 1
  const end = groups.findIndex((other) => other !== group)
  return end === -1 ? groups.length : end
}

function isAlone({ album, key }: OutboxRow): boolean {
  return album === key || album === afterLostAlbum
}

function newGroup(head: OutboxRow, following: readonly OutboxRow[], countGroup: CountGroup): Claim {
  if (!isUntried(head)) return [head]
  const end = following.findIndex((row) => !isUntried(row) || replyOf(row) !== replyOf(head))
  const candidates = end === -1 ? following : following.slice(0, end)
  if (candidates.length === 0) return [head]
  return [head, ...candidates.slice(0, countGroup([head, ...candidates]) - 1)]
}

function storedAlbum(head: OutboxRow, following: readonly OutboxRow[]): Claim {
  return [head, ...following.filter(({ album }) => album === head.album)]
}

function isUntried({ attachment, album, doubt, op }: OutboxRow): boolean {
  return attachment !== null && album === null && doubt === 0 && op === 'send'
}

/** The key of the reply that a row belongs to. */
function replyOf({ key }: OutboxRow): string {
  return key.slice(0, key.lastIndexOf(':'))
}

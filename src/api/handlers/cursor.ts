/**
 * Cursors of lists: a position, and which list it belongs to. A client gets them from a response and sends them back unchanged.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { parseJson } from '../../lib/json.ts'

/** What decides about the entries of a list and their order: its path and its filters. */
export type ListIdentity = readonly (string | boolean | undefined)[]

/** Text that fits into a URL. */
export function encodeCursor(list: ListIdentity, position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([fingerprintOf(list), ...position])).toString('base64url')
}

/** The position of a cursor; undefined without one. Throws `http/bad-request` for a cursor that this list has not given out. */
export function decodeCursor<Position>(
  list: ListIdentity,
  cursor: string | undefined,
  shape: z.ZodType<Position>,
): Position | undefined {
  if (cursor === undefined) return undefined
  const parsed = z
    .tuple([z.literal(fingerprintOf(list))], z.unknown())
    .safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()))
  const position = parsed.success ? shape.safeParse(parsed.data.slice(1)) : undefined
  if (position?.success === true) return position.data
  throw new HermesError(
    'http/bad-request',
    'cursor: it does not belong to this list. Take it from a response, keep the other parameters, or begin without a cursor.',
  )
}

function fingerprintOf(list: ListIdentity): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('base64url').slice(0, 12)
}

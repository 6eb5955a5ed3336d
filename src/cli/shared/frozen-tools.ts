/**
 * Compares `hermes chat --toolsets` with the tools that the named conversation began with: it keeps those.
 */

import { HermesError } from '../../lib/errors.ts'
import { readProfileFacts } from '../../lib/profile-facts.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { sessionKeyOf } from '../../sessions/session-key.ts'
import { query } from '../../store/query.ts'
import type { CliContext } from '../kit/context.ts'
import { readHomeStore } from '../kit/home-store.ts'

const selectFrozenTools = query((db, p: { key: string }) =>
  db
    .selectFrom('lanes')
    .innerJoin('prompts', 'prompts.session_id', 'lanes.session_id')
    .select('tools')
    .where('lanes.session_key', '=', p.key),
)

/**
 * Writes a line about requested tools that the conversation does not have.
 * Throws `cli/usage` when it has tools that were not requested.
 * @param requested Names of tools.
 */
export function assertToolsKept(context: CliContext, chat: string, requested: ReadonlySet<string>): void {
  const frozen = readFrozenTools(context, chat)
  if (frozen === undefined) return
  const others = frozen.filter((name) => !requested.has(name))
  if (others.length > 0)
    throw new HermesError(
      'cli/usage',
      `The conversation ${chat} exists, and keeps the tools with which it began, also: ${toSingleLine(others.join(', '))}.`,
      { hint: 'Leave out --toolsets, choose another name with --session, or send /new in the conversation first.' },
    )
  const missing = [...requested].filter((name) => !frozen.includes(name)).sort()
  if (missing.length > 0)
    context.errors.write(`hermes: the conversation ${chat} began without these tools: ${missing.join(', ')}\n`)
}

/** Undefined for a conversation that has not begun, also after `/new`. */
function readFrozenTools(context: CliContext, chat: string): readonly string[] | undefined {
  const source = { platform: 'cli', account: 'default', chatId: chat, chatType: 'dm', userId: 'owner' } as const
  const rules = { groupSessionsPerUser: true, threadSessionsPerUser: false, scoped: false }
  const profile = readProfileFacts(context.home).sessionNamespace
  const key = sessionKeyOf({ ...source, profile }, rules)
  const tools = readHomeStore(context.home, (reader) => reader.rows(selectFrozenTools, { key })[0]?.tools, undefined)
  if (typeof tools !== 'string') return undefined
  const names: readonly string[] = JSON.parse(tools)
  return names
}

/**
 * `hermes sessions`: lists, shows and searches stored conversations.
 */

import { HermesError } from '../lib/errors.ts'
import { formatCost } from '../lib/format-cost.ts'
import { shorten, stripControlCharacters, toSingleLine } from '../lib/visible-text.ts'
import { listSessions } from '../sessions/session-list.ts'
import { messagesOfSession, spentInSession } from '../sessions/session-queries.ts'
import type { StoreReader } from '../store/sqlite/reader.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { readHomeStore } from './kit/home-store.ts'
import { showList } from './kit/list.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { findSession } from './shared/find-session.ts'

export interface ListOptions {
  readonly limit: number
  readonly json: boolean
}

/** Lists sessions, the newest first. */
export async function sessionsList(context: CliContext, { limit, json }: ListOptions): Promise<void> {
  assertHomeUsable(context)
  const sessions = readHomeStore(context.home, (reader) => readList(reader, limit), [])
  showList(context, {
    json,
    rows: sessions,
    empty: 'There are no conversations yet.',
    headings: ['SESSION', 'LAST USED', 'PLATFORM', 'ABOUT'],
    cells: ({ id, updated_at, platform, about }, display) => [id, display.formatTime(updated_at), platform, about],
  })
}

/** Includes sessions that go on in another session. */
function readList(reader: StoreReader, limit: number) {
  const sessions = reader.run(() => listSessions({ withContinued: true }, undefined, limit))
  return sessions.map(({ source: _source, isCurrent: _isCurrent, parent_id: _parent, ...session }) => session)
}

type Session = NonNullable<ReturnType<typeof findSession>>
type StoredMessage = ReturnType<typeof loadMessages>[number]

/** Shows a session by its id or its key. Throws `cli/not-found`. */
export async function sessionsShow(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  assertHomeUsable(context)
  const session = readHomeStore(context.home, (reader) => loadSession(reader, name), undefined)
  if (session === undefined) {
    throw new HermesError('cli/not-found', `No session has the id or key ${JSON.stringify(toSingleLine(name))}.`)
  }
  const display = createDisplay(context.output, context.environment)
  if (json) display.json(session)
  else showSession(display, session.session, session.messages)
}

function loadSession(reader: StoreReader, name: string) {
  const session = findSession(reader, name)
  return session && { session, messages: loadMessages(reader, session.id) }
}

function loadMessages(reader: StoreReader, id: string) {
  return reader
    .rows(messagesOfSession, { session_id: id })
    .map(({ content, body, ...rest }) => ({ ...rest, content: body ?? content }))
}

/** Longer tool results are truncated. */
const maxResultChars = 2_000

function showSession(display: Display, session: Session, messages: readonly StoredMessage[]): void {
  const { id, session_key, title, created_at, ended_at, end_reason, input_tokens, output_tokens } = session
  const ended: [string, string][] =
    ended_at === null ? [] : [['Ended', `${display.formatTime(ended_at)} (${end_reason ?? 'no reason'})`]]
  if (title !== '') display.line(display.tone('strong', toSingleLine(title)))
  display.fields([
    ['Session', id],
    ['Key', session_key],
    ['Started', display.formatTime(created_at)],
    ...ended,
    ['Tokens', `${input_tokens} in, ${output_tokens} out`],
    ['Cost', formatCost(spentInSession(session))],
  ])
  for (const message of messages) showMessage(display, message)
}

function showMessage(display: Display, message: StoredMessage): void {
  const { role, content, tool_name, tool_calls, created_at, superseded, is_summary } = message
  const who = role === 'tool' ? `tool ${toSingleLine(tool_name ?? '')}` : is_summary === 1 ? 'summary' : role
  const note = superseded === 0 ? '' : '  (not sent to the model any more)'
  display.line()
  display.line(`${display.tone('strong', who)}  ${display.tone('dim', `${display.formatTime(created_at)}${note}`)}`)
  const text = stripControlCharacters(role === 'tool' ? shorten(content, maxResultChars) : content).trimEnd()
  if (text !== '') display.line(role === 'tool' ? display.tone('dim', text) : text)
  for (const call of formatToolCalls(tool_calls)) display.line(display.tone('dim', `→ ${toSingleLine(call)}`))
}

/** `terminal {"command":"ls"}` for each tool call of the assistant. */
function formatToolCalls(stored: string | null): string[] {
  const calls: unknown = stored === null ? [] : JSON.parse(stored)
  if (!Array.isArray(calls)) return []
  return calls.map((call: unknown) => {
    if (typeof call !== 'object' || call === null || !('name' in call)) return 'an unreadable tool call'
    return `${String(call.name)} ${'arguments' in call ? String(call.arguments) : ''}`
  })
}

/** Lists the messages that contain all words, best match first. */
export async function sessionsSearch(
  context: CliContext,
  words: readonly string[],
  { limit, json }: ListOptions,
): Promise<void> {
  assertHomeUsable(context)
  const hits = readHomeStore(context.home, (reader) => reader.search(words.join(' '), limit), [])
  showList(context, {
    json,
    rows: hits,
    empty: 'No messages found.',
    headings: ['SESSION', 'TIME', 'ROLE', 'EXCERPT'],
    cells: ({ sessionId, at, role, excerpt }, display) => [sessionId, display.formatTime(at), role, excerpt],
  })
}

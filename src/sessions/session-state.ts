/**
 * The state of a session key: its current session and the epoch that fences its turns. Every write of a turn carries the
 * epoch that it was claimed with. The write is rejected when the epoch has advanced since. The table is called `lanes`.
 * The settings of a conversation belong to its key, too: they outlive a session.
 */
import { HermesError } from '../lib/errors.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { type Usage, unpricedTokens } from '../message/transcript.ts'
import { exec, pick, query, row, rows, type Transaction } from '../store/query.ts'

export interface SessionState {
  readonly session_id: string
  readonly epoch: number
  readonly fresh: number
}

/** The epoch that the writes of a turn carry. */
export interface Fence {
  readonly sessionKey: string
  readonly epoch: number
}

const selectSessionState = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select(['session_id', 'epoch', 'fresh']).where('session_key', '=', p.key),
)

export function* findSessionState(key: string): Transaction<SessionState | undefined> {
  return yield* row(selectSessionState, { key })
}

const selectSource = query((db, p: { key: string }) =>
  db.selectFrom('lanes').select('source').where('session_key', '=', p.key),
)

/** The source of the latest message of a session key; undefined when the key does not exist. */
export function* findSessionSource(key: string): Transaction<SessionSource | undefined> {
  const stored = yield* row(selectSource, { key })
  if (stored === undefined) return undefined
  const source: SessionSource = JSON.parse(stored.source)
  return source
}

/**
 * What a person has chosen for a conversation, by name of the setting. The values are as typed by the command that checked
 * them; a value that its reader no longer knows counts as absent.
 */
export type SessionSettings = Readonly<Partial<Record<SessionSetting, string>>>

export type SessionSetting =
  | 'busy_input_mode'
  | 'tool_progress'
  | 'footer'
  | 'reasoning_effort'
  | 'show_reasoning'
  | 'personality'
  /** JSON: `{provider, model, context_length}` (flows/conversation-model.ts). */
  | 'model'
  | 'voice'
  /** Unlike the others no choice: the tip about `/busy` was given. */
  | 'busy_tip'
  /** Unlike the others no choice: where the next command of the conversation begins. A new session forgets it. */
  | 'directory'
  /** The folder in which the conversation works, absolute, in place of `terminal.cwd` (flows/workspaces.ts). */
  | 'workspace'
  /** The person who is asked before files are changed (approvals/tool-approval.ts). Absent: no one. */
  | 'edits'
  /** Unlike the others no choice: the background commands whose end is to be reported, JSON (flows/command-reports.ts). */
  | 'commands'

const selectSettings = query((db, p: { key: string }) =>
  db.selectFrom('session_settings').select('settings').where('session_key', '=', p.key),
)

/** Empty for a conversation without choices. */
export function* readSessionSettings(key: string): Transaction<SessionSettings> {
  const stored = yield* row(selectSettings, { key })
  const settings: SessionSettings = stored === undefined ? {} : JSON.parse(stored.settings)
  return settings
}

const selectWithSetting = query((db, p: { pattern: string }) =>
  db.selectFrom('session_settings').select('session_key').where('settings', 'like', p.pattern),
)

/** The keys of the conversations that have this setting. */
export function* sessionsWithSetting(name: SessionSetting): Transaction<readonly string[]> {
  return (yield* rows(selectWithSetting, { pattern: `%"${name}":%` })).map(({ session_key }) => session_key)
}

const upsertSettings = query((db, p: { key: string; settings: string }) =>
  db
    .insertInto('session_settings')
    .values({ session_key: p.key, settings: p.settings })
    .onConflict((conflict) => conflict.column('session_key').doUpdateSet({ settings: p.settings })),
)

/** Stores a choice; null removes it. */
export function* changeSessionSetting(key: string, name: SessionSetting, value: string | null): Transaction<void> {
  const { [name]: _, ...others } = yield* readSessionSettings(key)
  const settings = JSON.stringify(value === null ? others : { ...others, [name]: value })
  yield* exec(upsertSettings, { key, settings })
}

export const insertSessionState = query(
  (db, p: { key: string; session_id: string; fresh: number; source: string; now: number }) =>
    db.insertInto('lanes').values({
      session_key: p.key,
      session_id: p.session_id,
      epoch: 0,
      fresh: p.fresh,
      source: p.source,
      updated_at: p.now,
    }),
)

export const insertSession = query(
  (
    db,
    p: {
      id: string
      key: string
      platform: string
      user_id: string
      title: string
      parent_id: string | null
      started: number
      updated: number
      ended: number | null
      reason: string | null
      input: number
      output: number
    },
  ) =>
    db.insertInto('sessions').values({
      id: p.id,
      session_key: p.key,
      ...pick(p, 'platform', 'user_id', 'title', 'parent_id'),
      created_at: p.started,
      updated_at: p.updated,
      ended_at: p.ended,
      end_reason: p.reason,
      input_tokens: p.input,
      output_tokens: p.output,
    }),
)

const updateSessionState = query(
  (db, p: { key: string; session_id: string; epoch: number; fresh: number; source: string; now: number }) =>
    db
      .updateTable('lanes')
      .set({ session_id: p.session_id, epoch: p.epoch, fresh: p.fresh, source: p.source, updated_at: p.now })
      .where('session_key', '=', p.key),
)

export interface EpochOptions {
  readonly key: string
  /** `SessionSource`, JSON. */
  readonly source: string
  readonly platform: string
  readonly userId: string
  /** The id for a new session, if one is created. */
  readonly newSessionId: string
  /** The turn does not count as the first one of its session, because no model receives it. */
  readonly keepsFirstTurn?: boolean
  readonly now: number
}

/** Options for the conversation of a source, whose next session gets this id. */
export function epochOptions(source: SessionSource, key: SessionKey, newSessionId: string, now: number): EpochOptions {
  const { platform, userId = '' } = source
  return { key, source: JSON.stringify(source), platform, userId, newSessionId, now }
}

/** The state of a new key, whose session is `newSessionId`. */
export function* createState({ key, newSessionId, source, now }: EpochOptions): Transaction<void> {
  yield* exec(insertSessionState, { key, session_id: newSessionId, fresh: 1, source, now })
}

/** The state of a key. A conversation that has not begun gets its session, so that a choice before the first message is kept. */
export function* ensureSession(options: EpochOptions): Transaction<SessionState> {
  const state = yield* findSessionState(options.key)
  if (state !== undefined) return state
  yield* createState(options)
  yield* createSession(options, '', null)
  return { session_id: options.newSessionId, epoch: 0, fresh: 1 }
}

/** Advances the epoch for a turn and clears `fresh`. Creates the state and the session when the key is new. */
export function* beginEpoch(options: EpochOptions): Transaction<SessionState> {
  const { session_id, epoch, fresh } = yield* ensureSession(options)
  const state = { session_id, epoch: epoch + 1, fresh }
  yield* exec(updateSessionState, {
    key: options.key,
    session_id,
    epoch: epoch + 1,
    fresh: options.keepsFirstTurn === true ? fresh : 0,
    source: options.source,
    now: options.now,
  })
  return state
}

const updateSessionEnd = query((db, p: { id: string; reason: string; now: number }) =>
  db.updateTable('sessions').set({ ended_at: p.now, end_reason: p.reason }).where('id', '=', p.id),
)

/** Ends the session of a key and starts a new one. Later writes of a running turn are rejected. */
export function* startNewSession(
  options: EpochOptions,
  title: string,
  reason: 'reset' | 'daily' | 'idle' = 'reset',
): Transaction<{ ended: string | null }> {
  const state = yield* findSessionState(options.key)
  if (state === undefined) yield* createState(options)
  else {
    yield* exec(updateSessionEnd, { id: state.session_id, reason, now: options.now })
    const next = { session_id: options.newSessionId, epoch: state.epoch + 1, fresh: 1 }
    yield* exec(updateSessionState, { key: options.key, ...next, source: options.source, now: options.now })
  }
  yield* createSession(options, title, state?.session_id ?? null)
  yield* forgetDirectory(options.key)
  return { ended: state?.session_id ?? null }
}

/** The next command of the conversation begins where its environment begins. */
export function* forgetDirectory(key: string): Transaction<void> {
  if ((yield* readSessionSettings(key)).directory !== undefined) yield* changeSessionSetting(key, 'directory', null)
}

/** Stores a new session that is not the current one of its key yet. */
export function* createSession(options: EpochOptions, title: string, parent: string | null): Transaction<void> {
  const { newSessionId: id, key, platform, userId: user_id, now } = options
  const times = { started: now, updated: now, ended: null, reason: null }
  yield* exec(insertSession, { id, key, platform, user_id, title, parent_id: parent, ...times, input: 0, output: 0 })
}

/** Throws `store/fenced` when the epoch has advanced. */
export function* checkFence(fence: Fence): Transaction<void> {
  const state = yield* findSessionState(fence.sessionKey)
  if (state?.epoch !== fence.epoch) throw new HermesError('store/fenced', `(${fence.sessionKey})`)
}

const advanceEpoch = query((db, p: { key: string; epoch: number; next: number }) =>
  db.updateTable('lanes').set({ epoch: p.next }).where('session_key', '=', p.key).where('epoch', '=', p.epoch),
)

/** Advances the epoch after a turn, so that its later writes are rejected. */
export function* revokeEpoch({ sessionKey, epoch }: Fence): Transaction<void> {
  yield* exec(advanceEpoch, { key: sessionKey, epoch, next: epoch + 1 })
}

type SessionUsage = Readonly<Record<'input' | 'output' | 'cost' | 'priced', number>>

const updateSessionUsage = query((db, p: SessionUsage & { id: string; now: number }) =>
  db
    .updateTable('sessions')
    .set((column) => ({
      input_tokens: column('input_tokens', '+', p.input),
      output_tokens: column('output_tokens', '+', p.output),
      cost: column('cost', '+', p.cost),
      priced_tokens: column('priced_tokens', '+', p.priced),
      updated_at: p.now,
    }))
    .where('id', '=', p.id),
)

/** Adds the tokens and the cost of a turn, or of other work, to its session. */
export function* addSessionUsage(id: string, usage: Usage, now: number): Transaction<void> {
  const { inputTokens: input, outputTokens: output, cost = 0 } = usage
  yield* exec(updateSessionUsage, { id, input, output, cost, priced: input + output - unpricedTokens(usage), now })
}
